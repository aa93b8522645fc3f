// What a sender's data is opened with. SQLite and the file system are loaded then, so that importing the sender is cheap.
import type { DataDirectory, DataDirectoryOptions } from './cli/data/data-directory.ts';
import type { PostgresStoreOptions } from './store/postgres/open-store.ts';
import type { SqliteStoreOptions } from './store/sqlite/open-store.ts';
import type { Store } from './store/store.ts';

/**
 * Opens a data directory: the VAPID pair, the session key, and the database. The first time it makes all three.
 *
 * @example
 * const { store, vapidKeys, sessionKey } = await openDataDirectory('deskbell-data');
 * @throws {DeskbellError} ERR_KEY_FILE_MISSING where a database is there without its key file, ERR_KEY_FILE_CORRUPT,
 *   ERR_KEY_FILE_EXPOSED, ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW
 */
export async function openDataDirectory(
  directory: string,
  options?: DataDirectoryOptions,
): Promise<DataDirectory> {
  const dataDirectory = await import('./cli/data/data-directory.ts');
  return dataDirectory.openDataDirectory(directory, options);
}

/**
 * Opens the store in a SQLite file; makes the file where there is none.
 *
 * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const sqlite = await import('./store/sqlite/open-store.ts');
  return sqlite.openSqliteStore(options);
}

/**
 * Opens the store in a PostgreSQL database; makes its tables where there are none. Needs the package `pg`.
 *
 * @throws {DeskbellError} ERR_PACKAGE_MISSING, ERR_CONFIGURATION, ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT,
 *   ERR_STORE_TOO_NEW
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const postgres = await import('./store/postgres/open-store.ts');
  return postgres.openPostgresStore(options);
}
