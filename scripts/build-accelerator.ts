// Builds the native accelerator for this machine with its own C compiler, or those of a release, on linux-x64, with Zig's:
//   npm run build:accelerator [-- --headers DIR] [--optional | --release]
// Node's headers are taken from where this Node is installed; where it came without them, from the npm package of the
// same version; pip downloads Zig at a pinned version and hash. An addon for this machine is loaded and checked before it takes its
// place; those for others are tried by `npm run check:release`. With `--optional`, as before packing, a failure is reported and the exit
// code is 0.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { addonFile, addonName, describePlatform } from '../src/accelerator/addon.ts';
import type { EncryptionMethod } from '../src/accelerator/encryption-methods.ts';
import { loadAccelerator } from '../src/accelerator/load-accelerator.ts';
import { compileAccelerator, compileFor, releasePlatforms } from './accelerator/compile.ts';
import { findOrFetchHeaders } from './accelerator/inputs.ts';
import { readOptions } from './read-options.ts';

if (import.meta.main) {
  const { values } = readOptions({
    options: {
      headers: { type: 'string' },
      optional: { type: 'boolean', default: false },
      release: { type: 'boolean', default: false },
    },
  });
  // `npm publish` packs what `prepublishOnly` has built and tried
  const isBuilt = values.optional && process.env['npm_command'] === 'publish';
  if (values.release) buildRelease(join(import.meta.dirname, '../prebuilds'));
  else if (!isBuilt) buildForHere(values);
}

function buildForHere({ headers, optional }: { headers?: string; optional: boolean }): void {
  const file = addonFile();
  try {
    const method = buildAccelerator(file, headers ?? findOrFetchHeaders());
    report(file, `method here: ${method}`);
  } catch (error) {
    console.error(`The accelerator was not built: ${(error as Error).message}`);
    // one of earlier sources must not be packed
    rmSync(file, { force: true });
    process.exitCode = optional ? 0 : 1;
  }
}

/**
 * Compiles, checks, and puts the addon in its place.
 *
 * @param file where it is to stand
 * @param headers the folder that holds node_api.h and openssl/
 * @param flags for the compiler, beside the usual ones
 * @returns the method that it offers on this machine
 * @throws {Error} there is no compiler, it fails, or the addon fails its check
 */
export function buildAccelerator(
  file: string,
  headers: string,
  flags: readonly string[] = [],
): EncryptionMethod {
  let found: EncryptionMethod = 'builtin';
  buildInto(file, (made) => {
    compileAccelerator(made, headers, flags);
    found = check(made);
  });
  return found;
}

/**
 * Builds what a release has, and nothing else: what stands in the folder is removed.
 *
 * @throws {Error} one cannot be built, or the one for this machine fails its check
 */
export function buildRelease(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  const headers = findOrFetchHeaders();
  for (const platform of releasePlatforms) {
    const file = join(folder, platform, addonName());
    buildInto(file, (made) => {
      compileFor(platform, made, headers);
      if (platform === describePlatform()) check(made);
    });
    report(file, `${statSync(file).size} bytes`);
  }
}

function buildInto(file: string, build: (made: string) => void): void {
  mkdirSync(dirname(file), { recursive: true });
  const workspace = mkdtempSync(join(dirname(file), 'building-'));
  try {
    const made = join(workspace, 'accelerator.node');
    build(made);
    renameSync(made, file);
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

function check(file: string): EncryptionMethod {
  const { method, reason } = loadAccelerator({ file, cacheFolder: dirname(file) });
  if (reason !== undefined) throw new Error(reason);
  return method;
}

function report(file: string, more: string): void {
  const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
  console.error(`Built ${file}`);
  console.error(`sha256 ${hash}, ${more}`);
}
