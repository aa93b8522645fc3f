// Runs the tests of one title in a tree, each in the process that `node --test` gives it, and tells what came of them.
import { join } from 'node:path';
import { run } from 'node:test';

import type { NamedTest } from '../requirements.ts';

export type TestResult =
  /** Every test of the title passed. */
  | { readonly kind: 'passed' }
  /** A test of the title failed by itself. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** No test of the title came to run: there is none, it is skipped, or its file or a hook failed before it. */
  | { readonly kind: 'not run'; readonly reason: string };

/** What node:test says of a test that failed, rather than of one whose surroundings did. */
const ownFailures: ReadonlySet<string> = new Set([
  'testCodeFailure',
  'testTimeoutFailure',
  // of what the test has started
  'uncaughtException',
  'unhandledRejection',
]);

interface TestEvent {
  readonly name: string;
  readonly skip?: string | boolean;
  readonly details: {
    readonly type?: string;
    readonly error?: { readonly failureType?: string; readonly message: string };
  };
}

/**
 * @param tree absolute path of the folder that `file` is relative to
 * @param timeoutMs a test that takes longer has failed
 */
export async function runTest(
  tree: string,
  { file, title }: NamedTest,
  timeoutMs: number,
): Promise<TestResult> {
  const path = join(tree, file);
  const testNamePatterns = [new RegExp(RegExp.escape(title))];
  // A test that fails may leave a process behind that waits for what does not come.
  const stop = new AbortController();
  const events = run({ files: [path], cwd: tree, testNamePatterns, timeout: timeoutMs, signal: stop.signal });
  let passed = 0;
  let reason = 'there is no test of this title';
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const { name, skip, details } = data as TestEvent;
    const { failureType = '', message = '' } = details.error ?? {};
    if (type === 'test:fail' && (name === path || !ownFailures.has(failureType))) reason = message;
    else if (skip !== undefined && skip !== false) reason = `it is skipped: ${skip}`;
    else if (type === 'test:fail') {
      stop.abort();
      return { kind: 'failed', reason: message };
    } else if (name !== path && details.type === 'test') passed += 1;
  }
  return passed > 0 ? { kind: 'passed' } : { kind: 'not run', reason };
}

export interface Baseline {
  readonly result: TestResult;
  /** A test that hangs after a change has noticed it; one that is slow on a busy machine has not. */
  readonly changeTimeoutMs: number;
}

/** As `npm test` has it: much more than a busy machine needs. */
const baselineTimeoutMs = 1_800_000;
const minChangeTimeoutMs = 20_000;

/** Runs a test where nothing is changed, and once more where it fails: a busy machine does not stand for a change. */
export async function runBaseline(tree: string, test: NamedTest): Promise<Baseline> {
  const startedAtMs = performance.now();
  const first = await runTest(tree, test, baselineTimeoutMs);
  const tookMs = performance.now() - startedAtMs;
  const result = first.kind === 'passed' ? first : await runTest(tree, test, baselineTimeoutMs);
  return { result, changeTimeoutMs: Math.max(minChangeTimeoutMs, 4 * tookMs) };
}
