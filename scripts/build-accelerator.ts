// Builds the native accelerator with the machine's C compiler, for the Node that runs this script:
//   npm run build:accelerator [-- --headers DIR]
// Node's headers are taken from where this Node is installed; where it came without them, from the npm package of the
// same version. The result is loaded and checked before it takes its place.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

import { acceleratorFile, loadAccelerator } from '../src/accelerator/load-accelerator.ts';

const root = join(import.meta.dirname, '..');
const source = join(root, 'native/accelerator.c');
const binaryPackage = `${process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'}-${process.platform}-${process.arch}`;
const fetchedHeaders = join(root, `build/headers-${process.version}`);

if (import.meta.main) {
  try {
    const { values } = parseArgs({ options: { headers: { type: 'string' } } });
    buildAccelerator(acceleratorFile, values.headers ?? findHeaders() ?? fetchHeaders());
    console.log(
      `Built ${acceleratorFile}; it reproduces RFC 8291's example and agrees with Node's builtins.`,
    );
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}

/**
 * Compiles, checks, and puts the addon in its place.
 *
 * @param file where it is to stand
 * @param headers the folder that holds node_api.h and openssl/
 * @throws {Error} there is no compiler, it fails, or the addon fails its check
 */
export function buildAccelerator(file: string, headers: string): void {
  const compiler = findCompiler();
  if (compiler === undefined) {
    throw new Error(
      'There is no C compiler (cc, gcc or clang; CC names another one). Without the accelerator Deskbell encrypts with Node’s builtins.',
    );
  }
  mkdirSync(dirname(file), { recursive: true });
  const workspace = mkdtempSync(join(dirname(file), 'accelerator-'));
  try {
    const made = join(workspace, 'accelerator.node');
    const flags = [
      '-std=c11',
      '-O2',
      '-Wall',
      '-Wextra',
      '-Werror',
      '-fPIC',
      '-fvisibility=hidden',
      '-shared',
    ];
    // The linker need not find Node's symbols: the addon meets them when Node loads it.
    if (process.platform === 'darwin') flags.push('-undefined', 'dynamic_lookup');
    run(compiler, [...flags, '-DNAPI_VERSION=8', '-isystem', headers, source, '-o', made]);
    const loaded = loadAccelerator(made);
    if (loaded.kind === 'builtin') throw new Error(loaded.reason);
    renameSync(made, file);
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

export function findCompiler(): string | undefined {
  const candidates = [process.env['CC'], 'cc', 'gcc', 'clang'].filter((name) => name !== undefined);
  return candidates.find((name) => spawnSync(name, ['--version']).status === 0);
}

/** Headers that are here already: beside this Node, in the npm package that it came with, or fetched earlier. */
export function findHeaders(): string | undefined {
  const installation = join(dirname(process.execPath), '..');
  const inPackage = join(installation, 'node_modules', binaryPackage, 'include/node');
  return [join(installation, 'include/node'), inPackage, fetchedHeaders].find(
    (folder) => existsSync(join(folder, 'node_api.h')) && existsSync(join(folder, 'openssl/evp.h')),
  );
}

/** Headers of this very Node, from the npm package that it is published in. */
export function fetchHeaders(): string {
  const name = `${binaryPackage}@${process.version.slice(1)}`;
  console.log(`This Node came without its headers; taking them from the npm package ${name}.`);
  mkdirSync(dirname(fetchedHeaders), { recursive: true });
  const workspace = mkdtempSync(`${fetchedHeaders}-`);
  try {
    const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--prefer-offline'];
    run('npm', ['install', '--prefix', workspace, ...options, name]);
    renameSync(join(workspace, 'node_modules', binaryPackage, 'include/node'), fetchedHeaders);
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
  return fetchedHeaders;
}

function run(command: string, parameters: readonly string[]): void {
  const { status, error } = spawnSync(command, parameters, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} failed${error === undefined ? '' : `: ${error.message}`}.`);
}
