// The tests that docs/testing.md shows: each passes, as somebody would run it who has the package.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { spawnUntilStopped, temporaryFolder } from './cli/run-command.ts';
import { chromium, find, firefox, skipWithout } from '../scripts/install-test-tools.ts';
import { build } from '../tools/pack.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');

const programs = {
  'firefox.test.ts': firefox,
  'chromium.test.ts': chromium,
  'retries.test.ts': undefined,
  'https.test.ts': undefined,
};

describe('the tests of docs/testing.md', () => {
  // They import the package by its name, which is what has been built.
  before(build);

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
