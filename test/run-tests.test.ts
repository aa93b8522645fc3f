// `npm test` itself: what it runs, says, stops and leaves behind.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { chooseFiles, isOnlyInAll, toEighths } from '../scripts/tests/choose-files.ts';
import { root } from '../scripts/repository.ts';
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
