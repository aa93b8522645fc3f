// How a table is described to the copy: its rows in a form that is the same in all databases, and how each database keeps it.

/** A value of a row: bytes and UUIDs are lower-case hexadecimal digits, truth is 0 or 1, JSON is text. */
export type CopyValue = string | number | null;
/** The values of the table's columns, in their order. */
export type CopyRow = readonly CopyValue[];

/** `json`: the order of members means nothing. */
export type Kind = 'integer' | 'real' | 'text' | 'bytes' | 'boolean' | 'json' | 'uuid';

/** Where one database keeps the table. In SQL, `t` is the table that is read, and `r` the rows that are written. */
export interface TableMapping {
  /** Default: the name of the copied table. */
  readonly table?: string;
  /** What rows are read from, with `t` in it. Default: the table. */
  readonly from?: string;
  /** Columns that have another name here. */
  readonly names?: Readonly<Record<string, string>>;
  /** Columns that are read otherwise than by their name. */
  readonly read?: Readonly<Record<string, string>>;
  /** Columns that are not written, since the database makes them of others. They are compared all the same. */
  readonly made?: readonly string[];
  /** Columns of this database alone, and what is written to them. */
  readonly added?: Readonly<Record<string, string>>;
  /** Columns of this database alone that keep their default. */
  readonly leftOut?: readonly string[];
  /** Run before the first row is written. */
  readonly before?: string;
  /** Run when all tables are written. */
  readonly after?: string;
}

export interface CopiedTable {
  readonly name: string;
  readonly columns: Readonly<Record<string, Kind>>;
  /** Columns that make a row unique: rows are copied and compared in their order. */
  readonly order: readonly string[];
  readonly sqlite?: TableMapping & {
    /** Run for each row too, with `:column` for its values. */
    readonly also?: string;
  };
  readonly postgres?: TableMapping & {
    /** Columns that are written otherwise than by their kind. */
    readonly write?: Readonly<Record<string, string>>;
    /** Takes the place of an insert of all rows `r`. */
    readonly insert?: string;
  };
}

/** The expressions of the table's columns, each under the column's own name. */
export function selectList(
  { columns }: CopiedTable,
  { names = {}, read = {} }: TableMapping,
  toValue: (kind: Kind, expression: string) => string,
): string {
  return Object.entries(columns)
    .map(([name, kind]) => `${toValue(kind, read[name] ?? `t."${names[name] ?? name}"`)} as "${name}"`)
    .join(', ');
}

/** The columns that are written, with their names here. */
export function writtenColumns(
  { columns }: CopiedTable,
  { names = {}, made = [] }: TableMapping,
): readonly { readonly name: string; readonly column: string; readonly kind: Kind }[] {
  return Object.entries(columns)
    .filter(([name]) => !made.includes(name))
    .map(([name, kind]) => ({ name, column: names[name] ?? name, kind }));
}

/** The same text for the same JSON, in whichever order a database keeps members. */
export function sortMembers(json: string): string {
  return JSON.stringify(JSON.parse(json), (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
}
