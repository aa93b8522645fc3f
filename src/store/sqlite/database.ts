// One open SQLite file. A read runs immediately. All writes of one event-loop turn share a transaction and a disk sync.
import { statfsSync, type Stats, statSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hindranceOf, isBusy, toStoreError } from './database-errors.ts';
import { changeNothing, openDatabaseFile } from './open-database-file.ts';

/** The values of a statement's parameters, by name (`:nowMs`). */
type Values = Readonly<Record<string, SQLInputValue>>;

interface Prepared {
  readonly statement: StatementSync;
  /** @returns the values in the order in which the text uses their names */
  readonly place: (values: Values) => readonly SQLInputValue[];
}

function prepare(database: DatabaseSync, sql: string): Prepared {
  const names: string[] = [];
  // use positions, because node:sqlite looks up names at every call, which doubles the time of a short statement
  const placed = sql.replaceAll(/:(\w+)/g, (_, name: string) => {
    names.push(name);
    return '?';
  });
  const known = new Set(names);
  const place = (values: Values): readonly SQLInputValue[] => {
    for (const name in values) {
      if (!known.has(name)) throw new TypeError(`The statement has no parameter "${name}".`);
    }
    return names.map((name) => {
      const value = values[name];
      if (value === undefined) throw new TypeError(`No value for the parameter "${name}".`);
      return value;
    });
  };
  return { statement: database.prepare(placed), place };
}

export interface SqliteDatabaseOptions {
  /** The database file. It is created if it does not exist; its folder must exist. */
  readonly path: string;
  /** Returns milliseconds since 1970. All processes that use the file must have the same clock. */
  readonly now?: (() => number) | undefined;
  /** How long a write waits for writes of other processes. Default: 10 000. */
  readonly lockTimeoutMs?: number | undefined;
}

interface Job {
  run(): void;
  /** Called after the commit, or when this job alone has failed. */
  settle(): void;
  fail(error: unknown): void;
}

const defaultLockTimeoutMs = 10_000;
// with less free space than this, a commit is likely to fail soon
const minFreeBytes = 1024 * 1024;

