// SQL that is the same in both databases. Tables are named with their schema (`deskbell.audit`), values by name
// (`:nowMs`). The parts of the store that are not called for every message are written once, with this SQL. The others
// have a file of the same name in `sqlite/` and in `postgres/`.
import { fieldError } from '../errors/deskbell-error.ts';
import type { StoredSubscription } from './subscriptions.ts';

/** Use `isOneOf` to compare with a list of numbers. `undefined` is passed as null. */
export type PortableValue = string | number | boolean | Uint8Array | readonly number[] | null | undefined;
export type PortableValues = Readonly<Record<string, PortableValue>>;

export interface PortableStatement {
  readonly sql: string;
  readonly values: PortableValues;
}

/** Yields the statements of a transaction, in order. For each statement, the generator receives its rows. */
export type Work<Result> = Generator<PortableStatement, Result, readonly unknown[]>;

/** Number of rows that `writeInBatches` changes per transaction. A transaction takes less than 0.1 s. */
export const batchRows = 5000;

/**
 * Part of a query that finds subscriptions by their keys through an index, so it is fast however large the tables are.
 */
export interface GivenSubscriptions {
  /** A `from` clause: the subscriptions in `:keys` as `s`, and their people, if any, as `p`. */
  readonly sql: string;
  keysOf(subscriptions: readonly Pick<StoredSubscription, 'id' | 'endpoint'>[]): string;
}

export interface PortableDatabase {
  /** The store's time in milliseconds since 1970. */
  readonly now: () => number;
  readonly given: GivenSubscriptions;
  /** The column that identifies subscriptions and list members, and its value for a normalized endpoint. */
  readonly endpoint: {
    readonly column: string;
    valueOf(endpoint: string): string;
    /** The expression of an index: the endpoint's host, or its origin followed by a slash. */
    readonly place: string;
  };
  /** SQLite has a row for each tag, PostgreSQL a column with all tags. */
  readonly tags: {
    /** The tags of subscription `s`, in the order of their names, for `readJson`. */
    readonly ofRow: string;
    /** A table with each `tag` of each subscription. */
    readonly table: string;
    /** Statements that replace a subscription's tags. @param tags a JSON array */
    set(id: number, tags: string): readonly (readonly [sql: string, values: PortableValues])[];
  };
  /**
   * Returns a condition that is true if the column equals any of the numbers in the value `name`. The SQL is the same
   * however many numbers there are.
   */
  isOneOf(column: string, name: string): string;
  /** Whether the channel in the value `channel` is on, according to a column of choices. Null if nothing was chosen. */
  choiceOf(column: string): string;
  /** The elements of the JSON array in the value `name`, as a table with one column, `value`. */
  elementsOf(name: string): string;
  /** A collation that compares text byte by byte. */
  readonly byBytes: string;
  /** The SQL function that finds one text within another. It returns the position from 1, or 0 if it finds nothing. */
  readonly position: string;
  /** Appended to a query to lock its rows for a change, and to skip rows that other transactions have locked. */
  readonly skipLocked: string;
  /** Appended to a query to lock its rows until the transaction ends, after waiting for other locks on them. */
  readonly forUpdate: string;
  /** The columns that link a row of "subscriptions" to its row of "gone_marks", as named in each of the two tables. */
  readonly markedRow: { readonly subscription: string; readonly mark: string };
  /** Reads a JSON column: SQLite returns text, PostgreSQL a value. */
  readJson<Json>(column: unknown): Json;
  /** SQL functions that make JSON: an array of rows in their order, and an object. */
  readonly jsonArray: string;
  readonly jsonObject: string;
  /** Runs a query. PostgreSQL may run it twice. */
  read<Row>(sql: string, values?: PortableValues): Promise<readonly Row[]>;
  /** Runs a statement durably. Returns no rows, because PostgreSQL may run it twice with different results. */
  write(sql: string, values?: PortableValues): Promise<void>;
  /** Runs a statement as a transaction that is committed exactly once. @returns its rows */
  writeOnce<Row = never>(sql: string, values?: PortableValues): Promise<readonly Row[]>;
  /**
   * Repeats a statement that changes at most `:batchRows` rows, each time in a short transaction, until none is left.
   * Others can write between these transactions.
   *
   * @returns how many rows it has changed
   */
  writeInBatches(sql: string, values: PortableValues): Promise<number>;
  /**
   * Runs several statements as one transaction that is committed exactly once.
   *
   * @param lock name of a lock, for work that only one transaction may do at a time
   */
  transaction<Result>(work: () => Work<Result>, lock?: string): Promise<Result>;
  /**
   * Like `transaction`, for work that is done again if a crash of the database undoes it. It does not wait until the
   * work is on disk, so locks are held only briefly.
   */
  background<Result>(work: () => Work<Result>): Promise<Result>;
  /**
   * Like `transaction`, for data that must leave no trace in the database's files: SQLite overwrites it, PostgreSQL
   * removes it at the next vacuum.
   */
  erase<Result>(work: () => Work<Result>, lock?: string): Promise<Result>;
}

/** Runs one statement of a transaction. @returns its rows */
export function* run<Row = never>(
  sql: string,
  values: PortableValues = {},
): Generator<PortableStatement, readonly Row[], readonly unknown[]> {
  return (yield { sql, values }) as readonly Row[];
}

/** Runs a statement that changes rows. @param sql without "returning" @returns the number of changed rows */
export function* changeRows(sql: string, values: PortableValues): Work<number> {
  return (yield* run(`${sql} returning 1`, values)).length;
}

/** Runs one durable statement that changes rows. @param sql without "returning" @returns whether it changed any */
export const changesAny = async (
  database: PortableDatabase,
  sql: string,
  values: PortableValues,
): Promise<boolean> => (await database.writeOnce(`${sql} returning 1`, values)).length > 0;

/** Replaces each null in a row with `undefined`, which stands for absent values outside the store. */
export const nullsToUndefined = <Row extends object>(row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? undefined])) as Row;

/**
 * Refuses text that contains NUL, for SQLite too, because PostgreSQL cannot store NUL.
 *
 * @throws {DeskbellError} ERR_FIELD_VALUE
 */
export function checkTexts(values: PortableValues): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'string' || !value.includes('\0')) continue;
    throw fieldError('ERR_FIELD_VALUE', `/${name}`, `"${name}" has the character NUL; give text without it.`);
  }
}
