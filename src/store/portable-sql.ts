// SQL that is the same in both databases. It names tables with their schema (`deskbell.audit`) and values by name (`:nowMs`). Each
// role that is not called for every message is written in it, once. The others have files of one name in `sqlite/` and `postgres/`.
import { fieldError } from '../errors/deskbell-error.ts';
import type { StoredSubscription } from './subscriptions.ts';

/** Lists of numbers are for `isOneOf`. */
export type PortableValue = string | number | boolean | Uint8Array | readonly number[] | null;
export type PortableValues = Readonly<Record<string, PortableValue>>;

export interface PortableStatement {
  readonly sql: string;
  readonly values: PortableValues;
}

/** The statements of a transaction, one after the other; each yields its rows. */
export type Work<Result> = Generator<PortableStatement, Result, readonly unknown[]>;

/** Rows that `writeInBatches` changes at once: some tens of milliseconds of one transaction. */
export const batchRows = 5000;

/** Finds several subscriptions, each by one index, whatever the tables' sizes. */
export interface GivenSubscriptions {
  /** Rows `s` of subscriptions by `:keys`, and `p` of people, if there is one. */
  readonly sql: string;
  keysOf(subscriptions: readonly Pick<StoredSubscription, 'id' | 'endpoint'>[]): string;
}

export interface PortableDatabase {
  /** The time of the store, milliseconds since 1970. */
  readonly now: () => number;
  readonly given: GivenSubscriptions;
  /** The column that subscriptions and members of lists are found by, and what it has for an endpoint in its normal form. */
  readonly endpoint: {
    readonly column: string;
    valueOf(endpoint: string): string;
    /** The expression of an index: the endpoint's host, or its origin with a slash after it. */
    readonly place: string;
  };
  /** Tags are rows of their own in SQLite, and a column in PostgreSQL. */
  readonly tags: {
    /** The tags of subscription `s` in the order of their names, as `readJson` reads them. */
    readonly ofRow: string;
    /** A table with each `tag` of each subscription. */
    readonly table: string;
    /** Statements that replace those of a subscription. @param tags a JSON array */
    set(id: number, tags: string): readonly (readonly [sql: string, values: PortableValues])[];
  };
  /** The condition that a column is one of the numbers in the value `name`. Its text does not depend on how many there are. */
  isOneOf(column: string, name: string): string;
  /** The elements of the JSON array in the value `name`: a table with one column, `value`. */
  elementsOf(name: string): string;
  /** The collation in which texts are compared byte by byte. */
  readonly byBytes: string;
  /** The function that gives the position of a text in another one, from 1, or 0. */
  readonly position: string;
  /** Ends a query whose rows are changed next, so that other transactions skip them. */
  readonly skipLocked: string;
  /** The same for rows that nobody else changes until the transaction ends: it waits for whoever does. */
  readonly forUpdate: string;
  /** How a subscription and the mark on it name each other: columns of "subscriptions", and the same of "gone_marks". */
  readonly markedRow: { readonly subscription: string; readonly mark: string };
  /** Reads a column of JSON: SQLite gives its text, PostgreSQL its value. */
  readJson<Json>(column: unknown): Json;
  /** The functions that make JSON: an array of rows in their order, and an object. */
  readonly jsonArray: string;
  readonly jsonObject: string;
  /** Runs a query. PostgreSQL may run it twice. */
  read<Row>(sql: string, values?: PortableValues): Promise<readonly Row[]>;
  /** Runs a statement, durably. PostgreSQL may run it twice, so it does not tell what it has found. */
  write(sql: string, values?: PortableValues): Promise<void>;
  /** The same as a transaction, which is committed once. @returns its rows */
  writeOnce<Row = never>(sql: string, values?: PortableValues): Promise<readonly Row[]>;
  /**
   * Runs a statement that changes at most `:batchRows` rows, in one short transaction after the other, until none is left. Others
   * write in between.
   *
   * @returns how many rows it has changed
   */
  writeInBatches(sql: string, values: PortableValues): Promise<number>;
  /**
   * Runs several statements as one transaction, which is committed once.
   *
   * @param lock names what only one transaction at a time does
   */
  transaction<Result>(work: () => Work<Result>, lock?: string): Promise<Result>;
  /**
   * The same for work that is found and repeated if a crash of the database undoes it. Nobody waits until it is on the disk, so
   * locks are held only briefly.
   */
  background<Result>(work: () => Work<Result>): Promise<Result>;
  /** The same for data that must leave no trace in the database's files: SQLite overwrites it, PostgreSQL removes it at the next vacuum. */
  erase<Result>(work: () => Work<Result>, lock?: string): Promise<Result>;
}

/** One statement of a transaction. @returns its rows */
export function* run<Row = never>(
  sql: string,
  values: PortableValues = {},
): Generator<PortableStatement, readonly Row[], readonly unknown[]> {
  return (yield { sql, values }) as readonly Row[];
}

/** The same with a statement that changes rows, without "returning". @returns how many */
export function* changeRows(sql: string, values: PortableValues): Work<number> {
  return (yield* run(`${sql} returning 1`, values)).length;
}

/**
 * PostgreSQL has no text with NUL; so SQLite gets none either.
 *
 * @throws {DeskbellError} ERR_FIELD_VALUE
 */
export function checkTexts(values: PortableValues): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'string' || !value.includes('\0')) continue;
    throw fieldError('ERR_FIELD_VALUE', `/${name}`, `"${name}" has the character NUL; give text without it.`);
  }
}
