// Opens a database file: makes it where there is none, refuses what is not ours, brings it to the newest schema.
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { normalizeEndpoint } from '../../protocol/endpoint-policy.ts';
import { migrations } from './migrations.ts';
import { isBusy, toStoreError } from './sqlite-error.ts';

// "Desk" in ASCII: tells our files from those of other programs
const applicationId = 0x4465736b;

// SQLite blocks the thread while it waits for a lock, so it waits briefly; longer waits are ours and do not block
const busyTimeoutMs = 20;

const migrationTimeoutMs = 10_000;

/**
 * Opens the database, in WAL mode with a sync at every commit: what is acknowledged survives a power failure.
 *
 * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW
 */
export async function openDatabaseFile(path: string): Promise<DatabaseSync> {
  const startedAtMs = Date.now();
  for (;;) {
    try {
      return open(path);
    } catch (error) {
      // two processes that open a new file at once: one of them makes it
      if (!isBusy(error) || Date.now() - startedAtMs > migrationTimeoutMs) throw toStoreError(error, path);
      await sleep(10 + Math.random() * 40);
    }
  }
}

function open(path: string): DatabaseSync {
  createPrivateFile(path);
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  try {
    assertOurs(database, path);
    database.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma journal_size_limit = ${64 * 1024 * 1024};
    `);
    database.function('normalize_endpoint', { deterministic: true }, (endpoint) =>
      normalizeEndpoint(String(endpoint)),
    );
    migrate(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The rows hold capabilities (endpoint, `auth`): nobody but the owner may read them. SQLite gives its side files
 *  the mode of the main one. */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch (cause) {
    throw new DeskbellError(
      'ERR_STORE_UNAVAILABLE',
      `The database ${path} cannot be opened for writing: its folder is missing, or it or the folder is read-only.`,
      { cause },
    );
  }
}

function readPragma(database: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(database.prepare(`pragma ${name}`).get()?.[name]);
}

function assertOurs(database: DatabaseSync, path: string): void {
  if (readPragma(database, 'application_id') === applicationId) return;
  const isEmpty = database.prepare('select 1 from sqlite_schema limit 1').get() === undefined;
  if (isEmpty) return;
  throw new DeskbellError('ERR_STORE_CORRUPT', `The database ${path} belongs to another program.`);
}

function migrate(database: DatabaseSync, path: string): void {
  if (readPragma(database, 'user_version') === migrations.length) return;
  database.exec('begin immediate');
  try {
    // read again: another process may have been faster
    const version = readPragma(database, 'user_version');
    if (version > migrations.length) {
      throw new DeskbellError(
        'ERR_STORE_TOO_NEW',
        `The database ${path} has schema ${version}; this Deskbell knows schemas up to ${migrations.length}.`,
      );
    }
    for (const migration of migrations.slice(version)) database.exec(migration);
    database.exec(`pragma application_id = ${applicationId}; pragma user_version = ${migrations.length}`);
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}
