// Lists what is copied between databases: every table and column of SQLite's schema. PostgreSQL uses the same names.
import { DatabaseSync } from 'node:sqlite';
import { migrations, schema } from '../sqlite/migrations.ts';

/** A value in a row. Bytes are `\x` and hexadecimal digits; booleans are 0 or 1. */
export type CopyValue = string | number | null;
/** The values of the table's columns, in the same order. */
export type CopyRow = readonly CopyValue[];

export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Columns that identify a row. Rows are copied and compared in the order of these columns. */
  readonly key: readonly string[];
  /**
   * Tables that this table's columns refer to. A row whose parent is missing is skipped: PostgreSQL can delete a
   * broadcast while rows for it are being written.
   */
  readonly parents: readonly { readonly column: string; readonly table: string }[];
}

/** Tables that are not copied: processes report again, operators sign in again, and triggers create the other rows. */
const leftOut: ReadonlySet<string> = new Set([
  'senders',
  'console_sessions',
  'work',
  'held_marks',
  'waiting_rows',
  'subscription_counts',
]);

/** SQLite has a row per tag, PostgreSQL a column with all tags. Tags are copied as a column with a JSON array. */
const tagTable = 'subscription_tags';

/** The last ids that were assigned, so that ids of deleted rows are never reused. Databases store them differently. */
export const sequences: CopiedTable = {
  name: 'sequences',
  columns: [
    { name: 'name', type: 'TEXT' },
    { name: 'seq', type: 'INTEGER' },
  ],
  key: ['name'],
  parents: [],
};

/** The tables to copy, and those whose ids are never reused. */
export const { copiedTables, sequenceTables } = readTables();

function readTables(): {
  readonly copiedTables: readonly CopiedTable[];
  readonly sequenceTables: readonly string[];
} {
  using database = new DatabaseSync(':memory:');
  for (const sql of [schema, ...migrations]) database.exec(sql);
  const known = database
    .prepare(
      "select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by rowid",
    )
    .all();
  const columnsOf = database.prepare('select name, type, pk from pragma_table_info(?)');
  // a column that becomes null when its parent is deleted is no reason to skip a row
  const parentsOf = database.prepare(
    `select "from" as "column", "table" from pragma_foreign_key_list(?) where on_delete <> 'SET NULL' order by 1`,
  );
  const tables = known
    .map(({ name }) => String(name))
    .filter((name) => name !== tagTable && !leftOut.has(name))
    .map((name): CopiedTable => {
      const columns = columnsOf.all(name) as { name: string; type: string; pk: number }[];
      return {
        name,
        columns: [
          ...columns.map(({ name: column, type }) => ({ name: column, type })),
          ...(name === 'subscriptions' ? [{ name: 'tags', type: 'TEXT' }] : []),
        ],
        key: columns
          .filter(({ pk }) => pk > 0)
          .toSorted((one, other) => one.pk - other.pk)
          .map((column) => column.name),
        parents: parentsOf.all(name) as { column: string; table: string }[],
      };
    });
  return {
    copiedTables: [...tables, sequences],
    sequenceTables: known
      .filter(({ sql }) => String(sql).includes('autoincrement'))
      .map(({ name }) => String(name))
      .toSorted(),
  };
}

/**
 * Tables that must be empty before a copy. `vapid_keys` may contain the unused key that is created with a database. The
 * source's keys replace that key.
 */
export const tablesToBeEmpty: readonly CopiedTable[] = copiedTables.filter(
  ({ name }) => name !== 'vapid_keys' && name !== sequences.name,
);

/**
 * How PostgreSQL or SQLite reads a table for a copy if the SQL that both databases share does not fit. In the SQL, `t`
 * is the table. With `from`, rows are selected even if their parents are missing.
 */
export interface OwnForm {
  /** What the rows are selected from. Default: the table. */
  readonly from?: string;
  /** SQL for the values of some columns, by column name. */
  readonly columns?: Readonly<Record<string, string>>;
}

export function selectSql(table: CopiedTable, own: OwnForm = {}): string {
  const { name, columns, parents } = table;
  const list = columns
    .map(({ name: column }) => `${own.columns?.[column] ?? `t."${column}"`} as "${column}"`)
    .join(', ');
  if (own.from !== undefined) return `select ${list} from ${own.from} t`;
  const conditions = parents.map(
    ({ column, table: parent }) =>
      `(t."${column}" is null or exists (select 1 from deskbell.${parent} p where p.id = t."${column}"))`,
  );
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  return `select ${list} from deskbell.${name} t ${where}`;
}

/** Sorts the rows of a query in the table's order. @param collation SQL that sorts text as SQLite does */
export function inOrder({ columns, key }: CopiedTable, sql: string, collation = ''): string {
  const texts = new Set(columns.flatMap(({ name, type }) => (type === 'TEXT' ? name : [])));
  const order = key.map((column) => `c."${column}"${texts.has(column) ? collation : ''}`);
  return `select * from (${sql}) c order by ${order.join(', ')}`;
}

/** Converts a value to the form that both databases share. */
export function toCopyValue(value: unknown): CopyValue {
  if (typeof value === 'boolean') return Number(value);
  if (Array.isArray(value)) return JSON.stringify(value);
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : (value as CopyValue);
}
