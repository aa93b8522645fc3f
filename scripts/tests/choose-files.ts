// Which test files a run has.
import { globSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { root } from '../repository.ts';
import { readCommittedSeconds } from './seconds.ts';

/** Whether `npm test` leaves it out. */
export const isOnlyInAll = (file: string): boolean => file.endsWith('.all.test.ts');

/**
 * @param wanted files, folders and patterns, relative to the root
 * @param options those of `npm test`, if nothing is wanted: `all` has every file; `eighth` an eighth of what `all` has beyond `npm test`
 * @throws {Error} something wanted has no test file
 */
export function chooseFiles(
  wanted: readonly string[],
  { all, eighth }: { readonly all: boolean; readonly eighth?: string | undefined },
): readonly string[] {
  if (wanted.length > 0) return [...new Set(wanted.flatMap(findFiles))];
  const files = findFiles('test');
  if (eighth !== undefined) {
    const rest = files.filter(isOnlyInAll);
    return toEighths(rest, readCommittedSeconds())[Number(eighth) % 8] ?? [];
  }
  return all ? files : files.filter((file) => !isOnlyInAll(file));
}

function findFiles(pattern: string): readonly string[] {
  const files = globSync(pattern, { cwd: root }).flatMap((path) =>
    statSync(resolve(root, path)).isDirectory() ? globSync(join(path, '**/*.test.ts'), { cwd: root }) : path,
  );
  if (files.length === 0) throw new Error(`"${pattern}" has no test file.`);
  return files.sort();
}

/** @returns eight parts that take about as long as each other */
export function toEighths(
  files: readonly string[],
  secondsOf: (file: string) => number,
): readonly (readonly string[])[] {
  const parts = Array.from({ length: 8 }, () => ({ seconds: 0, files: [] as string[] }));
  for (const file of files.toSorted((one, other) => secondsOf(other) - secondsOf(one))) {
    const least = parts.reduce((part, other) => (other.seconds < part.seconds ? other : part));
    least.files.push(file);
    least.seconds += secondsOf(file);
  }
  return parts.map((part) => part.files);
}
