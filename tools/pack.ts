// The packed package, for tests of what is published. It is built once in a run.
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeOnce } from './make-once.ts';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..');

const runScript = (path: string, words: readonly string[] = [], env = process.env) =>
  execute(process.execPath, [join(root, path), ...words], { env });

/**
 * Packs as `npm pack` does.
 *
 * @returns path of the tarball
 */
export async function pack(): Promise<string> {
  await build();
  await buildAccelerator();
  const folder = await makeOnce('package', async (destination) => {
    // it needs no npm: that of Debian 13 knows no SBOM
    await runScript('scripts/describe-dependencies.ts', [], {});
    const words = ['pack', '--silent', '--ignore-scripts', '--pack-destination', destination];
    await execute('npm', words, { cwd: root });
  });
  return join(folder, readdirSync(folder)[0]!);
}

/** Builds dist/, for tests that import the package by its name. */
export async function build(): Promise<void> {
  await makeOnce('dist', async () => void (await runScript('scripts/build.ts')));
}

/** Builds it into prebuilds/; if it cannot be built, Node's builtins encrypt, which takes longer. */
export async function buildAccelerator(): Promise<void> {
  await makeOnce(
    'accelerator',
    async () => void (await runScript('scripts/build-accelerator.ts', ['--optional'])),
  );
}
