// `npm test` itself: what it runs, says, stops and leaves behind, and what it does with a file that leaves something open.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { find, firefox, skipWithout } from '../scripts/install-test-tools.ts';
import { root } from '../scripts/repository.ts';
import { chooseFiles, isOnlyInAll, toEighths } from '../scripts/tests/choose-files.ts';
import { until } from '../tools/until.ts';

const script = join(root, 'scripts/run-tests.ts');

/** Starts a run with these files, which has temporary folders of its own. */
function start(t: TestContext, files: Readonly<Record<string, string>>, ...options: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'run-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [tests, temporary] = [join(folder, 'tests'), join(folder, 'temporary')];
  for (const path of [tests, temporary]) mkdirSync(path);
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(tests, `${name}.test.mjs`), `import { test } from 'node:test';\n${text}`);
  }
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env;
  const child = spawn(
    process.execPath,
    [script, ...options, ...Object.keys(files).map((name) => join(tests, `${name}.test.mjs`))],
    {
      env: { ...env, TMPDIR: temporary, TEST_FAST_FOLDER: temporary, DESKBELL_TEST_GRACE_MS: '1000' },
    },
  );
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
  const ended = new Promise<number | null>((resolve) => void child.once('close', resolve));
  return { child, ended, output: () => output, left: () => readdirSync(temporary) };
}

test('a run says what it has, each file as it ends, why tests failed, and what was skipped', async (t) => {
  const run = start(
    t,
    {
      passes: "test('a', () => {}); test('b', { skip: 'no moon' }, () => {});",
      skips: "test('a', { skip: 'no moon' }, () => {}); test('b', { skip: 'no sun' }, () => {});",
      fails:
        "test('outer', (t) => t.test('inner', () => { console.log('hint'); throw new Error('on purpose'); }));",
      hangs: "test('a', () => new Promise((resolve) => setTimeout(resolve, 60_000))); test('b', () => {});",
      leaves: `import { mkdtempSync } from 'node:fs'; import { tmpdir } from 'node:os'; import { join } from 'node:path';
        test('a', () => { mkdtempSync(join(tmpdir(), 'forgotten-')); });`,
    },
    '--limit',
    '1',
  );
  assert.equal(await run.ended, 1, run.output());
  assert.match(run.output(), /^5 test files, about \d+ min$/m);
  assert.match(run.output(), /^✔ \d\/5 \S+passes\.test\.mjs \(\d+\.\d s, 1 skipped\)$/m);
  assert.match(
    run.output(),
    /^✖ \d\/5 \S+fails\.test\.mjs [^]*^outer › inner \(\S+fails\.test\.mjs:2:\d+\)\nError: on purpose/m,
  );
  assert.match(run.output(), /^hint$/m);
  assert.match(run.output(), /^a \(\S+hangs\.test\.mjs:2:\d+\)\n.*timed out after 1000ms/m);
  assert.match(run.output(), /leaves\.test\.mjs left in the temporary folder: forgotten-/);
  assert.match(run.output(), /^Skipped 2: no moon\nSkipped 1: no sun$/m);
  for (const name of ['fails', 'hangs', 'leaves'])
    assert.match(run.output(), new RegExp(`^Failed: \\S+${name}.test.mjs$`, 'm'));
  assert.match(run.output(), /^ℹ tests 10\n[^]*^ℹ pass 3\n[^]*^ℹ skipped 3$/m);
  assert.deepEqual(run.left(), []);
});

test('a run that is stopped ends its files and what they have started, and leaves nothing behind', async (t) => {
  const run = start(t, {
    waits: `import { spawn } from 'node:child_process';
      test('a', async () => {
        const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
        console.log('pid', child.pid);
        await new Promise((resolve) => setTimeout(resolve, 60_000));
      });`,
  });
  const [, pid] = await until(() => /pid (\d+)/.exec(run.output()), 'the test to begin');
  run.child.kill('SIGINT');
  assert.equal(await run.ended, 1, run.output());
  await until(() => !isRunning(Number(pid)), 'the end of the process');
  assert.deepEqual(run.left(), []);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('--test-name-pattern runs the tests of a file whose names match', async (t) => {
  const files = { names: "test('quiet hours', () => {}); test('fails', () => { throw new Error(); });" };
  const run = start(t, files, '--test-name-pattern', 'quiet');
  assert.equal(await run.ended, 0, run.output());
  assert.match(run.output(), /✔ quiet hours [^]*^ℹ pass 1$/m);
});

test('a pattern that no test file has is an error', async (t) => {
  const run = start(t, {}, 'test/nothing/*.test.ts');
  assert.equal(await run.ended, 1);
  assert.match(run.output(), /"test\/nothing\/\*\.test\.ts" has no test file\./);
});

test('what only test:all runs is in one of eight parts that take about as long', () => {
  const all = chooseFiles([], { all: true });
  const usual = chooseFiles([], { all: false });
  const rest = all.filter(isOnlyInAll);
  assert.deepEqual(
    all.filter((file) => !isOnlyInAll(file)),
    usual,
  );
  const parts = Array.from({ length: 8 }, (_, number) =>
    chooseFiles([], { all: false, eighth: String(number + 8) }),
  );
  assert.deepEqual(parts.flat().sort(), rest);
  const seconds = toEighths(rest, (file) => file.length).map((part) =>
    part.reduce((sum, file) => sum + file.length, 0),
  );
  assert.ok(Math.max(...seconds) - Math.min(...seconds) < 60, String(seconds));
});

// A test file that leaves something open, or in which an error is not caught, ends all the same, with a report of each of its tests.

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

// Which programs are there for the tests, and what is said where they are not.

test('a browser that is too old is named with its version, and a newer one beside it is taken', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-tools-'));
  const { PATH: path, CI: ci } = process.env;
  t.after(() => {
    Object.assign(process.env, { PATH: path }, ci === undefined ? {} : { CI: ci });
    rmSync(folder, { recursive: true });
  });
  const install = (name: string, version: string) =>
    writeFileSync(join(folder, name), `#!/bin/sh\necho "Mozilla Firefox ${version}"\n`, { mode: 0o755 });
  process.env['PATH'] = folder;
  delete process.env['CI'];

  install('firefox-esr', '140.5.0esr');
  const old = join(folder, 'firefox-esr');
  assert.equal(find(firefox), undefined);
  assert.equal(
    skipWithout('the Firefox tests', [firefox]),
    `For the Firefox tests, install firefox-esr (on Debian: sudo apt-get install firefox-esr). ${old} is version 140; ` +
      `${firefox.leastVersion} or newer is needed.`,
  );
  process.env['CI'] = 'true';
  assert.throws(() => skipWithout('the Firefox tests', [firefox]), /is version 140/);

  process.env['PATH'] = [folder, '/nowhere'].join(delimiter);
  install('firefox', `${firefox.leastVersion}.0`);
  assert.equal(find(firefox), join(folder, 'firefox'));
  assert.equal(skipWithout('the Firefox tests', [firefox]), false);
});
