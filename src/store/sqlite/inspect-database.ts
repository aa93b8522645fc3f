// Inspects an existing database file without migrating it.
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { type DatabaseContent, type DatabaseState, readContent } from '../database-content.ts';
import { SqliteDatabase } from './database.ts';
import {
  assertNotEmpty,
  assertOurs,
  assertPrivate,
  assertRegular,
  changeNothing,
  readVersion,
} from './open-database-file.ts';
import { schemaVersion } from './migrations.ts';
import { isBusy, toStoreError } from './database-errors.ts';
import { createPortableDatabase } from './portable-database.ts';

/** Does not create the file. */
export const readWriteUrl = (path: string): URL => new URL(`${pathToFileURL(path)}?mode=rw`);

/** With this URL, SQLite writes neither to the file nor next to it. */
export const immutableUrl = (path: string): URL => new URL(`${pathToFileURL(path)}?mode=ro&immutable=1`);

/** @throws {DeskbellError} ERR_STORE_CORRUPT, ERR_STORE_UNAVAILABLE, and the errors of `work` */
export function withDatabase<Result>(
  url: URL,
  path: string,
  work: (database: DatabaseSync) => Result,
): Result {
  assertRegular(path);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(url);
    return work(database);
  } catch (error) {
    throw toStoreError(error, path);
  } finally {
    database?.close();
  }
}

/** @throws {DeskbellError} ERR_STORE_CORRUPT */
export function assertWhole(database: DatabaseSync, path: string): void {
  assertNotEmpty(path);
  const [first] = database.prepare('pragma integrity_check(1)').all();
  if (first?.['integrity_check'] === 'ok') return;
  throw new DeskbellError('ERR_STORE_CORRUPT', `The database ${path} is damaged.`);
}

/**
 * Checks all pages of a database, and that it is writable. The database may be in use.
 *
 * @throws {DeskbellError} ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW, ERR_STORE_UNAVAILABLE, ERR_DATA_EXPOSED
 */
export async function inspectDatabase(path: string): Promise<DatabaseState> {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    assertRegular(file);
    assertPrivate(file);
  }
  const schema = withDatabase(readWriteUrl(path), path, (database) => {
    assertOurs(database, path);
    const version = readVersion(database, path);
    assertWhole(database, path);
    if (version > 0) assertWritable(database);
    return version;
  });
  const content = schema === schemaVersion ? await readContentOf(path) : undefined;
  return { schema, newestSchema: schemaVersion, content };
}

function assertWritable(database: DatabaseSync): void {
  try {
    database.exec(changeNothing);
  } catch (error) {
    // another process is writing to the database
    if (!isBusy(error)) throw error;
  }
}

async function readContentOf(path: string): Promise<DatabaseContent> {
  let database: SqliteDatabase | undefined;
  try {
    database = new SqliteDatabase(new DatabaseSync(readWriteUrl(path)), { path });
    return await readContent(createPortableDatabase(database));
  } catch (error) {
    throw toStoreError(error, path);
  } finally {
    await database?.close();
  }
}
