// A queue that writes rows in the order of the calls. Consecutive rows are written by one statement: a separate
// statement for each row would cost seventy times as much.
//
//   IDLE → (first write) SCHEDULED → (turn ends) WRITING, while further calls wait → IDLE
//
// While the database is unavailable, each call at the head is retried for a while. If it fails, calls that have waited
// for as long fail with it, so that no call waits for more than twice this time.
import { DeskbellError } from '../../errors/deskbell-error.ts';

interface Job {
  readonly queuedAtMs: number;
  readonly reject: (error: unknown) => void;
}

interface RowJob<Row, Result> extends Job {
  readonly row: Row;
  /** Two jobs that share a key are never written by the same statement. */
  readonly keys: readonly string[];
  readonly resolve: (result: Result) => void;
}

interface OtherJob extends Job {
  readonly work: () => Promise<void>;
}

const maxBatchRows = 1000;

export class WriteQueue<Row, Result> {
  readonly #writeRows: (rows: readonly Row[]) => Promise<readonly Result[]>;
  readonly #retryForMs: number;
  readonly #monotonicNow: () => number;
  #jobs: (RowJob<Row, Result> | OtherJob)[] = [];
  #isRunning = false;

  /**
   * @param writeRows writes all rows or none, and returns their results in the same order
   * @param retryForMs how long each call is retried while the database is unavailable
   */
  constructor(
    writeRows: (rows: readonly Row[]) => Promise<readonly Result[]>,
    retryForMs: number,
    monotonicNow = () => performance.now(),
  ) {
    this.#writeRows = writeRows;
    this.#retryForMs = retryForMs;
    this.#monotonicNow = monotonicNow;
  }

  /** Writes a row together with others in the queue. If the row cannot be stored, only its own call fails. */
  add(keys: readonly string[], row: Row): Promise<Result> {
    const queuedAtMs = this.#monotonicNow();
    return new Promise((resolve, reject) => this.#push({ row, keys, queuedAtMs, resolve, reject }));
  }

  /** Runs work that is not a row to write, when its turn in the queue comes. */
  run<Other>(work: () => Promise<Other>): Promise<Other> {
    const queuedAtMs = this.#monotonicNow();
    return new Promise((resolve, reject) =>
      this.#push({ work: () => work().then(resolve), queuedAtMs, reject }),
    );
  }

  #push(job: RowJob<Row, Result> | OtherJob): void {
    this.#jobs.push(job);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => void this.#work());
  }

  async #work(): Promise<void> {
    for (;;) {
      const batch = this.#takeBatch();
      if (batch.length > 0) {
        await this.#write(batch);
        continue;
      }
      const job = this.#jobs.shift();
      if (job === undefined) break;
      if ('work' in job) await job.work().catch((error: unknown) => this.#fail([job], error));
    }
    this.#isRunning = false;
  }

  /** Takes the rows at the head of the queue that can be written together. */
  #takeBatch(): readonly RowJob<Row, Result>[] {
    const taken = new Set<string>();
    const batch: RowJob<Row, Result>[] = [];
    for (const job of this.#jobs) {
      if ('work' in job || batch.length === maxBatchRows) break;
      if (job.keys.some((key) => taken.has(key))) break;
      for (const key of job.keys) taken.add(key);
      batch.push(job);
    }
    this.#jobs.splice(0, batch.length);
    return batch;
  }

  async #write(batch: readonly RowJob<Row, Result>[]): Promise<void> {
    try {
      const results = await this.#writeRows(batch.map(({ row }) => row));
      for (const [index, job] of batch.entries()) job.resolve(results[index] as Result);
    } catch (error) {
      const isOfOneRow =
        error instanceof DeskbellError &&
        (error.code === 'ERR_FIELD_VALUE' || error.code === 'ERR_SUBSCRIPTION_LIMIT');
      if (isOfOneRow && batch.length > 1) for (const job of batch) await this.#write([job]);
      else this.#fail(batch, error);
    }
  }

  #fail(jobs: readonly Job[], error: unknown): void {
    const isUnavailable = error instanceof DeskbellError && error.code === 'ERR_STORE_UNAVAILABLE';
    const sinceMs = this.#monotonicNow() - this.#retryForMs;
    const isOver = ({ queuedAtMs }: Job): boolean => isUnavailable && queuedAtMs <= sinceMs;
    const over = this.#jobs.filter(isOver);
    this.#jobs = this.#jobs.filter((job) => !isOver(job));
    for (const job of [...jobs, ...over]) job.reject(error);
  }
}
