// One PostgreSQL database. Runs statements on a limited number of connections, and retries them for a while if the
// server is unavailable. So a statement may run twice: it must then give the same result, or be run with `once`.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase, Pool, PoolClient } from 'pg';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createClient, defaultMaxConnections, openPool } from './connection.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { codeOf, isPassing, toStoreError } from './database-errors.ts';
import { describeDatabase } from './database-url.ts';
import { describeFunctions } from './functions/all-functions.ts';
import { cut } from './writable-server.ts';

// The server's time, without asking the server each time. From time to time, a round trip measures the difference
// between the server's time and a monotonic clock. So this machine's wall clock may be wrong or be changed.
export interface ServerClockOptions {
  /** @returns the server's time */
  readonly readServerTime: () => Promise<number>;
  readonly monotonicNow?: (() => number) | undefined;
}

const learnAgainAfterMs = 30_000;
/** After a longer round trip, the clock is read again soon: the result is imprecise, or the server has just come up. */
const slowRoundTripMs = 500;
const learnSoonAfterMs = 1000;

export function createServerClock({
  readServerTime,
  monotonicNow = () => performance.now(),
}: ServerClockOptions) {
  let aheadMs = Date.now() - monotonicNow();
  let learnAtMs = Number.NEGATIVE_INFINITY;

  /** Measures how far the server's time is from the monotonic clock. */
  const learn = async (): Promise<void> => {
    const askedAtMs = monotonicNow();
    learnAtMs = askedAtMs + learnAgainAfterMs;
    const serverMs = await readServerTime();
    const answeredAtMs = monotonicNow();
    const roundTripMs = answeredAtMs - askedAtMs;
    if (roundTripMs > slowRoundTripMs) learnAtMs = answeredAtMs + learnSoonAfterMs;
    const measuredMs = serverMs - (askedAtMs + answeredAtMs) / 2;
    // ignore differences within the measurement error
    if (Math.abs(measuredMs - aheadMs) > roundTripMs / 2 + 1) aheadMs = measuredMs;
  };

  return {
    learn,
    /** Milliseconds since 1970. */
    now: (): number => {
      const monotonicMs = monotonicNow();
      // ignore the error: the next caller will notice that the server is unavailable
      if (monotonicMs >= learnAtMs) void learn().catch(() => {});
      return Math.round(monotonicMs + aheadMs);
    },
  };
}

export interface PostgresDatabaseOptions extends ConnectionOptions {
  /** Returns milliseconds since 1970. Default: the database's clock. */
  readonly now?: (() => number) | undefined;
  /** How long to retry a statement if the server is unavailable. Default: 20 000. */
  readonly retryForMs?: number | undefined;
}

export type Value = string | number | bigint | boolean | Date | Uint8Array | null | readonly Value[];

/** Runs one statement. @returns its rows */
export type Query = <Row extends object>(sql: string, values?: readonly Value[]) => Promise<readonly Row[]>;

/** A call that waits until a connection is free. */
interface WaitingCall {
  /** Until when the call is retried. After that, the call fails. */
  readonly endMs: number;
  readonly start: () => void;
  readonly fail: (error: unknown) => void;
}

/** If the server does not answer for this long while the store closes, connections are cut. */
const closeWithinMs = 5000;
const defaultRetryForMs = 20_000;
const firstPauseMs = 50;
const maxPauseMs = 1000;
/** How long `queryBriefly` retries. */
export const retryBrieflyForMs = 500;

export class PostgresDatabase {
  #pool: Pool;
  readonly #connections = new Set<PoolClient>();
  readonly #options: PostgresDatabaseOptions;
  readonly #closing = new AbortController();
  #freeConnections: number;
  #waiting: WaitingCall[] = [];
  #pending = 0;
  #onIdle: (() => void) | undefined;
  /** Ids of `once` calls whose responses have arrived. The next call of `once` deletes these ids from `commits`. */
  readonly #answered: string[] = [];
  /** How long calls are retried while the server is unavailable. */
  readonly retryForMs: number;
  /** Name for error messages, without user and password. */
  readonly label: string;
  /** The time that statements get as an argument; `null` if they use the database's own clock. */
  readonly now: () => number | null;
  /** The database's time, as this process knows it. */
  readonly clock: ReturnType<typeof createServerClock>;
  /** Name of the schema that contains the database's functions. */
  readonly functions = describeFunctions().schema;

