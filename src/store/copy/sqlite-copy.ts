// A SQLite file as the source or the target of a copy. No other process may have it open meanwhile.
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hashEndpoint } from '../../protocol/endpoint.ts';
import { readWriteUrl } from '../sqlite/inspect-database.ts';
import { migrations } from '../sqlite/migrations.ts';
import { openDatabaseFile } from '../sqlite/open-database-file.ts';
import { isBusy, toStoreError } from '../sqlite/database-errors.ts';
import {
  selectList,
  sortMembers,
  writtenColumns,
  type CopiedTable,
  type CopyRow,
  type CopyValue,
  type Kind,
} from './copied-table.ts';
import { copiedTables, tablesToBeEmpty } from './copied-tables.ts';
import {
  pageRows,
  type CopySource,
  type CopyTarget,
  type Progress,
  type TableReader,
} from './source-and-target.ts';
import { assertSameSchema, notEmptyError, unfinishedCopy } from '../unfinished-copy.ts';

/** @throws {DeskbellError} ERR_STORE_IN_USE, ERR_COPY_UNFINISHED, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW, ERR_STORE_UNAVAILABLE */
export async function openSqliteSource(path: string): Promise<CopySource> {
  (await openDatabaseFile(path)).close();
  return sourceOf(openAlone(path), path);
}

/** Creates the file where there is none. @throws {DeskbellError} as `openSqliteSource` does, but for an unfinished copy */
export async function openSqliteTarget(path: string): Promise<CopyTarget> {
  try {
    (await openDatabaseFile(path)).close();
  } catch (error) {
    if (!(error instanceof DeskbellError && error.code === 'ERR_COPY_UNFINISHED')) throw error;
  }
  const database = openAlone(path);
  const inTransaction = (work: () => void): void => writeAlone(database, path, work);
  return {
    ...sourceOf(database, path),
    begin: async (source) => begin(database, path, source, inTransaction),
    write: async (table, rows, progress) => inTransaction(() => write(database, table, rows, progress)),
    derive: async () =>
      inTransaction(() => copiedTables.forEach(({ sqlite }) => database.exec(sqlite?.after ?? ''))),
    complete: async () => {
      inTransaction(() => database.exec(`drop table ${unfinishedCopy}`));
      database.exec('pragma wal_checkpoint(truncate)');
    },
  };
}

function sourceOf(database: DatabaseSync, label: string): CopySource {
  const reader: TableReader = {
    count: async (table) =>
      Number(database.prepare(`select count(*) as rows from ${fromOf(table)}`).get()?.['rows']),
    pages: (table) => pagesOf(database, table),
  };
  return {
    label: label,
    read: async (work) => {
      try {
        return await work(reader);
      } catch (error) {
        throw toStoreError(error, label);
      }
    },
    close: async () => database.close(),
  };
}

/** SQLite gives this lock only where no other connection is open, and then lets nobody open one. */
function openAlone(path: string): DatabaseSync {
  const database = new DatabaseSync(readWriteUrl(path));
  try {
    database.exec('pragma locking_mode = exclusive; pragma synchronous = full; begin immediate; commit');
    database.function('endpoint_hash', { deterministic: true }, (endpoint) =>
      typeof endpoint === 'string' ? hashEndpoint(endpoint) : null,
    );
    return database;
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw toStoreError(error, path);
    throw new DeskbellError('ERR_STORE_IN_USE', `The database ${path} is open in another process`, {
      cause: error,
    });
  }
}

const fromOf = ({ name, sqlite }: CopiedTable): string => sqlite?.from ?? `${sqlite?.table ?? name} t`;

async function* pagesOf(database: DatabaseSync, table: CopiedTable): AsyncGenerator<readonly CopyRow[]> {
  const statement = database.prepare(
    `select ${selectList(table, table.sqlite ?? {}, toValue)} from ${fromOf(table)} order by ${table.order
      .map((name) => `"${name}"`)
      .join(', ')}`,
  );
  statement.setReturnArrays(true);
  const toRow = rowReader(table);
  let page: CopyRow[] = [];
  for (const row of statement.iterate() as unknown as Iterable<CopyRow>) {
    if (page.push(toRow(row)) < pageRows) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

const toValue = (kind: Kind, expression: string): string =>
  kind === 'bytes' ? `iif(${expression} is null, null, lower(hex(${expression})))` : expression;

/** Rows as they come but for JSON. */
function rowReader({ columns }: CopiedTable): (row: CopyRow) => CopyRow {
  const kinds = Object.values(columns);
  if (!kinds.includes('json')) return (row) => row;
  return (row) =>
    row.map((value, index) =>
      kinds[index] === 'json' && typeof value === 'string' ? sortMembers(value) : value,
    );
}

function writeAlone(database: DatabaseSync, path: string, work: () => void): void {
  try {
    database.exec('begin immediate');
    work();
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw toStoreError(error, path);
  }
}

function begin(
  database: DatabaseSync,
  path: string,
  source: string,
  inTransaction: (work: () => void) => void,
): Progress {
  const isBegun = database.prepare('select 1 from sqlite_schema where name = ?').get(unfinishedCopy);
  if (isBegun !== undefined) {
    const row = database.prepare(`select source, schema_version, progress from ${unfinishedCopy}`).get();
    assertSameSchema(path, String(row?.['source']), Number(row?.['schema_version']), migrations.length);
    return JSON.parse(String(row?.['progress'])) as Progress;
  }
  for (const table of tablesToBeEmpty('sqlite')) {
    if (database.prepare(`select 1 from ${table} limit 1`).get() !== undefined)
      throw notEmptyError(path, table);
  }
  inTransaction(() => {
    database.exec(`
      delete from vapid_keys;
      create table ${unfinishedCopy} (source text not null, schema_version integer not null, progress text not null) strict;
    `);
    database
      .prepare(`insert into ${unfinishedCopy} (source, schema_version, progress) values (?, ?, '{}')`)
      .run(source, migrations.length);
  });
  return {};
}

function write(
  database: DatabaseSync,
  table: CopiedTable,
  rows: readonly CopyRow[],
  progress: Progress,
): void {
  const { name, sqlite = {} } = table;
  if (progress[name]?.rows === rows.length) database.exec(sqlite.before ?? '');
  const columns = writtenColumns(table, sqlite);
  const { added = {} } = sqlite;
  const insert = database.prepare(`
    insert into ${sqlite.table ?? name} (${[...columns.map(({ column }) => `"${column}"`), ...Object.keys(added)].join(', ')})
    values (${[...columns.map(() => '?'), ...Object.values(added)].join(', ')})
  `);
  const also = sqlite.also === undefined ? undefined : database.prepare(sqlite.also);
  also?.setAllowUnknownNamedParameters(true);
  const names = Object.keys(table.columns);
  const places = columns.map((column) => ({ kind: column.kind, index: names.indexOf(column.name) }));
  for (const row of rows) {
    insert.run(...places.map(({ kind, index }) => toInput(kind, row[index] ?? null)));
    also?.run(Object.fromEntries(names.map((column, index) => [column, row[index] ?? null])));
  }
  database.prepare(`update ${unfinishedCopy} set progress = ?`).run(JSON.stringify(progress));
}

const toInput = (kind: Kind, value: CopyValue): SQLInputValue =>
  kind === 'bytes' && typeof value === 'string' ? Buffer.from(value, 'hex') : value;
