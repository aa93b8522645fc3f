// What is copied from one database to another: every table and column of SQLite's schema. PostgreSQL has them by the same names.
import { DatabaseSync } from 'node:sqlite';
import { migrations, schema } from '../sqlite/migrations.ts';

/** A value of a row: bytes are hexadecimal digits after `\x`, truth is 0 or 1. */
export type CopyValue = string | number | null;
/** The values of the table's columns, in their order. */
export type CopyRow = readonly CopyValue[];

export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Columns that make a row unique: rows are copied and compared in their order. */
  readonly key: readonly string[];
  /** Tables whose ids columns name. PostgreSQL may have rows of a broadcast that was deleted while they were written. */
  readonly parents: readonly {
    readonly column: string;
    readonly table: string;
    /** The column, not the row, goes where the parent is not there. */
    readonly isOptional: boolean;
  }[];
  /** Its rows are counted, not copied: see `counted`. */
  readonly sum?: string | undefined;
}

/** Tables that are not copied: processes report again, operators sign in again, and triggers of what is copied make the rows. */
const leftOut: ReadonlySet<string> = new Set([
  'senders',
  'console_sessions',
  'work',
  'held_marks',
  'waiting_rows',
]);

/** Counted by triggers, in shards that differ: what is compared is the sum of this column. */
const counted: Readonly<Record<string, string>> = { subscription_counts: 'subscriptions' };

/** Tags are rows of their own in SQLite, and a column in PostgreSQL: they are copied as a column, which is a JSON array. */
const tagTable = 'subscription_tags';

/** Ids that are never given out again, including the ids of deleted rows. Each database stores them in its own form. */
export const sequences: CopiedTable = {
  name: 'sequences',
  columns: [
    { name: 'name', type: 'TEXT' },
    { name: 'seq', type: 'INTEGER' },
  ],
  key: ['name'],
  parents: [],
};

/** The tables whose ids they are. */
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
  const parentsOf = database.prepare(
    'select "from" as "column", "table", on_delete from pragma_foreign_key_list(?) order by 1',
  );
  const tables = known
    .map(({ name }) => String(name))
    .filter((name) => name !== tagTable && !leftOut.has(name))
    .map((name): CopiedTable => {
      const columns = columnsOf.all(name) as { name: string; type: string; pk: number }[];
      const sum = counted[name];
      const kept = sum === undefined ? columns : columns.filter((column) => column.name !== 'shard');
      return {
        name,
        columns: [
          ...kept.map(({ name: column, type }) => ({ name: column, type })),
          ...(name === 'subscriptions' ? [{ name: 'tags', type: 'TEXT' }] : []),
        ],
        key: kept
          .filter(({ pk }) => pk > 0)
          .toSorted((one, other) => one.pk - other.pk)
          .map((column) => column.name),
        parents: parentsOf.all(name).map(({ column, table, on_delete }) => ({
          column: String(column),
          table: String(table),
          isOptional: on_delete === 'SET NULL',
        })),
        sum,
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

/** Tables that must be empty. `vapid_keys` may have the unused key that opening a database creates; the keys of the source replace it. */
export const tablesToBeEmpty: readonly CopiedTable[] = copiedTables.filter(
  ({ name, sum }) => name !== 'vapid_keys' && name !== sequences.name && sum === undefined,
);

/** What one of the databases must select differently. In the SQL, `t` is the table. If `from` is given, parents are not looked up. */
export interface OwnForm {
  /** Default: the table. */
  readonly from?: string;
  /** By the name of the column. */
  readonly columns?: Readonly<Record<string, string>>;
}

/** All rows, with their columns by name. */
export function selectSql(table: CopiedTable, own: OwnForm = {}): string {
  const { name, columns, key, parents, sum } = table;
  const hasParent = (parent: CopiedTable['parents'][number]): string =>
    `exists (select 1 from deskbell.${parent.table} p where p.id = t."${parent.column}")`;
  const read = ({ name: column }: CopiedTable['columns'][number]): string => {
    const ownValue = own.columns?.[column];
    if (ownValue !== undefined) return ownValue;
    if (column === sum) return `sum(t."${column}")`;
    const parent = parents.find((each) => each.isOptional && each.column === column);
    return parent === undefined ? `t."${column}"` : `case when ${hasParent(parent)} then t."${column}" end`;
  };
  const list = columns.map((column) => `${read(column)} as "${column.name}"`).join(', ');
  if (own.from !== undefined) return `select ${list} from ${own.from} t`;
  const conditions = parents
    .filter(({ isOptional }) => !isOptional)
    .map((parent) => `(t."${parent.column}" is null or ${hasParent(parent)})`);
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  const groups =
    sum === undefined
      ? ''
      : `group by ${key.map((each) => `t."${each}"`).join(', ')} having sum(t."${sum}") <> 0`;
  return `select ${list} from deskbell.${name} t ${where} ${groups}`;
}

/** The same rows in the order of the table. @param collation of texts, as SQLite sorts them */
export function inOrder({ columns, key }: CopiedTable, sql: string, collation = ''): string {
  const texts = new Set(columns.flatMap(({ name, type }) => (type === 'TEXT' ? name : [])));
  const order = key.map((column) => `c."${column}"${texts.has(column) ? collation : ''}`);
  return `select * from (${sql}) c order by ${order.join(', ')}`;
}

/** The form of a value in both databases, of what one of them gives. */
export function toCopyValue(value: unknown): CopyValue {
  if (typeof value === 'boolean') return Number(value);
  if (Array.isArray(value)) return JSON.stringify(value.toSorted());
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : (value as CopyValue);
}
