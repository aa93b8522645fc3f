// Folders in the home directory for what later runs in a process: compiled code, and verdicts on addons. Whoever can
// write to such a folder, or put another in its place, could have code of theirs run.
import { lstatSync, mkdirSync, realpathSync, statSync, type Stats } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Makes a folder below `~/.cache/deskbell` that no other user can change.
 *
 * @param name of a folder in it
 * @returns `undefined` without a usable home: containers have users without one, and root may have somebody else's, where
 *   a link would have root write to any file
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

/** No other user can replace this folder or one above it; links are followed by now. */
function isProtected(folder: string): boolean {
  const above = dirname(folder);
  const { uid, mode } = statSync(folder);
  const isSafe = process.getuid === undefined || uid === 0 || uid === process.getuid();
  // in a folder such as /tmp, only the owner of a folder replaces it
  const isOpen = (mode & 0o022) !== 0 && (mode & 0o1000) === 0 && process.getuid !== undefined;
  return isSafe && !isOpen && (above === folder || isProtected(above));
}

/** Windows, which has no such numbers, keeps others out of a home by itself. */
function belongsToUs({ uid, mode }: Stats): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
}
