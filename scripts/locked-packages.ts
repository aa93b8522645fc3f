// The packages that an install brings, as package-lock.json has them: everything that is not for development alone, and what is
// part of the code.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledPackages, root } from './repository.ts';

/** An entry of package-lock.json. */
interface LockEntry {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

const bundledPaths = new Set(bundledPackages.map((name) => `node_modules/${name}`));

export interface LockedPackage {
  /** Of its folder, from the root of the repository. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: string | undefined;
  /** Of its archive, in hexadecimal digits. */
  readonly sha512: string | undefined;
  /** Those that it loads, under the names that it has for them. */
  readonly dependencies: readonly LockedPackage[];
}

export function readLockedPackages(): {
  readonly project: LockedPackage;
  readonly packages: readonly LockedPackage[];
} {
  const { name, packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly name: string;
    readonly packages: Readonly<Record<string, LockEntry>>;
  };
  const found = new Map<string, LockedPackage & { dependencies: LockedPackage[] }>();
  for (const [path, { version, license, integrity, dev, devOptional }] of Object.entries(packages)) {
    if ((dev && !bundledPaths.has(path)) || devOptional) continue;
    const [, digest] = /^sha512-(\S+)$/.exec(integrity ?? '') ?? [];
    found.set(path, {
      path,
      name: path === '' ? name : path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      license,
      sha512: digest && Buffer.from(digest, 'base64').toString('hex'),
      dependencies: [],
    });
  }
  for (const [path, locked] of found) {
    const needed = Object.keys(packages[path]!.dependencies ?? {});
    for (const dependency of path === '' ? [...needed, ...bundledPackages] : needed) {
      const from = foldersAbove(path).find((folder) => found.has(`${folder}node_modules/${dependency}`));
      if (from !== undefined) locked.dependencies.push(found.get(`${from}node_modules/${dependency}`)!);
    }
  }
  const [project, ...brought] = found.values();
  if (project === undefined) throw new Error('package-lock.json does not begin with the project.');
  return { project, packages: brought };
}

/** Where Node looks for what a package loads: in its own folder first, and at the root in the end. */
function foldersAbove(path: string): readonly string[] {
  if (path === '') return [''];
  const above = path.slice(0, path.lastIndexOf('node_modules/')).replace(/\/$/, '');
  return [`${path}/`, ...foldersAbove(above)];
}
