// A SQLite file as the source or the target of a copy. No other process may have it open meanwhile.
import { DatabaseSync } from 'node:sqlite';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hashEndpoint } from '../../protocol/endpoint.ts';
import { toSortedJson } from '../../protocol/json-object.ts';
import { readWriteUrl } from '../sqlite/inspect-database.ts';
import { migrations } from '../sqlite/migrations.ts';
import { openDatabaseFile } from '../sqlite/open-database-file.ts';
import { isBusy, toStoreError } from '../sqlite/database-errors.ts';
import { columnsOf, storedColumns, tableIn } from './copied-table.ts';
import {
  pageRows,
  toSource,
  toTarget,
  type CopyDatabase,
  type CopySource,
  type CopyTarget,
  type CopyTransaction,
} from './copy-database.ts';

/** @throws {DeskbellError} ERR_STORE_IN_USE, ERR_COPY_UNFINISHED, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW, ERR_STORE_UNAVAILABLE */
export async function openSqliteSource(path: string): Promise<CopySource> {
  (await openDatabaseFile(path)).close();
  return toSource(openAlone(path));
}

/** Creates the file where there is none. @throws {DeskbellError} as `openSqliteSource` does, but for an unfinished copy */
export async function openSqliteTarget(path: string): Promise<CopyTarget> {
  try {
    (await openDatabaseFile(path)).close();
  } catch (error) {
    if (!(error instanceof DeskbellError && error.code === 'ERR_COPY_UNFINISHED')) throw error;
  }
  return toTarget(openAlone(path));
}

/** SQLite gives this lock only where no other connection is open, and then lets nobody open one. */
function openAlone(path: string): CopyDatabase {
  const database = new DatabaseSync(readWriteUrl(path));
  try {
    database.exec('pragma locking_mode = exclusive; pragma synchronous = full; begin immediate; commit');
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw toStoreError(error, path);
    throw new DeskbellError('ERR_STORE_IN_USE', `The database ${path} is open in another process`, {
      cause: error,
    });
  }
  addFunctions(database);
  const transaction: CopyDatabase['transaction'] = async (work) => {
    try {
      database.exec('begin immediate');
      const result = await work(transactionOf(database));
      database.exec('commit');
      return result;
    } catch (error) {
      if (database.isTransaction) database.exec('rollback');
      throw toStoreError(error, path);
    }
  };
  return {
    kind: 'sqlite',
    label: path,
    schemaVersion: migrations.length,
    findTable: 'select 1 from sqlite_schema where name = :name',
    transaction,
    read: transaction,
    close: async () => database.close(),
  };
}

/** What PostgreSQL has in a form of its own is given in the same form. */
function addFunctions(database: DatabaseSync): void {
  const addFunction = (name: string, convert: (text: string) => string): void =>
    database.function(name, { deterministic: true }, (value) =>
      typeof value === 'string' ? convert(value) : null,
    );
  addFunction('sorted_json', (text) => toSortedJson(JSON.parse(text) as object));
  addFunction('endpoint_hash', (endpoint) =>
    hashEndpoint(endpoint).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  );
}

const transactionOf = (database: DatabaseSync): CopyTransaction => ({
  run: async <Row>(sql: string, values = {}) =>
    database.prepare(sql.replaceAll('deskbell.', '')).all(values) as unknown as readonly Row[],
  pages: async function* (sql) {
    let page = [];
    for (const row of database.prepare(sql.replaceAll('deskbell.', '')).iterate()) {
      if (page.push(row) < pageRows) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  },
  insert: async (table, rows) => {
    const written = storedColumns(table).filter(({ column }) => !table.counted?.includes(column));
    const insert = database.prepare(`
      insert into ${tableIn('sqlite', table)} (${written.map(({ column }) => `"${column}"`).join(', ')})
      values (${written.map(({ column, type }) => (type === 'BLOB' ? `unhex(substr(:${column}, 3))` : `:${column}`)).join(', ')})`);
    const statements = [insert, ...(table.sqlite?.also ? [database.prepare(table.sqlite.also)] : [])];
    for (const statement of statements) statement.setAllowUnknownNamedParameters(true);
    const names = columnsOf(table);
    for (const row of rows) {
      const values = Object.fromEntries(names.map((name, index) => [name, row[index] ?? null]));
      for (const statement of statements) statement.run(values);
    }
  },
});
