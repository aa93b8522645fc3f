// Cache folders in the home directory, for compiled code and the results of addon checks. The process later runs what
// they contain, so nobody else may write to such a folder or replace it.
import { lstatSync, mkdirSync, realpathSync, statSync, type Stats } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Makes a folder below `~/.cache/deskbell` that no other user can change.
 *
 * @param name subfolder; by default `~/.cache/deskbell` itself
 * @returns `undefined` if the home directory is missing, as in some containers, or belongs to another user, who could
 *   use a link to make root write to any file
 */
export function ownCacheFolder(name = ''): string | undefined {
  try {
    const home = homedir();
    const folder = join(home, '.cache', 'deskbell', name);
    if (!belongsToUs(statSync(home))) return undefined;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return belongsToUs(lstatSync(folder)) && isProtected(realpathSync(folder)) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** True if no other user can replace this folder or one above it. Expects a path without links. */
function isProtected(folder: string): boolean {
  const above = dirname(folder);
  const { uid, mode } = statSync(folder);
  const isSafe = process.getuid === undefined || uid === 0 || uid === process.getuid();
  // if the sticky bit is set, as in /tmp, only the owner of a folder can replace it
  const isOpen = (mode & 0o022) !== 0 && (mode & 0o1000) === 0 && process.getuid !== undefined;
  return isSafe && !isOpen && (above === folder || isProtected(above));
}

/** True if only we may write to the folder. Always true on Windows, which protects home directories itself. */
function belongsToUs({ uid, mode }: Stats): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
}
