// Fetches what the accelerator is built of and tried with, each once, into a folder of build/.
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../repository.ts';

/** Lets `fetch` fill a temporary folder, and moves what it returns to its place in one step, unless another build was faster. */
export function fetchInto(folder: string, fetch: (workspace: string) => string): string {
  mkdirSync(dirname(folder), { recursive: true });
  const workspace = mkdtempSync(`${folder}-`);
  try {
    moveInto(folder, fetch(workspace));
    return folder;
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

function moveInto(folder: string, fetched: string): void {
  try {
    renameSync(fetched, folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
}

/**
 * Downloads the wheels that a file of native/ pins, and unpacks them.
 *
 * @param platform as pip names it; by default this machine
 * @returns the folder in the workspace that holds their contents
 */
export function unpackWheels(workspace: string, requirements: string, platform?: string): string {
  const wheels = join(workspace, 'wheels');
  const options = [
    '--quiet',
    '--disable-pip-version-check',
    '--no-deps',
    '--only-binary=:all:',
    '--require-hashes',
    ...(platform === undefined ? [] : ['--platform', platform]),
  ];
  const pinned = ['-r', join(root, 'native', requirements)];
  run('python3', ['-m', 'pip', 'download', ...options, ...pinned, '--dest', wheels]);
  const contents = join(workspace, 'contents');
  for (const wheel of globSync('*.whl', { cwd: wheels })) {
    run('python3', ['-m', 'zipfile', '-e', join(wheels, wheel), contents]);
  }
  return contents;
}

/** @throws {Error} it cannot be started, or fails; what it says of that is on the standard error */
export function run(
  command: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): void {
  const { status, error } = spawnSync(command, parameters, {
    // the standard output of `npm pack --json` is for what it packs
    stdio: ['inherit', 2, 'inherit'],
    env: { ...process.env, ...environment },
  });
  if (status !== 0) throw new Error(`${command} failed${error === undefined ? '' : `: ${error.message}`}.`);
}
