// What the accelerator is built of beside its sources: Node's headers and, for linux-x64, the multi-buffer library. What is
// not here yet is fetched.
import { chmodSync, existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describePlatform } from '../../src/accelerator/addon.ts';
import { fetchInto, run, unpackWheels } from './fetch.ts';

const build = join(import.meta.dirname, '../../build');
const binaryPackage = `${process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'}-${process.platform}-${process.arch}`;
const fetchedHeaders = join(build, `headers-${process.version}`);
/** The hashes of these two are in native/. */
const fetchedLibrary = join(build, 'crypto-mb-2026.2.0');
const fetchedZig = join(build, 'zig-0.17.1');

/** The multi-buffer library. */
export interface MultiBufferLibrary {
  readonly includeFolder: string;
  readonly archive: string;
  readonly licence: string;
}

/** The headers of this Node: those beside it, or those of the npm package of the same version. */
export function findOrFetchHeaders(): string {
  return findHeaders() ?? fetchHeaders();
}

/** Headers that are here already: beside this Node, in the npm package that it came with, or fetched earlier. */
function findHeaders(): string | undefined {
  const installation = join(dirname(process.execPath), '..');
  const inPackage = join(installation, 'node_modules', binaryPackage, 'include/node');
  return [join(installation, 'include/node'), inPackage, fetchedHeaders].find(
    (folder) => existsSync(join(folder, 'node_api.h')) && existsSync(join(folder, 'openssl/evp.h')),
  );
}

/** Headers of this very Node, from the npm package that it is published in. */
function fetchHeaders(): string {
  const name = `${binaryPackage}@${process.version.slice(1)}`;
  console.error(`This Node came without its headers; taking them from the npm package ${name}.`);
  return fetchInto(fetchedHeaders, (workspace) => {
    const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--prefer-offline'];
    run('npm', ['install', '--prefix', workspace, ...options, name]);
    return join(workspace, 'node_modules', binaryPackage, 'include/node');
  });
}

/** The multi-buffer library for this machine; `undefined`, with a word why, if it cannot be had. */
export function findOrFetchLibrary(): MultiBufferLibrary | undefined {
  if (!hasLibrary(describePlatform())) return undefined;
  try {
    return libraryForX64();
  } catch (error) {
    console.error(`Building without the multi-buffer library: ${(error as Error).message}`);
    return undefined;
  }
}

/** Whether there is a multi-buffer library for a platform. */
export const hasLibrary = (platform: string): boolean => platform.startsWith('linux-x64-');

/** @throws {Error} it can not be fetched */
export function libraryForX64(): MultiBufferLibrary {
  if (!existsSync(fetchedLibrary)) {
    fetchInto(fetchedLibrary, (workspace) => unpackWheels(workspace, 'requirements.txt'));
  }
  return {
    includeFolder: findInLibrary('*include*.data/data/include/aggregator'),
    archive: findInLibrary('*static*.data/data/lib/libcrypto_mb.a'),
    licence: findInLibrary('*static*.dist-info/LICENSE.txt'),
  };
}

function findInLibrary(pattern: string): string {
  return join(fetchedLibrary, globSync(pattern, { cwd: fetchedLibrary })[0]!);
}

/** The path of Zig, which compiles for any machine on this one. @throws {Error} it can not be fetched */
export function findOrFetchZig(): string {
  const zig = join(fetchedZig, 'ziglang/zig');
  if (!existsSync(zig)) {
    fetchInto(fetchedZig, (workspace) => {
      const contents = unpackWheels(workspace, 'requirements-zig.txt');
      chmodSync(join(contents, 'ziglang/zig'), 0o755);
      return contents;
    });
  }
  return zig;
}
