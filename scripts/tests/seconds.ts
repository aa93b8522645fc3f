// What each test file takes, in seconds: as it did on this machine the last time, or else as `seconds.json` has it.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../repository.ts';
import type { FileResult } from './report.ts';

type Seconds = Readonly<Record<string, number>>;

const committed = join(import.meta.dirname, 'seconds.json');
const local = join(root, 'node_modules/.cache/test-seconds.json');
/** Of a file that is not listed. */
const usualSeconds = 1;

const read = (path: string): Seconds =>
  existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Seconds) : {};

/** @returns what a file took on this machine the last time, or what `seconds.json` has */
export function readSeconds(): (file: string) => number {
  const listed = { ...read(committed), ...read(local) };
  return (file) => listed[file] ?? usualSeconds;
}

/** @returns what a file takes by `seconds.json`: the same everywhere */
export function readCommittedSeconds(): (file: string) => number {
  const listed = read(committed);
  return (file) => listed[file] ?? usualSeconds;
}

/** @param isForAll in `seconds.json`, and not for this machine alone */
export function recordSeconds(results: readonly FileResult[], isForAll: boolean): void {
  const path = isForAll ? committed : local;
  const taken = results.map(({ file, seconds }) => [file, Number(seconds.toPrecision(2))] as const);
  const all = Object.entries({ ...read(path), ...Object.fromEntries(taken) });
  const kept = all.filter(
    ([file, seconds]) =>
      seconds > usualSeconds && /^(?:test|soak)\//.test(file) && existsSync(join(root, file)),
  );
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(kept.sort()), null, 2)}\n`);
}
