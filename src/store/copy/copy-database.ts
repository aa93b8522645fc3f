// What a copy needs from each database, and what both databases share: marking the target as an unfinished copy, and
// writing rows together with the progress.
import { hash } from 'node:crypto';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { unfinishedCopy } from '../database-content.ts';
import { type CopiedTable, type CopyRow, inOrder, tablesToBeEmpty, toCopyValue } from './copied-tables.ts';

/** A chain of hashes over the rows of a table. It can be continued from any row. */
export interface TableChecksum {
  readonly rows: number;
  /** SHA-256 over the previous checksum and the row, in hexadecimal digits. Empty before the first row. */
  readonly checksum: string;
}

export const noRows: TableChecksum = { rows: 0, checksum: '' };

export const addRow = ({ rows, checksum }: TableChecksum, row: CopyRow): TableChecksum => ({
  rows: rows + 1,
  checksum: hash('sha256', checksum + JSON.stringify(row)),
});

export const isSame = (one: TableChecksum, other: TableChecksum): boolean =>
  one.rows === other.rows && one.checksum === other.checksum;

/** A transaction. Its SQL is written as described in portable-sql.ts. */
export interface CopyTransaction {
  run<Row = unknown>(
    sql: string,
    values?: Readonly<Record<string, string | number>>,
  ): Promise<readonly Row[]>;
  /** Yields the rows of a query, `pageRows` at a time. */
  pages(sql: string): AsyncIterable<readonly Readonly<Record<string, unknown>>[]>;
  insert(table: CopiedTable, rows: readonly CopyRow[]): Promise<void>;
}

/** A database that no other process has open. */
export interface CopyDatabase {
  /** Name for error messages, without user and password. */
  readonly label: string;
  readonly schemaVersion: number;
  select(table: CopiedTable): string;
  /** A collation that sorts text as SQLite does. */
  readonly collation: string;
  /** A query that returns a row if the table `:name` exists. */
  readonly findTable: string;
  transaction<Result>(work: (transaction: CopyTransaction) => Promise<Result>): Promise<Result>;
  /** Runs a transaction that reads one snapshot of the database. Nothing else writes while it runs. */
  read<Result>(work: (transaction: CopyTransaction) => Promise<Result>): Promise<Result>;
  /** Called when all tables are written. */
  finish(transaction: CopyTransaction): Promise<void>;
  close(): Promise<void>;
}

/** What the copy has written so far, by table name. */
export type Progress = Readonly<Record<string, TableChecksum>>;

export const pageRows = 1000;

export async function countRows(
  { select }: CopyDatabase,
  { run }: CopyTransaction,
  table: CopiedTable,
): Promise<number> {
  const [row] = await run<{ readonly rows: number }>(`select count(*) as rows from (${select(table)}) c`);
  return row?.rows ?? 0;
}

/** Yields all rows in the table's order, a page at a time. */
export async function* readPages(
  { select, collation }: CopyDatabase,
  { pages }: CopyTransaction,
  table: CopiedTable,
): AsyncGenerator<readonly CopyRow[]> {
  for await (const page of pages(inOrder(table, select(table), collation)))
    yield page.map((row) => table.columns.map(({ name }) => toCopyValue(row[name])));
}

/** Writes rows of a table. Replaces the progress `known` by `progress`, which includes these rows. */
export const writeRows = (
  database: CopyDatabase,
  table: CopiedTable,
  rows: readonly CopyRow[],
  { known, progress }: { readonly known: Progress; readonly progress: Progress },
): Promise<void> =>
  database.transaction(async ({ run, insert }) => {
    // if the response to a commit was lost, the repeated call finds that this row has already changed
    const [isNew] = await run(
      `update deskbell.${unfinishedCopy} set progress = :progress where progress = :known returning source`,
      { progress: JSON.stringify(progress), known: JSON.stringify(known) },
    );
    if (isNew === undefined || rows.length === 0) return;
    await insert(table, rows);
    // the daily counts are copied too, so delete the counts that triggers have just made
    if (table.name === 'subscriptions') await run('delete from deskbell.subscription_days');
  });

/** Removes the mark of an unfinished copy, so that the database can be opened like any other. */
export const completeCopy = (database: CopyDatabase): Promise<void> =>
  database.transaction(async ({ run }) => {
    await run(`drop table if exists deskbell.${unfinishedCopy}`);
  });

/**
 * Marks an empty database as an unfinished copy, which only the copy can open, or finds what was copied before.
 *
 * @param source name of the source, for error messages
 * @throws {DeskbellError} ERR_STORE_NOT_EMPTY, ERR_COPY_UNFINISHED if another version of Deskbell began the copy
 */
export const beginCopy = (database: CopyDatabase, source: string): Promise<Progress> =>
  database.transaction(async ({ run }) => {
    const { label, schemaVersion, findTable } = database;
    const [known] = await run(findTable, { name: unfinishedCopy });
    if (known !== undefined) {
      const [row] = await run<Record<'source' | 'progress', string> & { readonly schema_version: number }>(
        `select source, schema_version, progress from deskbell.${unfinishedCopy}`,
      );
      if (row === undefined) throw new Error('The mark of the copy has no row.');
      if (row.schema_version === schemaVersion) return JSON.parse(row.progress) as Progress;
      throw new DeskbellError(
        'ERR_COPY_UNFINISHED',
        `The copy of ${row.source} to ${label} was begun by a Deskbell with schema ${row.schema_version}; this one has schema ${schemaVersion}. ` +
          'Begin again with an empty target',
      );
    }
    for (const { name } of tablesToBeEmpty) {
      const [row] = await run(`select 1 from deskbell.${name} limit 1`);
      if (row === undefined) continue;
      throw new DeskbellError(
        'ERR_STORE_NOT_EMPTY',
        `The database ${label} has rows already, in its table ${name}`,
      );
    }
    await run('delete from deskbell.vapid_keys');
    await run(
      `create table deskbell.${unfinishedCopy} (source text not null, schema_version int not null, progress text not null)`,
    );
    await run(
      `insert into deskbell.${unfinishedCopy} (source, schema_version, progress) values (:source, :schemaVersion, '{}')`,
      { source, schemaVersion },
    );
    return {};
  });
