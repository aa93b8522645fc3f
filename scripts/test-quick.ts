// Runs the tests that a change touches, for a minute at most, and says which of them it has left out.
//   npm run test:quick              what is not committed and what this branch adds to main; on main, the last commit
//   npm run test:quick -- v1.0.0    what has changed since that commit
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { findChangedFiles, isCommit } from './changed-files.ts';
import { fitIn, findTouchedTests, type TouchedTest } from './quick/selection.ts';
import { readTestSeconds } from './quick/test-seconds.ts';
import { readTree } from './quick/tree.ts';
import { root } from './repository.ts';

const filesAtATime = 2;
/** How many times as long everything takes as on a machine that does nothing else. */
const slowness = Math.max(1, (loadavg()[0]! + filesAtATime) / availableParallelism());
/** What is left of a minute after the start. */
const secondsForFiles = (filesAtATime * 40) / slowness;

const given = process.argv[2];
if (given !== undefined && !isCommit(given)) {
  console.error(`There is no commit "${given}". Usage: npm run test:quick [-- COMMIT]`);
  process.exit(1);
}
const changed = findChangedFiles(given);
console.log(`Changed: ${changed.join(', ')}\n`);
const secondsOf = readTestSeconds();
const touched = findTouchedTests(readTree(changed), changed);
const { chosen, leftOut } = fitIn(secondsForFiles, touched, secondsOf);
if (chosen.length > 0) process.exitCode = await run(chosen);
else console.log('No test file that fits into a minute names what has changed, directly or not.');
if (leftOut.length > 0) {
  console.log(`\nLeft out, since more do not fit into a minute, the nearest first; npm test runs them:`);
  for (const { file, steps } of leftOut) {
    console.log(`  ${file} (about ${secondsOf(file)} s; ${steps} steps from the change)`);
  }
}

async function run(tests: readonly TouchedTest[]): Promise<number> {
  const words = [
    '--import',
    './test/end-when-done.ts',
    '--test',
    `--test-concurrency=${filesAtATime}`,
    '--test-timeout=60000',
  ];
  const files = tests.map(({ file }) => file).filter((file) => existsSync(join(root, file)));
  const child = spawn(process.execPath, [...words, ...files], { cwd: root, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
