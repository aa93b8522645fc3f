// What is known of test files that have run, and how it is printed: a line for each, with all that is needed to understand a
// failure, and the sums at the end.
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** A sum of the whole file, such as `pass 12`, as Node's own reporters print it. */
const sum = /^(tests|suites|pass|fail|cancelled|skipped|todo) (\d+)$/;

export interface FileResult {
  readonly file: string;
  readonly hasPassed: boolean;
  readonly seconds: number;
  /** By the words of Node's own reporters: tests, pass, fail, cancelled … */
  readonly counts: ReadonlyMap<string, number>;
  /** The reason of each test that was skipped. */
  readonly skipped: readonly string[];
  /** Of each test that failed: its titles, its place and its error. */
  readonly failures: readonly string[];
  /** What the file and the processes that it started have printed. */
  readonly output: string;
}

/** @param events those of this file, to the last one */
export async function collectResult(file: string, events: AsyncIterable<TestEvent>): Promise<FileResult> {
  const titles = new Map<number, string>();
  const skipped: string[] = [];
  const failures: string[] = [];
  let output = '';
  let [hasPassed, seconds] = [false, 0];
  const counts = new Map<string, number>();
  for await (const { type, data } of events) {
    switch (type) {
      case 'test:start': {
        const parent = data.parentId === undefined ? undefined : titles.get(data.parentId);
        titles.set(data.testId, parent === undefined ? data.name : `${parent} › ${data.name}`);
        break;
      }
      case 'test:pass':
        if (data.skip !== undefined)
          skipped.push(typeof data.skip === 'string' ? data.skip : 'no reason given');
        break;
      case 'test:fail': {
        const { failureType, cause } = data.details.error as Error & { readonly failureType?: string };
        // the tests in it tell why
        if (failureType === 'subtestsFailed' || failureType === 'cancelledByParent') break;
        const title = titles.get(data.testId) ?? data.name;
        failures.push(
          `${title} (${file}:${data.line}:${data.column})\n${inspect(cause ?? data.details.error)}`,
        );
        break;
      }
      case 'test:stdout':
      case 'test:stderr':
        output += data.message;
        break;
      case 'test:diagnostic': {
        const [, name = '', count] = sum.exec(data.message) ?? [];
        if (data.file === undefined && count !== undefined) counts.set(name, Number(count));
        break;
      }
      case 'test:summary':
        [hasPassed, seconds] = [data.success, data.duration_ms / 1000];
    }
  }
  return { file, hasPassed, seconds, counts, skipped, failures, output };
}

/** @param place such as `3/240` */
export function describeResult(result: FileResult, place: string): string {
  const { file, hasPassed, seconds, skipped, failures, output } = result;
  const more = skipped.length > 0 ? `, ${skipped.length} skipped` : '';
  const line = `${hasPassed ? '✔' : '✖'} ${place} ${file} (${seconds.toFixed(1)} s${more})`;
  return hasPassed ? line : [line, ...failures, 'It printed:', output].join('\n');
}

/** The sums of a run, as CI reads them, and what was skipped and what has failed. */
export function describeResults(results: readonly FileResult[], seconds: number): string {
  const counts = new Map<string, number>();
  for (const result of results)
    for (const [name, count] of result.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  const reasons = Map.groupBy(
    results.flatMap(({ skipped }) => skipped),
    (reason) => reason,
  );
  return [
    ...Array.from(reasons, ([reason, { length }]) => `Skipped ${length}: ${reason}`),
    ...results.filter(({ hasPassed }) => !hasPassed).map(({ file }) => `Failed: ${file}`),
    ...Array.from(counts, ([name, count]) => `ℹ ${name} ${count}`),
    `ℹ duration_ms ${Math.round(seconds * 1000)}`,
  ].join('\n');
}
