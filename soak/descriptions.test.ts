// Both description documents for programs of other languages: a validator of PyPI, and three generators of clients, each of whose clients lists,
// creates and reads at a running listener. They come from PyPI, Maven and Go.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { find, go, skipWithout } from '../scripts/install-test-tools.ts';
import { startStage } from '../test/operator/running-operator.ts';
import { startService } from '../test/service/running-service.ts';
import { installPythonPackages } from '../tools/python-packages.ts';

const execute = promisify(execFile);
const clients = join(import.meta.dirname, 'generated-clients');
const maven = { names: ['mvn'], debianPackage: 'maven' };
const packages = [
  'openapi-spec-validator==0.9.0',
  'openapi-python-client==0.29.1',
  // of the client that openapi-generator makes
  'urllib3==2.5.0',
  'python-dateutil==2.9.0.post0',
  'pydantic==2.11.9',
];
const generator = 'org.openapitools:openapi-generator-cli:7.16.0';
const codegen = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const runtime = 'github.com/oapi-codegen/runtime@v1.9.0';

const message = { title: 'Hello', message: 'there' };

/** Each client makes one more. */
const assertWorks = (stdout: string, rest: RegExp): void => {
  assert.match(stdout, rest);
  const [, made, listed] = /^(\d+) Ding dong high .*\n\[(\d+)/.exec(stdout) ?? [];
  assert.ok(made !== undefined && made === listed, stdout);
};

suite('the descriptions', { timeout: 1_800_000 }, () => {
  let folder: string;
  let programs: string;
  let documents: Readonly<Record<'operator' | 'service', string>>;
  let env: NodeJS.ProcessEnv;
  const opened: (() => unknown)[] = [];
  const context = { after: (close: () => unknown) => void opened.push(close) };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deskbell-clients-'));
    programs = await installPythonPackages('descriptions', packages);
    const stage = await startStage(context, [{ user: '42', tags: ['news'] }, {}]);
    await stage.sender.createBroadcast('all', message);
    await stage.sender.createBroadcast({ ids: [1] }, message);
    const { base } = await startService({ receiptKey: new Uint8Array(32) }, context);
    documents = { operator: join(folder, 'operator.json'), service: join(folder, 'service.json') };
    await writeFile(documents.operator, await (await stage.ask('/openapi.json')).text());
    await writeFile(documents.service, await (await fetch(`${base}/openapi.json`)).text());
    env = { ...process.env, API: stage.base, TOKEN: await stage.add('client', 'full') };
  });
  after(async () => {
    for (const close of opened.toReversed()) await close();
    await rm(folder, { recursive: true });
  });

  test('are valid for openapi-spec-validator', async () => {
    for (const document of Object.values(documents))
      await execute(join(programs, 'openapi-spec-validator'), [document]);
  });

  test('openapi-python-client makes a client that works', async () => {
    const work = join(folder, 'openapi-python-client');
    await mkdir(work);
    for (const [name, document] of Object.entries(documents)) {
      const words = [
        'generate',
        '--path',
        document,
        '--output-path',
        join(work, `${name}_client`),
        '--meta',
        'none',
      ];
      const { stdout } = await execute(join(programs, 'openapi-python-client'), words, {
        env: { ...process.env, PATH: `${programs}:${process.env['PATH']}` },
      });
      assert.doesNotMatch(stdout, /duplicate|Unable to (?:parse|process)/i, stdout);
    }
    const file = join(work, 'client.py');
    await copyFile(join(clients, 'openapi_python_client.py'), file);
    const { stdout } = await execute(join(programs, 'python'), [file], { env });
    assertWorks(stdout, / True\n\[\d[^\]]*\] True all\n$/);
  });

  test('openapi-generator makes a client that works', { skip: skipWithout('Maven', [maven]) }, async () => {
    const work = join(folder, 'openapi-generator');
    const jar = ['dependency:copy', '--quiet', `-Dartifact=${generator}`, `-DoutputDirectory=${work}`];
    await execute(find(maven)!, jar, { cwd: folder, maxBuffer: 2 ** 26 });
    const program = join(work, `${generator.split(':').slice(1).join('-')}.jar`);
    for (const [name, document] of Object.entries(documents)) {
      const words = ['-g', 'python', '-i', document, '-o', join(work, name)];
      const named = `packageName=${name}_client`;
      await execute('java', ['-jar', program, 'generate', ...words, '--additional-properties', named], {
        maxBuffer: 2 ** 26,
      });
    }
    const file = join(work, 'operator/client.py');
    await copyFile(join(clients, 'openapi_generator.py'), file);
    const { stdout } = await execute(join(programs, 'python'), [file], { env });
    assertWorks(stdout, / True\n\[\d[^\]]*\] True all\n$/);
  });

  test('oapi-codegen makes a client that works', { skip: skipWithout('Go', [go]) }, async () => {
    const work = join(folder, 'oapi-codegen');
    await mkdir(work);
    const run = (...words: readonly string[]) =>
      execute(find(go)!, words, { cwd: work, env, maxBuffer: 2 ** 26 });
    for (const [name, document] of Object.entries(documents)) {
      const { stdout } = await run('run', codegen, '-generate', 'types,client', '-package', 'main', document);
      if (name === 'operator') await writeFile(join(work, 'client.go'), stdout);
    }
    await copyFile(join(clients, 'main.go'), join(work, 'main.go'));
    await run('mod', 'init', 'example.org/client');
    await run('get', runtime);
    await run('mod', 'tidy');
    const { stdout } = await run('run', '.');
    assertWorks(stdout, / \[news\]\n\[\d[^\]]*\] ids\n$/);
  });
});
