// The SQL that reads and writes rows of copied tables in PostgreSQL.
import {
  selectList,
  sortMembers,
  writtenColumns,
  type CopiedTable,
  type CopyRow,
  type CopyValue,
  type Kind,
} from './copied-table.ts';

export const nameOf = ({ name, postgres }: CopiedTable): string => `deskbell.${postgres?.table ?? name}`;
/** What the table's rows `t` are read from. */
export const fromOf = (table: CopiedTable): string => table.postgres?.from ?? `${nameOf(table)} t`;

/** All rows, in the order of the table. */
export function selectSql(table: CopiedTable): string {
  const { columns, order, postgres = {} } = table;
  // as SQLite sorts texts, whatever the database's own collation is
  const sorted = order.map((name) => `c."${name}"${columns[name] === 'text' ? ' collate "C"' : ''}`);
  return `
    select * from (select ${selectList(table, postgres, toValue)} from ${fromOf(table)}) c order by ${sorted.join(', ')}`;
}

function toValue(kind: Kind, expression: string): string {
  switch (kind) {
    case 'bytes':
      return `encode(${expression}, 'hex')`;
    case 'uuid':
      return `replace((${expression})::text, '-', '')`;
    case 'boolean':
      return `(${expression})::int`;
    case 'json':
      return `(${expression})::text`;
    default:
      return expression;
  }
}

/** Makes rows of what the statement of `selectSql` gives. */
export function rowReader({ columns }: CopiedTable): (row: Readonly<Record<string, CopyValue>>) => CopyRow {
  const entries = Object.entries(columns);
  return (row) =>
    entries.map(([name, kind]) => {
      const value = row[name] ?? null;
      return kind === 'json' && typeof value === 'string' ? sortMembers(value) : value;
    });
}

/** Its parameters are the values of each column of the table. */
export function insertSql(table: CopiedTable): string {
  const { columns, postgres = {} } = table;
  const { added = {}, write: expressions = {} } = postgres;
  const given = Object.values(columns).map((kind, index) => `$${index + 1}::${typeOf(kind)}[]`);
  const rows = `unnest(${given.join(', ')}) as r (${Object.keys(columns)
    .map((name) => `"${name}"`)
    .join(', ')})`;
  if (postgres.insert !== undefined) return `${postgres.insert} from ${rows}`;
  const written = writtenColumns(table, postgres);
  const into = [...written.map(({ column }) => `"${column}"`), ...Object.keys(added)];
  const values = written.map(({ name, kind }) => expressions[name] ?? fromValue(kind, `r."${name}"`));
  return `insert into ${nameOf(table)} (${into.join(', ')}) overriding system value
    select ${[...values, ...Object.values(added)].join(', ')} from ${rows}`;
}

function typeOf(kind: Kind): string {
  if (kind === 'integer' || kind === 'boolean') return 'bigint';
  return kind === 'real' ? 'double precision' : 'text';
}

function fromValue(kind: Kind, value: string): string {
  switch (kind) {
    case 'bytes':
      return `decode(${value}, 'hex')`;
    case 'uuid':
      return `${value}::uuid`;
    case 'boolean':
      return `${value} = 1`;
    case 'json':
      return `${value}::jsonb`;
    default:
      return value;
  }
}
