// Shows that the tests of the specification can fail. For each requirement test/prove/ has small changes of the source
// that break it; each is made in a copy of the tree, and the test must pass without it and fail with it.
//   npm run prove                      all changes
//   npm run prove -- --tenth           a tenth of them, which one depends on the commit
//   npm run prove -- Request-Time      those whose chapter, claim or description holds the text
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

import { findGaps, findStale, toProofs, type Proof } from './prove/proofs.ts';
import { runBaseline, runTest, type Baseline, type TestResult } from './prove/run-test.ts';
import { createWorkingCopy } from './prove/working-copy.ts';
import { readOptions } from './read-options.ts';
import { root } from './repository.ts';
import { readRequirements } from './requirements.ts';

const { values, positionals } = readOptions({
  options: {
    tenth: { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(Math.min(availableParallelism(), 4)) },
  },
  allowPositionals: true,
});

const requirements = await readRequirements();
const proofs = requirements.flatMap(toProofs);
const stale = await findStale(proofs);
const faults = [...findGaps(requirements), ...stale.values()];
for (const fault of faults) console.error(`FAULT  ${fault}`);

const chosen = choose(proofs.filter((proof) => !stale.has(proof)));
console.log(`${chosen.length} of ${proofs.length} changes of ${requirements.length} claims are proved.`);
const failures = await prove(chosen, Number(values.jobs));
if (failures > 0) console.error(`${failures} of ${chosen.length} changes are not noticed by their tests.`);
if (faults.length + failures > 0 || chosen.length === 0) process.exitCode = 1;

function choose(all: readonly Proof[]): readonly Proof[] {
  const named = all.filter(({ chapter, claim, change }) =>
    positionals.every((text) => `${chapter} ${claim} ${change.what}`.includes(text)),
  );
  if (!values.tenth) return named;
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const part = Number.parseInt(commit.slice(-8), 16) % 10;
  return named.filter((_proof, index) => index % 10 === part);
}

/** Proves several at a time, each in a copy of its own. @returns how many tests did not notice their change */
async function prove(all: readonly Proof[], jobs: number): Promise<number> {
  const queue = all.values();
  const baselines = new Map<string, Promise<Baseline>>();
  let unnoticed = 0;
  const work = async (): Promise<void> => {
    await using copy = await createWorkingCopy();
    // One iterator for all: each takes the next proof that nobody has taken.
    for (const { claim, change, test } of queue) {
      const key = JSON.stringify(test);
      if (!baselines.has(key)) baselines.set(key, runBaseline(copy.folder, test));
      const { result: before, changeTimeoutMs } = await baselines.get(key)!;
      const startedAtMs = performance.now();
      const after =
        before.kind === 'passed'
          ? await copy.withChange(change, () => runTest(copy.folder, test, changeTimeoutMs))
          : ({ kind: 'not run', reason: `without the change: ${describe(before)}` } as const);
      const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
      if (after.kind !== 'failed') unnoticed += 1;
      const verdict = after.kind === 'failed' ? 'noticed     ' : 'NOT NOTICED ';
      const why = after.kind === 'failed' ? '' : ` (${describe(after)})`;
      console.log(`${verdict} ${seconds.padStart(5)} s  ${claim}: ${change.what}${why}`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return unnoticed;
}

function describe(result: TestResult): string {
  switch (result.kind) {
    case 'passed':
      return 'the test passed';
    case 'failed':
      return `the test failed: ${result.reason}`;
    case 'not run':
      return `the test does not run: ${result.reason}`;
  }
}
