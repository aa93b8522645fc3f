// A test file that leaves something open, or in which an error is not caught, ends all the same, with a report of each of its tests.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { until } from '../tools/until.ts';

const preload = pathToFileURL(join(import.meta.dirname, 'end-when-done.ts')).href;

/** Runs a file of these lines as `npm test` does. */
async function runFile(t: TestContext, lines: string) {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'open.test.mjs');
  await writeFile(file, lines);
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env;
  return spawnSync(process.execPath, ['--import', preload, '--test', '--test-reporter=tap', file], {
    encoding: 'utf8',
    env: { ...env, DESKBELL_TEST_GRACE_MS: '100' },
  });
}

for (const [what, statement] of [
  ['passes', ''],
  ['fails', `throw new Error('on purpose')`],
] as const) {
  test(`a file that ${what} with a server open is reported to its last test, and fails`, async (t) => {
    const { status, stdout } = await runFile(
      t,
      `import { createServer } from 'node:net';
      import { test } from 'node:test';
      test('opens', () => { createServer().listen(0); ${statement} });
      test('the last one', () => undefined);`,
    );
    assert.equal(status, 1, stdout);
    assert.match(stdout, /open\.test\.mjs left open: .*TCPServerWrap/);
    assert.match(stdout, /ok \d+ - the last one/);
    assert.match(stdout, /^# fail 1$/m);
  });
}

test('a process that a test leaves behind ends with its file', async (t) => {
  const { status, stdout } = await runFile(
    t,
    `import { spawn } from 'node:child_process';
    import { test } from 'node:test';
    test('starts one', () => {
      const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
      console.log('pid', pid);
      throw new Error('on purpose');
    });`,
  );
  assert.equal(status, 1, stdout);
  const [, pid] = /pid (\d+)/.exec(stdout)!;
  await until(() => !existsSync(`/proc/${pid}`), 'the end of the process');
});

for (const [what, statement] of [
  ['an error that is thrown by a callback', `setImmediate(() => { throw new Error('on purpose') });`],
  ['a promise that is rejected', `Promise.reject(new Error('on purpose'));`],
] as const) {
  test(`${what}, and not caught, fails the test that it comes from`, async (t) => {
    const { status, stdout } = await runFile(
      t,
      `import { test } from 'node:test';
      import { setImmediate as nextTurn } from 'node:timers/promises';
      test('does not catch it', async () => { ${statement} await nextTurn(); });
      test('the last one', () => undefined);`,
    );
    assert.equal(status, 1, stdout);
    assert.match(stdout, /not ok \d+ - does not catch it/);
    assert.match(stdout, /on purpose/);
    assert.match(stdout, /ok \d+ - the last one/);
    assert.match(stdout, /^# fail 1$/m);
  });
}

test('a rejection among tests at once fails its own, and hooks are those of the test or suite that they are in', async (t) => {
  const { status, stdout } = await runFile(
    t,
    `import assert from 'node:assert/strict';
    import { after, beforeEach, describe, test } from 'node:test';
    import { setTimeout } from 'node:timers/promises';
    let what = '';
    for (const name of ['one', 'two']) describe(name, () => {
      beforeEach(async () => { await setTimeout(1); what += name; });
      test('calls for a hook after it waited', async () => {
        await setTimeout(1);
        after(() => { what = 'after ' + name; });
        assert.equal(what, name === 'one' ? 'one' : 'after onetwo');
      });
    });
    describe('at once', { concurrency: true }, () => {
      test('rejects', async () => { await setTimeout(1); Promise.reject(new Error('on purpose')); await setTimeout(9); });
      test('is not to blame', async () => { await setTimeout(9); assert.equal(what, 'after two'); });
    });`,
  );
  assert.equal(status, 1, stdout);
  assert.match(stdout, /not ok \d+ - rejects/);
  assert.match(stdout, /^# pass 3\n# fail 1$/m);
});

test('nothing follows the promises of a test, which would take a fifth of its time', async (t) => {
  const { status, stdout } = await runFile(
    t,
    `import assert from 'node:assert/strict';
    import { executionAsyncId } from 'node:async_hooks';
    import { test } from 'node:test';
    test('has no id after it waited', async () => { await undefined; assert.equal(executionAsyncId(), 0); });`,
  );
  assert.equal(status, 0, stdout);
});
