// Which test files a change needs, the nearest first, and which of them fit into a minute.
import { findReferrers, type Tree } from './references.ts';

export interface TouchedTest {
  readonly file: string;
  /** How many files lie between the change and the test. */
  readonly steps: number;
}

/**
 * The test files that a change can touch. Test files mirror the sources: those in the folder of a changed file come first,
 * then those that are fewer steps away.
 */
export function findTouchedTests(tree: Tree, changed: readonly string[]): readonly TouchedTest[] {
  const steps = countSteps(tree, changed);
  const remoteness = new Map(
    Array.from(steps.keys(), (file) => [
      file,
      Math.min(...changed.map((source) => remotenessOf(file, source))),
    ]),
  );
  return Array.from(steps, ([file, count]) => ({ file, steps: count }))
    .filter(({ file }) => file.startsWith('test/') && file.endsWith('.test.ts'))
    .toSorted(
      (a, b) =>
        remoteness.get(a.file)! - remoteness.get(b.file)! ||
        a.steps - b.steps ||
        a.file.localeCompare(b.file),
    );
}

/** From the changed files to all that name them, directly or not. */
function countSteps(tree: Tree, changed: readonly string[]): ReadonlyMap<string, number> {
  const referrers = findReferrers(tree);
  const steps = new Map(changed.map((file) => [file, 0]));
  for (const [file, count] of steps) {
    for (const referrer of referrers.get(file) ?? []) {
      if (!steps.has(referrer)) steps.set(referrer, count + 1);
    }
  }
  return steps;
}

/** 0 for the test of this very file, 1 for one in its folder, and more the less of the path they share. */
function remotenessOf(test: string, source: string): number {
  const [tested, changed] = [test, source].map((path) =>
    path
      .replace(/^(?:src|test)\//, '')
      .replace(/(?:\.test)?\.\w+$/, '')
      .split('/'),
  ) as [string[], string[]];
  const [folders, changedFolders] = [tested.slice(0, -1), changed.slice(0, -1)];
  const differing = changedFolders.findIndex((folder, index) => folder !== folders[index]);
  const shared = differing === -1 ? changedFolders.length : differing;
  if (shared > 0 && tested.at(-1) === changed.at(-1)) return 0;
  return changed.length - shared;
}

export interface Selection {
  readonly chosen: readonly TouchedTest[];
  readonly leftOut: readonly TouchedTest[];
}

/** Takes the nearest tests for as long as there is time. @param secondsOf what a test file takes */
export function fitIn(
  seconds: number,
  tests: readonly TouchedTest[],
  secondsOf: (file: string) => number,
): Selection {
  const chosen: TouchedTest[] = [];
  const leftOut: TouchedTest[] = [];
  let left = seconds;
  for (const test of tests) {
    const needed = secondsOf(test.file);
    if (needed <= left) {
      left -= needed;
      chosen.push(test);
    } else leftOut.push(test);
  }
  return { chosen, leftOut };
}
