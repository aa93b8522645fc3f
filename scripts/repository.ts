// The root of the repository, and the entries of the package as package.json has them.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const root = join(import.meta.dirname, '..');

/** By the kind of module that asks, each with types of its own kind. A script that is an entry by itself is a text. */
export type PackageEntry =
  | string
  | Readonly<Record<'import' | 'default', { types: string; default: string }>>;

/** By the path that it is imported by, such as `./service`. */
export function readPackageEntries(): Readonly<Record<string, PackageEntry>> {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  return (JSON.parse(text) as { readonly exports: Readonly<Record<string, PackageEntry>> }).exports;
}

/** Packages for development that are part of the code in `dist/`, since they are or load ES modules, which Jest cannot `require`, or are far larger installed. */
export const bundledPackages: readonly string[] = ['gemoji', 'jose', 'light-my-request', 'windows-iana'];

/** What the code in `dist/` loads as packages. */
export function readExternalPackages(): readonly string[] {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const { dependencies, peerDependencies } = JSON.parse(text) as Readonly<Record<string, object>>;
  return Object.keys({ ...dependencies, ...peerDependencies });
}

/** The modules that are entries, by their paths in src/ without an ending, such as `service/index`. */
export function readModuleEntries(): readonly string[] {
  return Object.values(readPackageEntries()).flatMap((entry) =>
    typeof entry === 'string' ? [] : relative('dist', entry.import.default).replace(/\.js$/, ''),
  );
}
