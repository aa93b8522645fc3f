// The folders in which a test file, or a whole run of them, keeps what it writes: nothing stays in those of the system.
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fastFolder, fastFolderVariable } from './fast-folder.ts';

/**
 * From now on, this process and those that it starts have a temporary folder and a fast one of their own, until it ends.
 *
 * @param onLeft is told, at the end, what is left in them
 */
export function useOwnFolders(name: string, onLeft: (left: readonly string[]) => void = () => {}): void {
  const folders = [tmpdir(), fastFolder()].map((parent) => mkdtempSync(join(parent, `${name}-`)));
  // PostgreSQL runs as a user of its own
  for (const folder of folders) chmodSync(folder, 0o755);
  [process.env['TMPDIR'], process.env[fastFolderVariable]] = folders;
  process.on('exit', () => {
    const left = folders.flatMap((folder) => readdirSync(folder));
    if (left.length > 0) onLeft(left);
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
}
