// Opens the data directory or database of a sender. The first call loads the modules for SQLite and files, so importing
// `deskbell` is cheap.
import type { DataDirectory, DataDirectoryOptions } from './cli/data/data-directory.ts';
import type { PostgresStoreOptions } from './store/postgres/open-store.ts';
import type { SqliteStoreOptions } from './store/sqlite/open-store.ts';
import type { Store } from './store/store.ts';

/**
 * Opens a data directory, which contains the VAPID pair, the session key and the database. If a key or the database
 * does not exist yet, creates it.
 *
 * @example
 * const { store, vapidKeys, sessionKey } = await openDataDirectory('deskbell-data');
 *
 * @throws {DeskbellError} ERR_KEY_FILE_MISSING if there is a database without its key file, ERR_KEY_FILE_CORRUPT,
 *   ERR_KEY_FILE_EXPOSED, ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD
 */
export async function openDataDirectory(
  directory: string,
  options?: DataDirectoryOptions,
): Promise<DataDirectory> {
  const dataDirectory = await import('./cli/data/data-directory.ts');
  return dataDirectory.openDataDirectory(directory, options);
}

/**
 * Opens the store in a SQLite file. Creates the file if it does not exist.
 *
 * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const sqlite = await import('./store/sqlite/open-store.ts');
  return sqlite.openSqliteStore(options);
}

/**
 * Opens the store in a PostgreSQL database. Creates the store's tables if they do not exist. This function needs the
 * package `pg`.
 *
 * @throws {DeskbellError} ERR_PACKAGE_MISSING, ERR_CONFIGURATION, ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT,
 *   ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const postgres = await import('./store/postgres/open-store.ts');
  return postgres.openPostgresStore(options);
}
