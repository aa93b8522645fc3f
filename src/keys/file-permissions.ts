// Checks who else on this machine can read or change files with secrets.
import { accessSync, constants, statSync, type Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DeskbellError } from '../errors/deskbell-error.ts';

const groupAndOthers = 0o077;
const writeByGroupOrOthers = 0o022;
const group = 0o070;

const directoriesOfGroups = new Set<string>();

/** Lets the group of a directory use its files from now on: Kubernetes' `fsGroup` grants these rights at each start. */
export function allowGroupAccess(directory: string): void {
  directoriesOfGroups.add(resolve(directory));
}

const rightsToRefuse = (rights: number, directory: string): number =>
  directoriesOfGroups.has(resolve(directory)) ? rights & ~group : rights;

/** True if group or others have a right to the file that they should not have. Windows has no file modes. */
export function isOpenToOthers(path: string, { mode }: Pick<Stats, 'mode'>): boolean {
  return (mode & rightsToRefuse(groupAndOthers, dirname(path))) !== 0 && process.platform !== 'win32';
}

/** Octal, as for `chmod`: `0644`. */
export function formatMode({ mode }: Pick<Stats, 'mode'>): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

export function fileKind(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

/**
 * Checks that this user or root owns the file, since an owner can change it whatever its mode is.
 *
 * @throws {DeskbellError} ERR_DATA_OWNER
 */
export function assertOwned(path: string, { uid }: Pick<Stats, 'uid'>): void {
  const self = process.geteuid?.();
  if (self === undefined || uid === self || uid === 0) return;
  throw new DeskbellError(
    'ERR_DATA_OWNER',
    `${path} belongs to the user ${uid}, who can read and replace what is in it, and this process runs as the user ${self}`,
  );
}

/** True if the file system is mounted read-only. */
export function isOnReadOnlyDisk(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}

/**
 * Checks that no other user can replace files in the directory. A directory that does not exist passes.
 *
 * @throws {DeskbellError} ERR_DATA_EXPOSED, ERR_DATA_OWNER
 */
export function assertDirectoryIsProtected(directory: string): void {
  const stats = statSync(directory, { throwIfNoEntry: false });
  if (stats === undefined || process.platform === 'win32') return;
  assertOwned(directory, stats);
  if ((stats.mode & rightsToRefuse(writeByGroupOrOthers, directory)) === 0) return;
  throw new DeskbellError(
    'ERR_DATA_EXPOSED',
    `The directory ${directory} has mode ${formatMode(stats)}, so that others on this machine can replace the keys and ` +
      'subscriptions in it; take that right away (chmod go-w), or use a directory inside it.',
  );
}
