// Small files that only their owner can read. A crash while writing leaves either the old file or the new one.
import { randomBytes } from 'node:crypto';
import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DeskbellError } from '../errors/deskbell-error.ts';

const ownerOnly = 0o600;
/** About a hundred times the size of the largest private file. */
const maxFileBytes = 16_384;

/**
 * Writes a file under a temporary name, syncs it, and renames it in one step.
 *
 * @param options `replace`: replace an existing file
 * @returns false if the file exists and `replace` is off
 * @throws {DeskbellError} ERR_FILE, ERR_DATA_EXPOSED, ERR_DATA_OWNER
 */
export async function writePrivateFile(
  path: string,
  text: string,
  options: { readonly replace: boolean },
): Promise<boolean> {
  assertDirectoryIsProtected(dirname(path));
  return createPrivateFile(path, (temporary) => writeFile(temporary, text), options);
}

/**
 * Like `writePrivateFile`, but `fill` writes the content to the temporary path.
 *
 * @throws {DeskbellError} ERR_FILE, and errors that `fill` throws
 */
export async function createPrivateFile(
  path: string,
  fill: (temporary: string) => Promise<void>,
  options: { readonly replace: boolean },
): Promise<boolean> {
  try {
    return await createWhole(path, fill, options);
  } catch (cause) {
    if (cause instanceof DeskbellError) throw cause;
    throw new DeskbellError('ERR_FILE', `${path} cannot be written`, { cause });
  }
}

export async function createWhole(
  path: string,
  fill: (temporary: string) => Promise<void>,
  options: { readonly replace: boolean },
): Promise<boolean> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  const file = await open(temporary, 'wx', ownerOnly);
  try {
    await fill(temporary);
    await file.sync();
    await file.close();
    if (options.replace) await rename(temporary, path);
    else if (!(await linkUnlessThere(temporary, path))) return false;
    await syncDirectory(dirname(path));
    return true;
  } finally {
    await file.close();
    await rm(temporary, { force: true });
  }
}

/** Removes the file, if it exists. @throws {DeskbellError} ERR_FILE */
export async function removePrivateFile(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
    await syncDirectory(dirname(path));
  } catch (cause) {
    throw new DeskbellError('ERR_FILE', `${path} cannot be removed`, { cause });
  }
}

/**
 * Reads a file after checking its owner and permissions.
 *
 * @param advice what to do if the file is not usable; ends the error message
 * @returns `undefined` if there is no file
 * @throws {DeskbellError} ERR_KEY_FILE_EXPOSED if group or others have access to it, ERR_DATA_EXPOSED if they can
 *   replace it, ERR_DATA_OWNER if another user owns it, ERR_KEY_FILE_CORRUPT if it is not a regular file or is too
 *   large, ERR_FILE if it cannot be read
 */
export async function readPrivateFile(path: string, advice: string): Promise<string | undefined> {
  assertDirectoryIsProtected(dirname(path));
  const file = await openUnlessMissing(path, advice);
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw notRegular(path, fileKind(stats), advice);
    assertOwned(path, stats);
    if (isOpenToOthers(path, stats)) {
      throw new DeskbellError(
        'ERR_KEY_FILE_EXPOSED',
        `The key file ${path} has mode ${formatMode(stats)}, so that others on this machine can use it; it must be 0600.`,
      );
    }
    if (stats.size > maxFileBytes) {
      const reason = `it has ${stats.size} bytes; at most ${maxFileBytes} are read.`;
      throw unusableError(path, reason, advice);
    }
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Opens with O_NONBLOCK, because opening a FIFO would otherwise wait for a writer. */
async function openUnlessMissing(path: string, advice: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (hasCode(error, 'ENXIO') || hasCode(error, 'EOPNOTSUPP'))
      throw notRegular(path, 'a socket or a device', advice);
    const detail = `The key file ${path} cannot be read: check its owner and permissions.`;
    throw new DeskbellError('ERR_FILE', detail, { cause: error });
  }
}

/** Uses `link`, which fails if the name is taken. With `rename`, two first runs at the same time could both succeed. */
export async function linkUnlessThere(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Syncs the directory, because a power failure could otherwise lose the new file name. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

export function unusableError(path: string, reason: string, advice: string, cause?: Error): DeskbellError {
  const detail = `The key file ${path} cannot be used: ${reason} ${advice}`;
  return new DeskbellError('ERR_KEY_FILE_CORRUPT', detail, { cause });
}

function notRegular(path: string, kind: string, advice: string): DeskbellError {
  return unusableError(path, `it is ${kind}, and must be a regular file.`, advice);
}

function hasCode(error: unknown, code: string): boolean {
  return Error.isError(error) && 'code' in error && error.code === code;
}

const groupAndOthers = 0o077;
const writeByGroupOrOthers = 0o022;
const group = 0o070;

const directoriesOfGroups = new Set<string>();

/** Accepts group access to a directory from now on. Kubernetes grants it (`fsGroup`) each time a pod starts. */
export function allowGroupAccess(directory: string): void {
  directoriesOfGroups.add(resolve(directory));
}

const rightsToRefuse = (rights: number, directory: string): number =>
  directoriesOfGroups.has(resolve(directory)) ? rights & ~group : rights;

/** True if group or others have access although they should not. Always false on Windows, which has no file modes. */
export function isOpenToOthers(path: string, { mode }: Pick<Stats, 'mode'>): boolean {
  return (mode & rightsToRefuse(groupAndOthers, dirname(path))) !== 0 && process.platform !== 'win32';
}

/** Formats the mode as `chmod` takes it, such as `0644`. */
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
 * Checks that this user or root owns the file, because an owner can always change the file.
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
