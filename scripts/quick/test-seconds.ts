// How long test files take, as `slow-tests.json` has it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Of a file that is not listed as slow. */
const usualSeconds = 2;

/** @returns what a test file takes alone, by its path in the repository */
export function readTestSeconds(): (file: string) => number {
  const listed = JSON.parse(readFileSync(join(import.meta.dirname, 'slow-tests.json'), 'utf8')) as Readonly<
    Record<string, number>
  >;
  return (file) => listed[file] ?? usualSeconds;
}
