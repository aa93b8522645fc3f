// Opens a database file: creates it if it does not exist, refuses files of other programs, and migrates it to the
// newest schema.
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import {
  assertDirectoryIsProtected,
  assertOwned,
  createWhole,
  fileKind,
  formatMode,
  isOpenToOthers,
} from '../../keys/private-file.ts';
import { checkVersion, migrationsAfter, unfinishedCopy, unfinishedCopyError } from '../database-content.ts';
import { hindranceOf, isBusy, toStoreError } from './database-errors.ts';
import { migrations, schema, schemaVersion } from './migrations.ts';

/** Refuses special files: opening a FIFO would wait. @throws {DeskbellError} ERR_STORE_CORRUPT */
export function assertRegular(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile()) return;
  throw new DeskbellError('ERR_STORE_CORRUPT', `${file} is ${fileKind(stats)}, and must be a regular file.`);
}

/**
 * Checks that nobody else can read the file, because endpoint and `auth` are enough to send to a subscription.
 *
 * @throws {DeskbellError} ERR_DATA_EXPOSED, ERR_DATA_OWNER
 */
export function assertPrivate(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return;
  assertOwned(file, stats);
  if (!isOpenToOthers(file, stats)) return;
  throw new DeskbellError(
    'ERR_DATA_EXPOSED',
    `The database file ${file} has mode ${formatMode(stats)}, so that others on this machine can use it; it must be 0600.`,
  );
}

/** Refuses a file of zero bytes: for SQLite, it is an empty database. @throws {DeskbellError} ERR_STORE_CORRUPT */
export function assertNotEmpty(file: string): void {
  if (statSync(file).size > 0) return;
  throw new DeskbellError(
    'ERR_STORE_CORRUPT',
    `The database ${file} has zero bytes: it was emptied, and its subscriptions are lost. Restore it from a backup; ` +
      'to begin with an empty database, delete the file.',
  );
}

// "Desk" in ASCII: distinguishes our files from those of other programs
const applicationId = 0x4465736b;

// SQLite blocks the thread while it waits for a lock, so its wait is short. Our own longer waits do not block.
const busyTimeoutMs = 20;

const migrationTimeoutMs = 10_000;

/**
 * Opens the database in WAL mode with a sync at every commit, so that acknowledged writes survive a power failure.
 *
 * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD,
 *   ERR_DATA_EXPOSED, ERR_COPY_UNFINISHED
 */
export async function openDatabaseFile(path: string): Promise<DatabaseSync> {
  const startedAtMs = Date.now();
  for (;;) {
    try {
      return await open(path);
    } catch (error) {
      // two processes are opening a new file at once, and the other one is creating the database
      if (!isBusy(error) || Date.now() - startedAtMs > migrationTimeoutMs) throw toStoreError(error, path);
      await sleep(10 + Math.random() * 40);
    }
  }
}

async function open(path: string): Promise<DatabaseSync> {
  assertDirectoryIsProtected(dirname(path));
  await createIfMissing(path);
  assertRegular(path);
  assertNotEmpty(path);
  // check the side files first, because opening the database gives them the database's mode
  for (const sideFile of [`${path}-wal`, `${path}-shm`]) {
    assertRegular(sideFile);
    assertPrivate(sideFile);
  }
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  try {
    assertOurs(database, path);
    assertPrivate(path);
    database.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      -- what is deleted or changed is overwritten in pages that are written anyway
      pragma secure_delete = fast;
      pragma journal_size_limit = ${64 * 1024 * 1024};
    `);
    migrate(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Creates the database under a temporary name, and gives it the final name when it is complete. So a file of zero bytes
 * is never a database that is being created: it was emptied. Only the owner may read the file, because anyone who knows
 * endpoint and `auth` can send to a subscription. SQLite gives its side files the same mode.
 */
async function createIfMissing(path: string): Promise<void> {
  // look for the log before the database, because another process may create both in the meantime
  const hasLog = existsSync(`${path}-wal`);
  if (existsSync(path)) return;
  if (hasLog) {
    throw new DeskbellError(
      'ERR_STORE_CORRUPT',
      `The database ${path} is missing, but its log ${path}-wal is there. Restore both from a backup; ` +
        'to begin with an empty database, delete the log.',
    );
  }
  const fill = async (temporary: string): Promise<void> => {
    const database = new DatabaseSync(temporary);
    try {
      // set this before the first table is created, so that freed space can later be returned to the disk
      database.exec('pragma auto_vacuum = incremental');
      migrate(database, path);
    } finally {
      database.close();
    }
  };
  try {
    // if two processes create the database at once, one of them succeeds
    await createWhole(path, fill, { replace: false });
  } catch (cause) {
    if (!(Error.isError(cause) && 'syscall' in cause)) throw cause;
    throw new DeskbellError(
      'ERR_STORE_UNAVAILABLE',
      `The database ${path} cannot be created: ${isFull(cause) ? 'the disk is full' : hindranceOf(path)}.`,
      { cause },
    );
  }
}

const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');

/**
 * Fails if the file is read-only; `begin immediate` alone would succeed. The table must have no trigger that inserts
 * rows: if the statement named `subscriptions`, SQLite would add rows to `sqlite_sequence` although nothing is deleted.
 */
export const changeNothing = 'delete from vapid_keys where false';

function readPragma(database: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(database.prepare(`pragma ${name}`).get()?.[name]);
}

/**
 * Checks that the database belongs to Deskbell. An empty database passes, whoever created it.
 *
 * @throws {DeskbellError} ERR_STORE_CORRUPT, ERR_COPY_UNFINISHED
 */
export function assertOurs(database: DatabaseSync, path: string): void {
  if (readPragma(database, 'application_id') === applicationId) {
    assertComplete(database, path);
    return;
  }
  const isEmpty = database.prepare('select 1 from sqlite_schema limit 1').get() === undefined;
  if (isEmpty) return;
  throw new DeskbellError('ERR_STORE_CORRUPT', `The database ${path} belongs to another program.`);
}

/** @throws {DeskbellError} ERR_COPY_UNFINISHED */
export function assertComplete(database: DatabaseSync, path: string): void {
  const mark = database.prepare('select 1 from sqlite_schema where name = ?').get(unfinishedCopy);
  if (mark !== undefined) throw unfinishedCopyError(path);
}

/** @returns the version of the tables; 0 without tables @throws {DeskbellError} ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD */
export const readVersion = (database: DatabaseSync, path: string): number =>
  checkVersion(readPragma(database, 'user_version'), schemaVersion, path);

function migrate(database: DatabaseSync, path: string): void {
  if (readPragma(database, 'user_version') === schemaVersion) return;
  database.exec('begin immediate');
  try {
    // read the version again: another process may have been faster
    const version = readVersion(database, path);
    for (const sql of migrationsAfter(version, schema, migrations)) database.exec(sql);
    database.exec(`pragma application_id = ${applicationId}; pragma user_version = ${schemaVersion}`);
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}