  private constructor(pool: Pool, options: PostgresDatabaseOptions) {
    this.#pool = this.#watch(pool);
    this.#options = options;
    this.#freeConnections = options.maxConnections ?? defaultMaxConnections;
    this.retryForMs = options.retryForMs ?? defaultRetryForMs;
    this.label = describeDatabase(options.url);
    this.now = options.now ?? (() => null);
    this.clock = options.now
      ? { now: options.now, learn: async () => {} }
      : createServerClock({ readServerTime: () => this.#askTime() });
  }

  /** Opens a database. The first statement connects. @throws {DeskbellError} ERR_PACKAGE_MISSING, ERR_CONFIGURATION */
  static async open(options: PostgresDatabaseOptions): Promise<PostgresDatabase> {
    return new PostgresDatabase(await openPool(options), options);
  }

  /**
   * Runs one statement as a transaction.
   *
   * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_FIELD_VALUE, ERR_CLOSED
   */
  readonly query = this.#queryFor();

  /** Like `query`, but returns the first row. */
  async first<Row extends object>(sql: string, values?: readonly Value[]): Promise<Row | undefined> {
    return (await this.query<Row>(sql, values))[0];
  }

  /**
   * Calls a function of the database.
   *
   * @param values in the order of the parameters, or by name if there are so many that a swap could go unnoticed
   * @returns its rows; if it returns a single value, one row with the value as `result`
   */
  call<Row extends object>(
    name: string,
    values: readonly Value[] | Readonly<Record<string, Value>>,
    query: Query = this.query,
  ): Promise<readonly Row[]> {
    const parameters = Object.keys(values).map((parameter, index) =>
      Array.isArray(values) ? `$${index + 1}` : `${parameter} => $${index + 1}`,
    );
    return query<Row>(
      `select * from ${this.functions}.${name}(${parameters.join(', ')}) as result`,
      Object.values(values),
    );
  }

  /**
   * Like `query`, but retries only briefly, in case a connection broke unnoticed. Use this for results that are not
   * essential.
   */
  readonly queryBriefly = this.#queryFor(retryBrieflyForMs);

  /**
   * Runs several statements as one transaction.
   *
   * @param work called again if the transaction fails with a temporary error
   * @param answerWithinMs time limit for the response to a statement. Default: the connection's.
   * @throws {DeskbellError} the errors of `query`, or the error of `work`
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
   * Runs several statements as one transaction that is committed exactly once. If the response to the commit is lost,
   * the transaction's id in `commits` shows that it was committed, and the result is what `work` returned.
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
   * Runs statements outside of any transaction on a separate connection, however long they take or wait for locks.
   *
   * @throws the error of the server or the driver
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

  /** Waits for the calls in progress, then accepts no more. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    setTimeout(() => this.#connections.forEach(cut), closeWithinMs).unref();
    if (this.#pending > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#pool.end();
  }

  /** Remembers the pool's connections until they are closed. */
  #watch(pool: Pool): Pool {
    return pool
      .on('connect', (client) => this.#connections.add(client))
      .on('remove', (client) => this.#connections.delete(client));
  }

  #queryFor(forMs?: number): Query {
    return <Row extends object>(sql: string, values?: readonly Value[]) =>
      this.#retry(() => queryOf(this.#pool)<Row>(sql, values), forMs);
  }

  async #retry<Result>(work: () => Promise<Result>, forMs = this.retryForMs): Promise<Result> {
    if (this.#closing.signal.aborted) throw new DeskbellError('ERR_CLOSED', 'The store is closed.');
    const endMs = performance.now() + forMs;
    this.#pending += 1;
    try {
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
        try {
          return await this.#inTurn(work, endMs);
        } catch (error) {
          const mayPass = (await this.#adaptTo(error)) || isPassing(error);
          const isOver = this.#closing.signal.aborted || performance.now() + pauseMs >= endMs;
          if (mayPass && isOver) this.#failOverdue(error);
          if (!mayPass || isOver) throw toStoreError(error, this.label);
          await sleep(pauseMs * (0.5 + Math.random() / 2));
        }
      }
    } finally {
      this.#pending -= 1;
      if (this.#pending === 0) this.#onIdle?.();
    }
  }

  /** Queues here while all connections are in use. The pool would mistake a long queue for an unavailable server. */
  async #inTurn<Result>(work: () => Promise<Result>, endMs: number): Promise<Result> {
    if (this.#freeConnections === 0)
      await new Promise<void>((start, fail) => this.#waiting.push({ endMs, start, fail }));
    else this.#freeConnections -= 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#freeConnections += 1;
      else next.start();
    }
  }

  /** When a call gives up, also fails waiting calls whose time is over. Otherwise, each would first try to connect. */
  #failOverdue(error: unknown): void {
    const nowMs = performance.now();
    const overdue = this.#waiting.filter(({ endMs }) => endMs <= nowMs);
    this.#waiting = this.#waiting.filter(({ endMs }) => endMs > nowMs);
    for (const { fail } of overdue) fail(error);
  }

  /** Connects without the settings that PgBouncer refuses. As a result, only the client cancels slow statements. */
  async #adaptTo(error: unknown): Promise<boolean> {
    const isRefused =
      codeOf(error) === '08P01' && /unsupported startup parameter/.test((error as Error).message);
    if (!isRefused) return false;
    const former = this.#pool;
    this.#pool = this.#watch(await openPool(this.#options, {}));
    void former.end();
    return true;
  }
}

const queryOf =
  (client: ClientBase | Pool, answerWithinMs?: number): Query =>
  async <Row extends object>(text: string, values: readonly Value[] = []) => {
    // `pg` supports `query_timeout`, but its types do not
    const statement = { text, values: values as unknown[], query_timeout: answerWithinMs };
    return (await client.query<Row & Record<string, unknown>>(statement)).rows as readonly Row[];
  };

/** After an error that is not the caller's, closes the connection: it may be broken or still running a statement. */
async function endTransaction(client: PoolClient, error: unknown): Promise<void> {
  if (!(error instanceof DeskbellError)) return client.release(true);
  try {
    await client.query('rollback');
    client.release();
  } catch {
    client.release(true);
  }
}
