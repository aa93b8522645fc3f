// Every example starts, answers a request of its own and ends; each mechanism's example is short. The shops are run in
// a browser in test/browser/shop.all.test.ts. The tests that docs/testing.md shows pass, as somebody would run them who has
// the package.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { chromium, find, firefox, skipWithout } from '../scripts/install-test-tools.ts';
import { createUserAgent, startPushService } from '../src/push-service/index.ts';
import { build } from '../tools/pack.ts';
import { until } from '../tools/until.ts';
import { spawnUntilStopped, temporaryFolder } from './cli/run-command.ts';
import { Project } from './journeys/project.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const folder = join(root, 'examples');

/** What each example prints of the request that it makes, beside the status. */
const expected: Readonly<Record<string, readonly RegExp[]>> = {
  'logging-in-action.ts': [
    /"mechanism":"action","phase":"result".*"body":\{"name":"Ada"\}.*"result":\{"greeting":"Hello"\}/,
  ],
  'logging-filter.ts': [/"mechanism":"filter","phase":"result".*"status":200,"elapsedMs":\d+/],
  'logging-authenticator.ts': [
    /"mechanism":"authenticator","phase":"request".*"session":\{"SESSION":"ada"\},"verdict":"pass"/,
  ],
  'logging-action-creator.ts': [
    /"mechanism":"action-creator","phase":"request"/,
    /"mechanism":"action-creator","phase":"result"/,
  ],
};

// They import the package by its name, which is what has been built.
before(build);

describe('the examples', () => {
  test('are all run here', async () => {
    const files = (await readdir(folder)).filter(
      (file) => file.endsWith('.ts') && file !== 'serve-or-check.ts',
    );
    assert.deepEqual(files.sort(), ['express.ts', 'fastify.ts', ...Object.keys(expected)].sort());
  });

  for (const [file, patterns] of Object.entries(expected)) {
    test(`${file} has under 40 lines, and answers`, async () => {
      assert.ok((await readFile(join(folder, file), 'utf8')).split('\n').length < 40);
      const { stdout } = await run(process.execPath, [join(folder, file), '--check'], {
        timeout: 30_000,
        env: { ...process.env, TMPDIR: await temporaryFolder() },
      });
      for (const pattern of [/^200 /m, ...patterns]) assert.match(stdout, pattern);
    });
  }

  for (const framework of ['express', 'fastify']) {
    test(`${framework}.ts sends after a crash what the push service had put off`, async () => {
      await using pushService = await startPushService();
      await using userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
      await using project = await Project.create({
        environment: { PORT: '0', PUSH_SERVICES: pushService.origin },
      });
      await using shops = new AsyncDisposableStack();
      const start = async () => {
        const shop = shops.use(project.start(`node ${join(folder, framework)}.ts`));
        const [, port = ''] = await shop.waitFor(/^The shop listens on .*?(\d+)\D*$/);
        return { shop, port, url: `http://localhost:${port}` };
      };
      const { shop, url } = await start();
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ user: 'ada', password: 'lovelace' });
      const signedIn = await fetch(`${url}/sign-in`, { method: 'POST', headers, body });
      const cookie = signedIn.headers.getSetCookie()[0]!.split(';', 1)[0]!;
      const post = (path: string, sent: unknown) =>
        fetch(url + path, { method: 'POST', headers: { ...headers, cookie }, body: JSON.stringify(sent) });
      const key = (await (await fetch(`${url}/push/vapidKey`)).json()) as string;
      const { endpoint, p256dh, auth } = await userAgent.subscribe(key);
      assert.equal((await post('/push/webPush', { endpoint, p256dh, auth })).status, 200);
      const fault = pushService.faults.inject({ kind: 'status', status: 503 });

      assert.equal((await post('/orders', {})).status, 204);
      await until(() => pushService.faults.list().some(({ hits }) => hits > 0), 'an attempt');
      await shop.stop('SIGKILL');
      pushService.faults.cancel(fault.id);
      const next = await start();

      assert.equal(((await userAgent.nextMessage(120_000)).json() as { title: string }).title, 'Thank you');

      const other = shops.use(project.start(`env PORT=${next.port} node ${join(folder, framework)}.ts`));
      await assert.rejects(other.waitFor(/^The shop listens/), /has ended/, 'its port is in use');
      assert.equal(await other.stop(), 1);
      assert.equal(await next.shop.stop('SIGTERM'), 0);
    });
  }
});

const programs = {
  'firefox.test.ts': firefox,
  'chromium.test.ts': chromium,
  'retries.test.ts': undefined,
  'https.test.ts': undefined,
};

describe('the tests of docs/testing.md', () => {
  test('are all run here', async () => {
    const files = (await readdir(join(root, 'examples/testing'))).filter((file) => file.endsWith('.ts'));
    assert.deepEqual(files.sort(), Object.keys(programs).sort());
  });

  test('are run by the file for GitHub Actions, on a Node that the package supports', async () => {
    const workflow = await readFile(join(root, 'examples/testing/github-actions.yml'), 'utf8');
    const commands = Array.from(workflow.matchAll(/^ +- run: (.+)$/gm), ([, command]) => command);
    assert.deepEqual(commands, ['npm ci', 'node --test --test-timeout=60000']);
    const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
      readonly engines: { readonly node: string };
    };
    assert.equal(`>=${/node-version: (\d+)/.exec(workflow)?.[1]}`, engines.node);
  });

  for (const [file, program] of Object.entries(programs)) {
    const skip = program === undefined ? false : skipWithout(file, [program]);
    test(`${file} passes`, { skip }, async () => {
      const environment = {
        FIREFOX: find(firefox),
        CHROMIUM: find(chromium),
        ...(file === 'https.test.ts' && (await startTlsPushService())),
      };
      // Not one of this run's own.
      const { NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
      const words = ['--test', '--test-reporter=tap', join('examples/testing', file)];
      const options = { cwd: root, env: { ...inherited, ...environment } };
      const { stdout } = await run(process.execPath, words, options).catch(
        (error: { readonly stdout: string }) => assert.fail(error.stdout),
      );
      assert.match(stdout, /^# pass 1$/m);
      assert.match(stdout, /^# fail 0$/m);
    });
  }

  for (const file of ['firefox.test.ts', 'chromium.test.ts']) {
    test(`${file} ends where its browser does not start`, async ({ signal }) => {
      const { NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
      // Playwright leaves the profile of a browser that does not start
      const TMPDIR = await temporaryFolder();
      const env = { ...inherited, TMPDIR, FIREFOX: '/nonexistent', CHROMIUM: '/nonexistent' };
      const words = ['--test', '--test-reporter=tap', join('examples/testing', file)];
      await assert.rejects(run(process.execPath, words, { cwd: root, env, signal }), {
        stdout: /^# fail 1$/m,
      });
    });
  }
});

/** As the page starts it. @returns where it is, and how to trust it */
async function startTlsPushService(): Promise<Readonly<Record<string, string>>> {
  const cwd = await temporaryFolder();
  const pushService = spawnUntilStopped(['push-service', '--tls', '--port', '0', '--json'], { cwd });
  const [line] = await pushService.waitFor(/^\{.*"certificateFile".*$/);
  const { origin, certificateFile } = JSON.parse(line) as Record<string, string>;
  return { PUSH_SERVICE: origin!, NODE_EXTRA_CA_CERTS: certificateFile! };
}
