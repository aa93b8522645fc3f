// A backup is one file: a copy of the database, with an additional table for the files that were beside it. Without
// such files, it is the same as a database in a data directory.
import { DatabaseSync, backup } from 'node:sqlite';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { assertWhole, readWriteUrl, immutableUrl, withDatabase } from './inspect-database.ts';
import { assertComplete, assertOurs, readVersion } from './open-database-file.ts';
import { isShmFull, toStoreError } from './database-errors.ts';

export interface BackupFile {
  readonly name: string;
  readonly content: Uint8Array;
}

/** After this many pages, about 16 MiB, the copy can be stopped. */
const pagesPerStep = 4096;

/**
 * Copies a consistent snapshot of a database. Readers and writers do not have to wait.
 *
 * @param to an empty file
 * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_COPY_UNFINISHED
 * @throws `stop.reason` if `stop` is aborted
 */
export async function copyDatabase(from: string, to: string, stop?: AbortSignal): Promise<void> {
  const copyWith = (lockingMode: 'normal' | 'exclusive') => copy(from, to, lockingMode, stop);
  try {
    await copyWith('normal').catch((error: unknown) => {
      // SQLite's shared memory is a file. If the disk has no space for it, only an exclusive connection can read.
      if (isShmFull(error)) return copyWith('exclusive');
      throw error;
    });
  } catch (error) {
    throw toStoreError(error, from);
  }
}

async function copy(
  from: string,
  to: string,
  lockingMode: 'normal' | 'exclusive',
  stop: AbortSignal | undefined,
): Promise<void> {
  // a read-only connection would leave SQLite's side files behind
  const database = new DatabaseSync(readWriteUrl(from));
  try {
    // without a transaction, the copy would begin again when another process has written between two steps
    database.exec(`pragma locking_mode = ${lockingMode}; begin`);
    assertComplete(database, from);
    await backup(database, to, { rate: pagesPerStep, progress: () => stop?.throwIfAborted() });
    stop?.throwIfAborted();
  } finally {
    database.close();
  }
}

/**
 * Turns a copy of a database into a backup: adds the other files, and checks the result, which is a single file.
 *
 * @throws {DeskbellError}
 */
export function completeBackup(path: string, files: readonly BackupFile[]): void {
  withDatabase(readWriteUrl(path), path, (database) => {
    database.exec('pragma journal_mode = delete');
    assertWhole(database, path);
    if (files.length === 0) return;
    database.exec(`
      begin;
      create table backup_files (name text primary key, content blob not null) strict, without rowid;
    `);
    const insert = database.prepare('insert into backup_files (name, content) values (?, ?)');
    for (const { name, content } of files) insert.run(name, content);
    database.exec('commit');
  });
}

/**
 * Checks that a file is an undamaged Deskbell database that this version can use.
 *
 * @throws {DeskbellError} ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW, ERR_STORE_UNAVAILABLE
 */
export function checkBackup(path: string): void {
  try {
    withDatabase(immutableUrl(path), path, (database) => {
      assertOurs(database, path);
      if (readVersion(database, path) === 0) {
        throw new DeskbellError('ERR_STORE_CORRUPT', `The file ${path} is an empty database.`);
      }
      assertWhole(database, path);
    });
  } catch (error) {
    if (!(error instanceof DeskbellError) || error.code !== 'ERR_STORE_CORRUPT') throw error;
    const remedy = 'Give a file that `deskbell backup` wrote; if this is one, give another.';
    throw new DeskbellError(error.code, error.message, { cause: error.cause, remedy });
  }
}

/**
 * Takes all files but the database out of a copy of a backup, leaving no trace, and compacts the copy.
 *
 * @throws {DeskbellError}
 */
export function takeBackupFiles(path: string): readonly BackupFile[] {
  return withDatabase(readWriteUrl(path), path, (database) => {
    const files = takeFiles(database);
    database.exec('pragma auto_vacuum = incremental; vacuum');
    return files;
  });
}

function takeFiles(database: DatabaseSync): readonly BackupFile[] {
  const isThere = database.prepare("select 1 from sqlite_schema where name = 'backup_files'").get();
  if (isThere === undefined) return [];
  const rows = database.prepare('select name, content from backup_files order by name').all();
  // use secure deletion, because freed pages would keep their content
  database.exec('pragma secure_delete = on; drop table backup_files');
  return rows.map(({ name, content }) => ({ name: String(name), content: content as Uint8Array }));
}
