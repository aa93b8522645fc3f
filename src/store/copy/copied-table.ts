// How a table is described to the copy. Its columns and its primary key are those that SQLite's schema has today: a
// description says only what differs between the databases. A row has the same form in both.
import { toSortedJson } from '../../protocol/json-object.ts';
import { readNewestColumns } from '../sqlite/open-database-file.ts';

/** A value of a row: bytes are hexadecimal digits after `\x`, truth is 0 or 1, JSON is text. */
export type CopyValue = string | number | null;
/** The values of the table's columns, in their order. */
export type CopyRow = readonly CopyValue[];

/** How one database has the table. In SQL, `t` is the table that is read, and `r` the rows that are written. */
export interface TableMapping {
  /** Default: the name of the copied table. */
  readonly table?: string;
  /** What rows are read from, with `t` in it. Default: the table. */
  readonly from?: string;
  /** Columns that are read otherwise than by their name; in SQLite also those that it makes of others. */
  readonly read?: Readonly<Record<string, string>>;
  /** Run before the first row is written. */
  readonly before?: string;
  /** Run when all tables are written. */
  readonly after?: string;
}

export interface PostgresMapping extends TableMapping {
  /** Columns that have another name than in SQLite. */
  readonly names?: Readonly<Record<string, string>>;
  /** Columns that are written otherwise than by a cast from text. */
  readonly write?: Readonly<Record<string, string>>;
  /** Columns of PostgreSQL alone, and what is written to them. */
  readonly added?: Readonly<Record<string, string>>;
  /** A row is the sum over those of all shards, and is written as shard 0. */
  readonly isSharded?: true;
  /** Takes the place of an insert of all rows `r`, whose values are texts. */
  readonly insert?: string;
}

export interface CopiedTable {
  readonly name: string;
  /** Columns that make a row unique: rows are copied and compared in their order. Default: the primary key. */
  readonly order?: readonly string[];
  /** Columns of either database that keep their default. */
  readonly leftOut?: readonly string[];
  /** Columns that are counted where they are written: they are compared all the same. */
  readonly counted?: readonly string[];
  readonly sqlite?: TableMapping & {
    /** Run for each row too, with `:column` for its values. */
    readonly also?: string;
  };
  readonly postgres?: PostgresMapping;
}

export type DatabaseKind = 'sqlite' | 'postgres';

const sqliteColumns = readNewestColumns();

export const tableIn = (kind: DatabaseKind, table: CopiedTable): string => table[kind]?.table ?? table.name;

/** The columns that SQLite stores, but for those that are left out. */
export const storedColumns = (table: CopiedTable): ReturnType<typeof readNewestColumns> =>
  sqliteColumns.filter(
    ({ table: name, column }) => name === tableIn('sqlite', table) && !table.leftOut?.includes(column),
  );

/** All columns of a row, in their order. */
export const columnsOf = (table: CopiedTable): readonly string[] => [
  ...new Set([...storedColumns(table).map(({ column }) => column), ...Object.keys(table.sqlite?.read ?? {})]),
];

/** All columns that are written to PostgreSQL if it has them, with their names there. */
export const postgresColumns = (table: CopiedTable): ReadonlyMap<string, string> =>
  new Map(
    columnsOf(table)
      .filter((name) => !table.counted?.includes(name))
      .map((name) => [name, table.postgres?.names?.[name] ?? name]),
  );

/** What is written to columns of PostgreSQL alone. */
export const addedColumns = ({ postgres = {} }: CopiedTable): Readonly<Record<string, string>> => ({
  ...(postgres.isSharded && { shard: '0' }),
  ...postgres.added,
});

/** All rows, with their columns by name, in the order of the table. */
export function selectSql(kind: DatabaseKind, table: CopiedTable): string {
  const order = orderOf(table);
  const texts = new Set(storedColumns(table).flatMap(({ column, type }) => (type === 'TEXT' ? column : [])));
  const { names = {}, isSharded }: PostgresMapping = kind === 'postgres' ? (table.postgres ?? {}) : {};
  const read = (name: string): string => {
    const column = `t."${names[name] ?? name}"`;
    return table[kind]?.read?.[name] ?? (isSharded && !order.includes(name) ? `sum(${column})` : column);
  };
  const list = columnsOf(table).map((name) => `${read(name)} as "${name}"`);
  // as SQLite sorts texts, whatever the collation of a PostgreSQL database is
  const collation = (name: string): string => (kind === 'postgres' && texts.has(name) ? ' collate "C"' : '');
  return `select * from (select ${list.join(', ')} from ${fromOf(kind, table)}) c
    order by ${order.map((name) => `c."${name}"${collation(name)}`).join(', ')}`;
}

export const countSql = (kind: DatabaseKind, table: CopiedTable): string =>
  `select count(*) as rows from (select 1 from ${fromOf(kind, table)}) c`;

function fromOf(kind: DatabaseKind, table: CopiedTable): string {
  const from = table[kind]?.from ?? `deskbell.${tableIn(kind, table)} t`;
  if (kind === 'sqlite' || !table.postgres?.isSharded) return from;
  return `${from} group by ${orderOf(table)
    .map((name) => `t."${name}"`)
    .join(', ')}`;
}

const orderOf = (table: CopiedTable): readonly string[] =>
  table.order ??
  storedColumns(table)
    .filter(({ key }) => key > 0)
    .sort((one, other) => one.key - other.key)
    .map(({ column }) => column);

/** The form of a value in both databases, of what one of them gives. */
export function toCopyValue(value: unknown): CopyValue {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'object' || value === null) return value as CopyValue;
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : toSortedJson(value);
}
