// Builds the native accelerator with the machine's C compiler, for the Node that runs this script:
//   npm run build:accelerator [-- --headers DIR] [--optional]
// Node's headers are taken from where this Node is installed; where it came without them, from the npm package of the
// same version. On linux-x64 the multi-buffer library is linked in, which pip downloads at a pinned version and hash;
// without pip or network the addon is built without it. The addon is loaded and checked before it takes its place.
// With `--optional`, as before packing, a failure is reported and the exit code is 0.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

import { addonFile, describePlatform } from '../src/accelerator/addon-file.ts';
import type { EncryptionMethod } from '../src/accelerator/encryption-methods.ts';
import { loadAccelerator } from '../src/accelerator/load-accelerator.ts';

const root = join(import.meta.dirname, '..');
const native = join(root, 'native');
const binaryPackage = `${process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'}-${process.platform}-${process.arch}`;
const fetchedHeaders = join(root, `build/headers-${process.version}`);
/** Its hashes are in native/requirements.txt. */
const fetchedLibrary = join(root, 'build/crypto-mb-2026.2.0');

/** The multi-buffer library. */
export interface MultiBufferLibrary {
  readonly includeFolder: string;
  readonly archive: string;
  readonly licence: string;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { headers: { type: 'string' }, optional: { type: 'boolean' } } });
  const file = addonFile();
  try {
    const library = findOrFetchLibrary();
    const method = buildAccelerator(file, values.headers ?? findHeaders() ?? fetchHeaders(), library);
    const licence = join(dirname(file), 'LICENSE.crypto_mb.txt');
    if (library === undefined) rmSync(licence, { force: true });
    else copyFileSync(library.licence, licence);
    const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
    console.error(`Built ${file}`);
    console.error(
      `sha256 ${hash}, ${library === undefined ? 'without' : 'with'} the multi-buffer library; method here: ${method}`,
    );
  } catch (error) {
    console.error(`The accelerator was not built: ${(error as Error).message}`);
    // one of earlier sources must not be packed
    rmSync(file, { force: true });
    process.exitCode = values.optional === true ? 0 : 1;
  }
}

/**
 * Compiles, checks, and puts the addon in its place.
 *
 * @param file where it is to stand
 * @param headers the folder that holds node_api.h and openssl/
 * @returns the method that it offers on this machine
 * @throws {Error} there is no compiler, it fails, or the addon fails its check
 */
export function buildAccelerator(
  file: string,
  headers: string,
  library?: MultiBufferLibrary,
): EncryptionMethod {
  mkdirSync(dirname(file), { recursive: true });
  const workspace = mkdtempSync(join(dirname(file), 'building-'));
  try {
    const made = join(workspace, 'accelerator.node');
    compileAccelerator(made, headers, library);
    const { method, reason } = loadAccelerator({ file: made, cacheFolder: workspace });
    if (method === 'builtin') throw new Error(reason);
    renameSync(made, file);
    return method;
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

/**
 * Compiles the addon.
 *
 * @param flags for the compiler, beside the usual ones
 * @throws {Error} there is no compiler, or it fails
 */
export function compileAccelerator(
  file: string,
  headers: string,
  library?: MultiBufferLibrary,
  flags: readonly string[] = [],
): void {
  const compiler = findCompiler();
  if (compiler === undefined) {
    throw new Error(
      'There is no C compiler (cc, gcc or clang; CC names another one). Without the accelerator Deskbell encrypts with Node’s builtins.',
    );
  }
  const sources = globSync('*.c', { cwd: native })
    .sort()
    .map((name) => join(native, name));
  const archives = library === undefined ? [] : [library.archive];
  const inputs = ['-isystem', headers, ...sources, ...archives];
  run(compiler, [...compilerFlags(library), ...flags, ...inputs, '-o', file]);
}

function compilerFlags(library: MultiBufferLibrary | undefined): string[] {
  const flags = [
    '-std=c11',
    '-O2',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-fPIC',
    '-fvisibility=hidden',
    '-shared',
    '-s',
  ];
  flags.push('-DNAPI_VERSION=8', '-ffunction-sections', '-fdata-sections', `-ffile-prefix-map=${root}=.`);
  // The linker need not find Node's symbols: the addon finds them when Node loads it.
  if (process.platform === 'darwin') return [...flags, '-undefined', 'dynamic_lookup'];
  // All symbols are looked up at once, so that one that is missing fails the check and not the first message. The same
  // sources give the same bytes.
  flags.push('-Wl,-z,now', '-Wl,--gc-sections', '-Wl,--exclude-libs,ALL', '-Wl,--build-id=none');
  if (library !== undefined)
    flags.push('-DHAS_CRYPTO_MB', '-DBN_OPENSSL_DISABLE', '-isystem', library.includeFolder);
  return flags;
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
  console.error(`This Node came without its headers; taking them from the npm package ${name}.`);
  return fetchInto(fetchedHeaders, (workspace) => {
    const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--prefer-offline'];
    run('npm', ['install', '--prefix', workspace, ...options, name]);
    return join(workspace, 'node_modules', binaryPackage, 'include/node');
  });
}

/** The multi-buffer library, fetched where it is not here yet; `undefined`, with a word why, where it cannot be had. */
export function findOrFetchLibrary(): MultiBufferLibrary | undefined {
  if (describePlatform() !== 'linux-x64') return undefined;
  try {
    if (!existsSync(fetchedLibrary)) fetchLibrary();
  } catch (error) {
    console.error(`Building without the multi-buffer library: ${(error as Error).message}`);
    return undefined;
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

function fetchLibrary(): void {
  fetchInto(fetchedLibrary, (workspace) => {
    const wheels = join(workspace, 'wheels');
    const options = [
      '--quiet',
      '--disable-pip-version-check',
      '--no-deps',
      '--only-binary=:all:',
      '--require-hashes',
    ];
    const requirements = ['-r', join(native, 'requirements.txt')];
    run('python3', ['-m', 'pip', 'download', ...options, ...requirements, '--dest', wheels]);
    const contents = join(workspace, 'contents');
    for (const wheel of globSync('*.whl', { cwd: wheels })) {
      run('python3', ['-m', 'zipfile', '-e', join(wheels, wheel), contents]);
    }
    return contents;
  });
}

function moveInto(folder: string, fetched: string): void {
  try {
    renameSync(fetched, folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
}

/** Lets `fetch` fill a temporary folder, and moves what it returns to its place in one step, unless another build was faster. */
function fetchInto(folder: string, fetch: (workspace: string) => string): string {
  mkdirSync(dirname(folder), { recursive: true });
  const workspace = mkdtempSync(`${folder}-`);
  try {
    moveInto(folder, fetch(workspace));
    return folder;
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

function run(command: string, parameters: readonly string[]): void {
  // The standard output of `npm pack --json` is for what it packs.
  const { status, error } = spawnSync(command, parameters, { stdio: ['inherit', 2, 'inherit'] });
  if (status !== 0) throw new Error(`${command} failed${error === undefined ? '' : `: ${error.message}`}.`);
}
