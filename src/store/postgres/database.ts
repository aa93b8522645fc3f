// One PostgreSQL database: runs statements on a bounded number of connections. A statement that fails because the server is away,
// restarts or fails over is tried again for a while; so whatever is run here may be run twice, and must come to the same, or
// is run with `once`.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase, Pool, PoolClient } from 'pg';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createClient, defaultMaxConnections, openPool } from './connection.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { codeOf, isPassing, toStoreError } from './database-errors.ts';
import { describeDatabase } from './database-url.ts';

// The server's time, known in this process without asking for it each time: the difference to a clock that only goes forward
// is learnt from the middle of a round trip, and learnt again now and then while it is used. So this machine's own time may be
// wrong, or be set.
interface ServerClock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Asks the server. */
  learn(): Promise<void>;
}

export interface ServerClockOptions {
  /** @returns the server's time */
  readonly readServerTime: () => Promise<number>;
  readonly monotonicNow?: (() => number) | undefined;
}

const learnAgainAfterMs = 30_000;
/** If the round trip was slow, the answer is inexact, or the server slow to come back. */
const slowRoundTripMs = 500;
const learnSoonAfterMs = 1000;

export function createServerClock({
  readServerTime,
  monotonicNow = () => performance.now(),
}: ServerClockOptions): ServerClock {
  let aheadMs = Date.now() - monotonicNow();
  let learnAtMs = Number.NEGATIVE_INFINITY;

  const learn = async (): Promise<void> => {
    const askedAtMs = monotonicNow();
    learnAtMs = askedAtMs + learnAgainAfterMs;
    const serverMs = await readServerTime();
    const answeredAtMs = monotonicNow();
    const roundTripMs = answeredAtMs - askedAtMs;
    if (roundTripMs > slowRoundTripMs) learnAtMs = answeredAtMs + learnSoonAfterMs;
    const measuredMs = serverMs - (askedAtMs + answeredAtMs) / 2;
    // what may be the inexactness of the measurement is no reason to let the time leap
    if (Math.abs(measuredMs - aheadMs) > roundTripMs / 2 + 1) aheadMs = measuredMs;
  };

  return {
    learn,
    now() {
      const monotonicMs = monotonicNow();
      // a server that is away is met by whoever works with it
      if (monotonicMs >= learnAtMs) void learn().catch(() => {});
      return Math.round(monotonicMs + aheadMs);
    },
  };
}

export interface PostgresDatabaseOptions extends ConnectionOptions {
  /** The clock, milliseconds since 1970. Default: that of the database. */
  readonly now?: (() => number) | undefined;
  /** How long a statement is tried again if the server is away. Default: 20 000. */
  readonly retryForMs?: number | undefined;
}

export type Value = string | number | bigint | boolean | Date | Uint8Array | null | readonly Value[];

/** Runs one statement. @returns its rows */
export type Query = <Row extends object>(sql: string, values?: readonly Value[]) => Promise<readonly Row[]>;

const defaultRetryForMs = 20_000;
const firstPauseMs = 50;
const maxPauseMs = 1000;
const retryBrieflyForMs = 500;

export class PostgresDatabase {
  #pool: Pool;
  readonly #options: PostgresDatabaseOptions;
  readonly #retryForMs: number;
  readonly #closing = new AbortController();
  #freeConnections: number;
  readonly #waiting: (() => void)[] = [];
  #pending = 0;
  #onIdle: (() => void) | undefined;
  /** Ids of `once` whose answers have come: the next one deletes them. */
  readonly #answered: string[] = [];
  /** For messages: without user and password. */
  readonly label: string;
  /** The time that statements get as an argument; `null`: they use the database's own. */
  readonly now: () => number | null;
  /** The same time, as this process knows it. */
  readonly clock: ServerClock;

  private constructor(pool: Pool, options: PostgresDatabaseOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#freeConnections = options.maxConnections ?? defaultMaxConnections;
    this.#retryForMs = options.retryForMs ?? defaultRetryForMs;
    this.label = describeDatabase(options.url);
    this.now = options.now ?? (() => null);
    this.clock = options.now
      ? { now: options.now, learn: async () => {} }
      : createServerClock({ readServerTime: () => this.#askTime() });
  }

  /** Connects with the first statement. @throws {DeskbellError} ERR_PACKAGE_MISSING, ERR_CONFIGURATION */
  static async open(options: PostgresDatabaseOptions): Promise<PostgresDatabase> {
    return new PostgresDatabase(await openPool(options), options);
  }

  /**
   * Runs one statement, which is a transaction.
   *
   * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_FIELD_VALUE, ERR_CLOSED
   */
  readonly query: Query = <Row extends object>(sql: string, values: readonly Value[] = []) =>
    this.#query<Row>(sql, values);

  /** The first row. */
  async first<Row extends object>(sql: string, values?: readonly Value[]): Promise<Row | undefined> {
    return (await this.query<Row>(sql, values))[0];
  }

  /** The same for callers that can do without the answer: repeated only if a connection has broken unnoticed. */
  readonly queryBriefly: Query = <Row extends object>(sql: string, values: readonly Value[] = []) =>
    this.#query<Row>(sql, values, retryBrieflyForMs);

  /**
   * Runs several statements as one transaction.
   *
   * @param work called again if the transaction fails with an error that passes
   * @param answerWithinMs how long a statement may take before it is given up here. Default: that of the connection
   * @throws {DeskbellError} as `query` does, or what `work` threw
   */
  transaction<Result>(work: (query: Query) => Promise<Result>, answerWithinMs?: number): Promise<Result> {
    return this.#retry(async () => {
      const client = await this.#pool.connect();
      try {
        await client.query('begin');
        const result = await work(queryOf(client, answerWithinMs));
        await client.query('commit');
        client.release();
        return result;
      } catch (error) {
        await endTransaction(client, error);
        throw error;
      }
    });
  }

