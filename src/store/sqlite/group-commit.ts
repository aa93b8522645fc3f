// The only way to write: what is asked for in one turn of the event loop shares one transaction, and so one sync
// of the disk. Each promise settles after the commit; work that fails is undone alone and does not fail the others.
import type { DatabaseSync } from 'node:sqlite';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { isBusy, toStoreError } from './sqlite-error.ts';

const defaultPatienceMs = 10_000;

interface Job {
  run(): void;
  /** Called after the commit, or after the work has failed alone. */
  settle(): void;
  fail(error: unknown): void;
}

/** Idle → (first work) scheduled → (turn ends) committing → idle; while another process writes: waiting, then again. */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #patienceMs: number;
  #jobs: Job[] = [];
  #isScheduled = false;
  #waitingSinceMs: number | undefined;
  #isClosed = false;
  #idle: (() => void)[] = [];

  constructor(database: DatabaseSync, path: string, patienceMs: number = defaultPatienceMs) {
    this.#database = database;
    this.#path = path;
    this.#patienceMs = patienceMs;
  }

  /**
   * Runs `work` inside the next transaction.
   *
   * @param work synchronous; it may throw, which undoes what it did
   * @returns what `work` returned, once that is durable
   * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_FIELD_VALUE, or what `work` threw
   */
  write<Result>(work: () => Result): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new DeskbellError('ERR_CLOSED', 'The store is closed.'));
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

  /** Waits for what has been asked for, then takes no more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#jobs.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#commit());
  }

  #commit(): void {
    try {
      this.#database.exec('begin immediate');
    } catch (error) {
      this.#waitOrGiveUp(error);
      return;
    }
    this.#isScheduled = false;
    this.#waitingSinceMs = undefined;
    const jobs = this.#jobs;
    this.#jobs = [];
    this.#runAll(jobs);
    for (const job of jobs) job.settle();
    this.#notifyIdle();
  }

  #runAll(jobs: readonly Job[]): void {
    try {
      for (const job of jobs) this.#runAlone(job);
      this.#database.exec('commit');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback');
      for (const job of jobs) job.fail(error);
    }
  }

  #runAlone(job: Job): void {
    this.#database.exec('savepoint job');
    try {
      job.run();
    } catch (error) {
      // a full disk or a failing one undoes the whole transaction: nobody's work is durable then
      if (!this.#database.isTransaction) throw error;
      this.#database.exec('rollback to job');
      job.fail(error);
    }
    this.#database.exec('release job');
  }

  #waitOrGiveUp(error: unknown): void {
    const nowMs = Date.now();
    this.#waitingSinceMs ??= nowMs;
    if (isBusy(error) && nowMs - this.#waitingSinceMs < this.#patienceMs) {
      setTimeout(() => this.#commit(), 1 + Math.random() * 9);
      return;
    }
    this.#isScheduled = false;
    this.#waitingSinceMs = undefined;
    const jobs = this.#jobs;
    this.#jobs = [];
    for (const job of jobs) {
      job.fail(error);
      job.settle();
    }
    this.#notifyIdle();
  }

  #notifyIdle(): void {
    if (this.#jobs.length > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
