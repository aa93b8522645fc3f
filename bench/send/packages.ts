// Deskbell as it is installed, in two folders: with the accelerator and without. They are copies, so that nothing that
// is built meanwhile gets into the measurement.
import { spawnSync } from 'node:child_process';
import { copyFile, cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { addonFile } from '../../src/accelerator/addon.ts';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';

const root = join(import.meta.dirname, '../..');

export interface Packages {
  readonly builtin: string;
  /** Absent where the accelerator cannot be built. */
  readonly accelerated?: string;
}

export async function installPackages(folder: string): Promise<Packages> {
  build('build');
  const builtin = join(folder, 'builtin');
  await install(builtin);
  if (loadAccelerator().method === 'builtin') build('build-accelerator');
  if (loadAccelerator().method === 'builtin') return { builtin };
  const accelerated = join(folder, 'accelerated');
  await install(accelerated);
  const copy = join(accelerated, relative(root, addonFile()));
  await mkdir(dirname(copy), { recursive: true });
  await copyFile(addonFile(), copy);
  return { builtin, accelerated };
}

/** As it stands in node_modules. */
export async function versionOf(name: string): Promise<string> {
  const text = await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function build(script: string): void {
  const { status } = spawnSync(process.execPath, [join(root, `scripts/${script}.ts`)], { stdio: 'inherit' });
  if (status !== 0 && script === 'build') throw new Error('The package cannot be built.');
}

async function install(folder: string): Promise<void> {
  await mkdir(folder);
  await cp(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  await copyFile(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
}
