// Runs test files: three at a time on two cores, since some mostly wait, and those first that take longest, so that none of them is
// left for the end. Prints a line for each file as it ends; of a single file, all its tests.
//   npm test                               every test file but *.all.test.ts
//   npm run test:all                       those too: more combinations, faults, sizes and whole journeys
//   npm run test:all -- --eighth NUMBER    an eighth of *.all.test.ts and nothing else; NUMBER modulo 8 says which
//   npm test -- test/store                 the files of a folder, of any name or pattern
//   npm test -- FILE --test-name-pattern PATTERN    those tests of the file whose names match
// With --record it writes what each file took into scripts/tests/seconds.json. With --limit SECONDS, a test may take so long.
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import type { Transform } from 'node:stream';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { startRun } from '../tools/make-once.ts';
import { buildAccelerator } from '../tools/pack.ts';
import { useOwnFolders } from '../tools/temporary-folders.ts';
import { readOptions } from './read-options.ts';
import { root } from './repository.ts';
import { collectResult, describeResult, describeResults, type FileResult } from './tests/report.ts';
import { chooseFiles, isOnlyInAll } from './tests/choose-files.ts';
import { readSeconds, recordSeconds } from './tests/seconds.ts';

const filesAtATime = availableParallelism() + 1;
/** Against tests that hang, in seconds: at least ten times what one takes that states no limit of its own. */
const testLimit = { usual: 120, onlyInAll: 900 };
/** Against files that hang otherwise. */
const fileLimitMs = 30 * 60_000;

const { values, positionals } = readOptions({
  options: {
    all: { type: 'boolean', default: false },
    eighth: { type: 'string' },
    record: { type: 'boolean', default: false },
    limit: { type: 'string' },
    'test-name-pattern': { type: 'string', multiple: true, default: [] },
  },
  allowPositionals: true,
});
const secondsOf = readSeconds();
const files = choose().toSorted((one, other) => secondsOf(other) - secondsOf(one));

useOwnFolders('deskbell-tests');
startRun();
// what one process has compiled the others need not
process.env['NODE_COMPILE_CACHE'] = join(root, 'node_modules/.cache/test');
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const results = files.length === 1 ? [await runFile(files[0]!, new spec())] : await runFiles();
if (stop.signal.aborted || results.some(({ hasPassed }) => !hasPassed)) process.exitCode = 1;

function choose(): readonly string[] {
  try {
    return chooseFiles(positionals, values);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}

async function runFiles(): Promise<readonly FileResult[]> {
  const startMs = performance.now();
  const expected = files.reduce((sum, file) => sum + secondsOf(file), 0) / filesAtATime;
  console.log(`${files.length} test files, about ${Math.ceil(expected / 60)} min`);
  // it is for all, and must not come to be in the middle of a test
  if (positionals.length === 0) await buildAccelerator();
  const done: FileResult[] = [];
  const queue = files.values();
  const work = async (): Promise<void> => {
    for (const file of queue) {
      if (stop.signal.aborted) return;
      const result = await runFile(file);
      done.push(result);
      console.log(describeResult(result, `${done.length}/${files.length}`));
    }
  };
  await Promise.all(Array.from({ length: filesAtATime }, work));
  console.log(describeResults(done, (performance.now() - startMs) / 1000));
  recordSeconds(done, values.record);
  return done;
}

/** @param printer of all its tests */
async function runFile(file: string, printer?: Transform): Promise<FileResult> {
  printer?.pipe(process.stdout);
  const limit = Number(values.limit ?? (isOnlyInAll(file) ? testLimit.onlyInAll : testLimit.usual));
  const events = run({
    cwd: root,
    files: [resolve(root, file)],
    testNamePatterns: values['test-name-pattern'],
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(fileLimitMs)]),
    execArgv: ['--import', join(root, 'test/end-when-done.ts'), `--test-timeout=${limit * 1000}`],
  });
  return collectResult(file, passOn(events, printer));
}

async function* passOn(events: AsyncIterable<unknown>, printer?: Transform): AsyncGenerator<TestEvent> {
  for await (const event of events) {
    printer?.write(event);
    yield event as TestEvent;
  }
  printer?.end();
}
