// Compiles the accelerator: for this machine with its own compiler, for the others with Zig's.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describePlatform } from '../../src/accelerator/addon.ts';
import { run } from './fetch.ts';
import { findOrFetchZig } from './inputs.ts';
import { root } from '../repository.ts';

const native = join(root, 'native');

/**
 * What a release has an accelerator for, and what Zig calls it. Node 24 asks for glibc 2.28. Each is tried on its platform or on
 * what stands in for it (other-machines.ts): what nobody has run is not published.
 */
const zigTargets = {
  'linux-x64-glibc': 'x86_64-linux-gnu.2.28',
  'linux-x64-musl': 'x86_64-linux-musl',
  'linux-arm64-glibc': 'aarch64-linux-gnu.2.28',
  'linux-arm64-musl': 'aarch64-linux-musl',
} as const;
export type ReleasePlatform = keyof typeof zigTargets;
export const releasePlatforms = Object.keys(zigTargets) as readonly ReleasePlatform[];

/**
 * Compiles the addon with this machine's compiler.
 *
 * @param headers the folder that holds node_api.h and openssl/
 * @param flags for the compiler, beside the usual ones
 * @throws {Error} there is no compiler, or it fails
 */
export function compileAccelerator(file: string, headers: string, flags: readonly string[] = []): void {
  const compiler = findCompiler();
  if (compiler === undefined) {
    throw new Error(
      'There is no C compiler (cc, gcc or clang; CC names another one). Without the accelerator Deskbell encrypts with Node’s builtins.',
    );
  }
  run(compiler, [...compilerFlags(describePlatform(), headers), '-s', ...flags, '-o', file]);
}

/** The same for a platform of a release, with Zig's compiler. A test wants it with its symbols, which change no instruction. */
export function compileFor(
  platform: ReleasePlatform,
  file: string,
  headers: string,
  flags: readonly string[] = ['-s'],
): void {
  const target = ['cc', '-target', zigTargets[platform]];
  // one of its own, so that equal builds are equal by what they do
  const cache = join(dirname(file), 'zig-cache');
  run(findOrFetchZig(), [...target, ...compilerFlags(platform, headers), ...flags, '-o', file], {
    ZIG_LOCAL_CACHE_DIR: cache,
    ZIG_GLOBAL_CACHE_DIR: cache,
  });
}

function compilerFlags(platform: string, headers: string): string[] {
  const flags = ['-std=c11', '-O2', '-Wall', '-Wextra', '-Werror', '-fPIC', '-fvisibility=hidden', '-shared'];
  flags.push('-DNAPI_VERSION=8', '-ffunction-sections', '-fdata-sections', `-ffile-prefix-map=${root}=.`);
  // The linker need not find Node's symbols: the addon finds them when Node loads it.
  if (platform.startsWith('darwin')) flags.push('-undefined', 'dynamic_lookup');
  else {
    // All symbols are looked up at once, so that one that is missing fails the check and not the first message. The same
    // sources give the same bytes.
    flags.push('-Wl,-z,now', '-Wl,--gc-sections', '-Wl,--build-id=none');
    flags.push(`-Wl,--version-script=${join(native, 'exports.map')}`);
  }
  const sources = globSync('*.c', { cwd: native })
    .sort()
    .map((name) => join(native, name));
  return [...flags, '-isystem', headers, ...sources];
}

function findCompiler(): string | undefined {
  const candidates = [process.env['CC'], 'cc', 'gcc', 'clang'].filter((name) => name !== undefined);
  return candidates.find((name) => spawnSync(name, ['--version']).status === 0);
}