  /**
   * Runs several statements as one transaction that is committed once: if the answer to the commit was lost, its id in
   * `commits` says that it was made, and the result is what `work` had come to.
   */
  async once<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
    const id = randomUUID();
    const answered = this.#answered.splice(0);
    let result: Result | undefined;
    const commit = this.transaction(async (query) => {
      const isNew = await query(
        `with answered as (delete from deskbell.commits where id = any ($3))
         insert into deskbell.commits (id, at_ms) values ($1, $2) on conflict do nothing returning id`,
        [id, this.clock.now(), answered],
      );
      if (isNew.length > 0) result = await work(query);
      return result as Result;
    });
    try {
      const done = await commit;
      this.#answered.push(id);
      return done;
    } catch (error) {
      this.#answered.push(...answered);
      throw error;
    }
  }

  /**
   * Runs statements outside of any transaction, on a connection of their own, however long they take or wait for locks.
   *
   * @throws what the server or the driver says
   */
  async alone<Result>(work: (query: Query) => Promise<Result>, answerWithinMs: number): Promise<Result> {
    const client = await createClient(this.#options);
    try {
      await client.connect();
      await client.query('set statement_timeout = 0; set lock_timeout = 0');
      return await work(queryOf(client, answerWithinMs));
    } finally {
      await client.end();
    }
  }

  async #askTime(): Promise<number> {
    const [row] = await this.queryBriefly<{ readonly now_ms: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms',
    );
    if (row === undefined) throw new Error('The server does not tell the time.');
    return row.now_ms;
  }

  /** Waits for what was asked for, then takes no more. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    if (this.#pending > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#pool.end();
  }

  #query<Row extends object>(sql: string, values: readonly Value[], forMs?: number): Promise<readonly Row[]> {
    return this.#retry(
      async () =>
        (await this.#pool.query<Row & Record<string, unknown>>(sql, values as unknown[]))
          .rows as readonly Row[],
      forMs,
    );
  }

  async #retry<Result>(work: () => Promise<Result>, forMs = this.#retryForMs): Promise<Result> {
    if (this.#closing.signal.aborted) throw new DeskbellError('ERR_CLOSED', 'The store is closed.');
    const endMs = performance.now() + forMs;
    this.#pending += 1;
    try {
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
        try {
          return await this.#inTurn(work);
        } catch (error) {
          const mayPass = (await this.#adaptTo(error)) || isPassing(error);
          const isOver = this.#closing.signal.aborted || performance.now() + pauseMs >= endMs;
          if (!mayPass || isOver) throw toStoreError(error, this.label);
          await sleep(pauseMs * (0.5 + Math.random() / 2));
        }
      }
    } finally {
      this.#pending -= 1;
      if (this.#pending === 0) this.#onIdle?.();
    }
  }

  /** Waits here while all connections are in use: the pool would mistake a long queue for a server that is away. */
  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#freeConnections === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#freeConnections -= 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#freeConnections += 1;
      else next();
    }
  }

  /** PgBouncer knows few settings of a connection; statements are given up by this side alone then. */
  async #adaptTo(error: unknown): Promise<boolean> {
    const isRefused =
      codeOf(error) === '08P01' && /unsupported startup parameter/.test((error as Error).message);
    if (!isRefused) return false;
    const former = this.#pool;
    this.#pool = await openPool(this.#options, {});
    void former.end();
    return true;
  }
}

const queryOf =
  (client: ClientBase, answerWithinMs?: number): Query =>
  async <Row extends object>(text: string, values: readonly Value[] = []) => {
    // `pg` knows the last one, its types do not
    const statement = { text, values: values as unknown[], query_timeout: answerWithinMs };
    return (await client.query<Row & Record<string, unknown>>(statement)).rows as readonly Row[];
  };

/** After a fault that is not the caller's own, the connection is closed: it may be broken, or still run what has timed out. */
async function endTransaction(client: PoolClient, error: unknown): Promise<void> {
  if (!(error instanceof DeskbellError)) return client.release(true);
  try {
    await client.query('rollback');
    client.release();
  } catch {
    client.release(true);
  }
}

// Calls functions of the database with arguments by name: among twenty, nobody would notice two that have changed places.

/**
 * @param given by the names of the function's parameters, in any order
 * @returns `call`: to stand in a statement
 */
export function callFunction(
  name: string,
  given: Readonly<Record<string, Value>>,
): { readonly call: string; readonly values: readonly Value[] } {
  const named = Object.keys(given).map((parameter, index) => `${parameter} => $${index + 1}`);
  return { call: `${name}(${named.join(', ')})`, values: Object.values(given) };
}
