// The packed package, for tests of what is published.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..');
/** Where `npm test` has put it, so that it is built and packed once for all test files. The command takes DESKBELL_… for settings. */
const variable = 'TEST_PACKAGE_FILE';

/**
 * Packs as `npm pack` does, but builds no accelerator: one that is there is packed.
 *
 * @returns path of the tarball, in `destination` unless all test files share one
 */
export async function pack(destination: string): Promise<string> {
  const shared = process.env[variable];
  if (shared !== undefined) return shared;
  await build();
  // it needs no npm: that of Debian 13 knows no SBOM
  await execute(process.execPath, [join(root, 'scripts/describe-dependencies.ts')], { env: {} });
  const words = ['pack', '--silent', '--ignore-scripts', '--pack-destination', destination];
  return join(destination, (await execute('npm', words, { cwd: root })).stdout.trim());
}

/** Builds dist/, for tests that import the package by its name, unless that was done for all test files. */
export async function build(): Promise<void> {
  if (process.env[variable] === undefined) await execute(process.execPath, [join(root, 'scripts/build.ts')]);
}

/** From now on all test files that this process starts take the package from `destination`. */
export async function shareTestPackage(destination: string): Promise<void> {
  process.env[variable] = await pack(destination);
}
