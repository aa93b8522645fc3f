// Turns SQLite's result codes into Deskbell's errors.
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { DiskFullError } from '../database-content.ts';
import { isOnReadOnlyDisk } from '../../keys/private-file.ts';

// https://sqlite.org/rescode.html: the primary code is the low byte
const primaryCodeMask = 0xff;
const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_CONSTRAINT = 19;
const SQLITE_NOTADB = 26;
/** Extended code: the index of the log, which is in shared memory, could not grow. */
const SQLITE_IOERR_SHMSIZE = 4874;

/** In Deno, errors of `exec` have no code, only this text (sqlite3_errstr). */
const codesOfTexts: ReadonlyMap<string, number> = new Map([
  ['database is locked', SQLITE_BUSY],
  ['attempt to write a readonly database', SQLITE_READONLY],
  ['disk I/O error', SQLITE_IOERR],
  ['database disk image is malformed', SQLITE_CORRUPT],
  ['database or disk is full', SQLITE_FULL],
  ['unable to open database file', SQLITE_CANTOPEN],
  ['file is not a database', SQLITE_NOTADB],
]);

function extendedCode(error: unknown): number | undefined {
  if (!Error.isError(error)) return undefined;
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode;
  return codesOfTexts.get(error.message);
}

function primaryCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & primaryCodeMask;
}

/** True if another process holds the write lock. The same statement may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === SQLITE_BUSY;
}

/** True if the disk has no space for the log's index, without which a database in use cannot even be read. */
export const isShmFull = (error: unknown): boolean => extendedCode(error) === SQLITE_IOERR_SHMSIZE;

/** Converts an error of SQLite to Deskbell's, with the original as its cause. Returns other errors unchanged. */
export function toStoreError(error: unknown, path: string): unknown {
  const cause = error;
  const unavailable = (detail: string) =>
    new DeskbellError('ERR_STORE_UNAVAILABLE', `The database ${path} ${detail}.`, { cause });
  switch (primaryCode(error)) {
    case undefined:
      return error;
    case SQLITE_CORRUPT:
      return new DeskbellError('ERR_STORE_CORRUPT', `The database ${path} is damaged.`, { cause });
    case SQLITE_NOTADB:
      return new DeskbellError('ERR_STORE_CORRUPT', `The file ${path} is not a database.`, { cause });
    case SQLITE_CONSTRAINT:
      return new DeskbellError('ERR_FIELD_VALUE', `The row was not stored: ${messageOf(error)}.`, { cause });
    case SQLITE_BUSY:
      return unavailable('is locked by another process');
    case SQLITE_READONLY:
      return unavailable(`cannot be written: ${hindranceOf(path)}`);
    case SQLITE_CANTOPEN:
      return unavailable(`cannot be opened: ${hindranceOf(path)}`);
    case SQLITE_FULL:
      return new DiskFullError(path, error);
    case SQLITE_IOERR:
      if (isShmFull(error)) return new DiskFullError(path, error);
      return unavailable(
        isOnReadOnlyDisk(dirname(path))
          ? `cannot be written: ${hindranceOf(path)}`
          : 'cannot be read or written: the disk reported a fault',
      );
    default:
      return unavailable(`failed (${messageOf(error)})`);
  }
}

/** Finds out why a database cannot be opened or written. SQLite's error does not say. */
export function hindranceOf(path: string): string {
  const folder = dirname(path);
  if (!existsSync(folder)) return 'its folder is missing';
  if (isOnReadOnlyDisk(folder)) return 'its file system is read-only';
  return 'check the owner and rights of the file and its folder, and of the -wal and -shm beside it';
}

/** SQLite's messages name tables, columns and types, but never values. */
function messageOf(error: unknown): string {
  return Error.isError(error) ? error.message : String(error);
}