/** Idle → (first write) scheduled → (turn ends) committing → idle. While another process writes: retrying. */
export class SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #inode: number;
  readonly #lockTimeoutMs: number;
  readonly #ofRows = new Map<string, Prepared>();
  readonly #ofTuples = new Map<string, Prepared>();
  #jobs: Job[] = [];
  #isScheduled = false;
  #waitingSinceMs: number | undefined;
  #isClosed = false;
  #onIdle: (() => void)[] = [];
  readonly now: () => number;

  /** @param database open; it is closed with this object */
  constructor(
    database: DatabaseSync,
    { path, now = Date.now, lockTimeoutMs = defaultLockTimeoutMs }: SqliteDatabaseOptions,
  ) {
    this.#database = database;
    this.#path = path;
    this.#inode = statSync(path).ino;
    this.#lockTimeoutMs = lockTimeoutMs;
    this.now = now;
  }

  /** @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW */
  static async open(options: SqliteDatabaseOptions): Promise<SqliteDatabase> {
    return new SqliteDatabase(await openDatabaseFile(options.path), options);
  }

  /**
   * Runs a statement now, in the transaction if there is one. Everything is synchronous, so a transaction is a plain
   * function that nothing can interrupt. The statement is prepared when it is first used, because a store has 200
   * statements, and most processes run only a few.
   *
   * @param sql must have colons only in front of names, not in literal text. Pass the same string each time, because
   *   finding the statement of a newly built string takes longer.
   */
  all<Row>(sql: string, values: Values = {}): readonly Row[] {
    const { statement, place } = this.#prepare(sql);
    return statement.all(...place(values)) as unknown as readonly Row[];
  }

  /** Like `all`, with each row as an array of columns, which takes half the time if there are many rows. */
  tuples<Row extends readonly unknown[]>(sql: string, values: Values = {}): readonly Row[] {
    const { statement, place } = this.#prepare(sql, this.#ofTuples);
    statement.setReturnArrays(true);
    return statement.all(...place(values)) as unknown as readonly Row[];
  }

  /** Like `all`, and returns the first row. */
  first<Row>(sql: string, values: Values = {}): Row | undefined {
    const { statement, place } = this.#prepare(sql);
    return statement.get(...place(values)) as unknown as Row | undefined;
  }

  /** Like `all`, but returns the number of changed rows. */
  run(sql: string, values: Values = {}): number {
    const { statement, place } = this.#prepare(sql);
    return Number(statement.run(...place(values)).changes);
  }

  #prepare(sql: string, known = this.#ofRows): Prepared {
    let prepared = known.get(sql);
    if (prepared === undefined) {
      prepared = prepare(this.#database, sql);
      known.set(sql, prepared);
    }
    return prepared;
  }

  /**
   * Runs a query now, outside of any transaction.
   *
   * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_CLOSED
   */
  async read<Result>(query: () => Result): Promise<Result> {
    if (!this.#database.isOpen) throw closedError();
    try {
      return query();
    } catch (error) {
      throw toStoreError(error, this.#path);
    }
  }

  /**
   * Runs `work` inside the next transaction.
   *
   * @param work synchronous. If it throws, its changes are undone, and the rest of the transaction is not affected.
   * @returns what `work` returned, once that is durable
   * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_FIELD_VALUE, ERR_CLOSED, or the error of `work`
   */
  write<Result>(work: () => Result): Promise<Result> {
    if (this.#isClosed) return Promise.reject(closedError());
    return new Promise<Result>((resolve, reject) => {
      let outcome: (() => void) | undefined;
      this.#jobs.push({
        run: () => {
          const result = work();
          outcome = () => resolve(result);
        },
        settle: () => outcome?.(),
        fail: (error) => {
          outcome = () => reject(toStoreError(error, this.#path));
        },
      });
      this.#schedule();
    });
  }

  /** @throws {DeskbellError} ERR_STORE_UNAVAILABLE if rows cannot be written now, or would be lost */
  async check(): Promise<void> {
    await this.write(() => this.#database.exec(changeNothing));
    this.#assertDiskSpace();
  }

  /**
   * Like `write`, for work that deletes data that must leave no trace in the file: SQLite overwrites the data. The log
   * is emptied afterwards, unless another process is reading or writing at that moment, or the store is closing.
   */
  async erase<Result>(work: () => Result): Promise<Result> {
    const result = await this.write(() => {
      // these pragmas already take effect when they are prepared, so do not prepare them in advance
      this.#database.exec('pragma secure_delete = on');
      try {
        return work();
      } finally {
        this.#database.exec('pragma secure_delete = fast');
      }
    });
    // the data is deleted in any case, and a later checkpoint empties the log too
    await this.read(() => this.#database.exec('pragma wal_checkpoint(truncate)')).catch(() => {});
    return result;
  }

  /** Waits for the writes in progress, then accepts no more. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#jobs.length > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    this.#database.close();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#commit());
  }

  #commit(): void {
    try {
      this.#assertSameFile();
      this.#database.exec('begin immediate');
    } catch (error) {
      this.#retryOrFail(error);
      return;
    }
    const jobs = this.#takeJobs();
    this.#runAll(jobs);
    this.#settle(jobs);
  }

  #takeJobs(): readonly Job[] {
    const jobs = this.#jobs;
    this.#jobs = [];
    this.#isScheduled = false;
    this.#waitingSinceMs = undefined;
    return jobs;
  }

  #runAll(jobs: readonly Job[]): void {
    try {
      for (const job of jobs) this.#runOne(job);
      this.#database.exec('commit');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback');
      for (const job of jobs) job.fail(error);
    }
  }

  #runOne(job: Job): void {
    this.#database.exec('savepoint job');
    try {
      job.run();
    } catch (error) {
      // a full or failing disk undoes the whole transaction, so none of the work is durable
      if (!this.#database.isTransaction) throw error;
      this.#database.exec('rollback to job');
      job.fail(error);
    }
    this.#database.exec('release job');
  }

  #retryOrFail(error: unknown): void {
    const nowMs = performance.now();
    this.#waitingSinceMs ??= nowMs;
    if (isBusy(error) && nowMs - this.#waitingSinceMs < this.#lockTimeoutMs) {
      setTimeout(() => this.#commit(), 1 + Math.random() * 9);
      return;
    }
    const jobs = this.#takeJobs();
    for (const job of jobs) job.fail(error);
    this.#settle(jobs);
  }

  #settle(jobs: readonly Job[]): void {
    for (const job of jobs) job.settle();
    if (this.#jobs.length > 0) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** Throws if the file was deleted or replaced: the open database would accept rows that nobody would see again. */
  #assertSameFile(): void {
    const present = this.#findFile();
    if (present?.ino === this.#inode) return;
    const fate = present === undefined ? 'deleted' : 'replaced';
    throw new DeskbellError(
      'ERR_STORE_UNAVAILABLE',
      `The database ${this.#path} has been ${fate} since it was opened; nothing was stored. Put it back, or restart this process.`,
    );
  }

  #findFile(): Stats | undefined {
    try {
      return statSync(this.#path, { throwIfNoEntry: false });
    } catch (cause) {
      const detail = `The database ${this.#path} cannot be found: ${hindranceOf(this.#path)}.`;
      throw new DeskbellError('ERR_STORE_UNAVAILABLE', detail, { cause });
    }
  }

  #assertDiskSpace(): void {
    const { bavail, bsize } = statfsSync(this.#path);
    if (bavail * bsize >= minFreeBytes) return;
    throw new DeskbellError('ERR_STORE_UNAVAILABLE', `The disk of the database ${this.#path} is full.`);
  }
}

const closedError = (): DeskbellError => new DeskbellError('ERR_CLOSED', 'The store is closed.');
