// The root of the repository, and the entries of the package as package.json has them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '..');

/** A script that is an entry by itself is a text: it has its types beside it. */
export type PackageEntry = string | { readonly types: string; readonly default: string };

/** By the path that it is imported by, such as `./service`. */
export function readPackageEntries(): Readonly<Record<string, PackageEntry>> {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  return (JSON.parse(text) as { readonly exports: Readonly<Record<string, PackageEntry>> }).exports;
}
