// What the accelerator is built with: Node's headers, and Zig for a release. What is not here yet is fetched.
import { chmodSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { fetchInto, run, unpackWheels } from './fetch.ts';

const build = join(import.meta.dirname, '../../build');
const binaryPackage = `${process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'}-${process.platform}-${process.arch}`;
const fetchedHeaders = join(build, `headers-${process.version}`);
/** Its hash is in native/. */
const fetchedZig = join(build, 'zig-0.17.1');

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
