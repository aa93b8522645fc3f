// Writes in the order in which they were asked for, as a caller expects of one store. Rows that follow each other are
// written by one statement, which a row's own statement costs seventy times as much as its share of.
//
//   IDLE → (first write) SCHEDULED → (turn ends) WRITING, while what comes in the meantime waits → IDLE
import { DeskbellError } from '../../errors/deskbell-error.ts';

interface RowJob<Row, Result> {
  readonly row: Row;
  /** Jobs that have one in common are not written by one statement. */
  readonly keys: readonly string[];
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

type OtherJob = () => Promise<void>;

const maxBatchRows = 1000;

export class WriteQueue<Row, Result> {
  readonly #writeRows: (rows: readonly Row[]) => Promise<readonly Result[]>;
  #jobs: (RowJob<Row, Result> | OtherJob)[] = [];
  #isRunning = false;

  /** @param writeRows writes all of the rows or none; their results in the same order */
  constructor(writeRows: (rows: readonly Row[]) => Promise<readonly Result[]>) {
    this.#writeRows = writeRows;
  }

  /** Writes a row, together with its neighbours; one that cannot be stored fails alone. */
  add(keys: readonly string[], row: Row): Promise<Result> {
    return new Promise((resolve, reject) => this.#push({ row, keys, resolve, reject }));
  }

  /** Runs other work in its turn. */
  run<Other>(work: () => Promise<Other>): Promise<Other> {
    return new Promise((resolve, reject) => this.#push(() => work().then(resolve, reject)));
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
      if (typeof job === 'function') await job();
    }
    this.#isRunning = false;
  }

  /** The rows at the head of the queue that can be written together. */
  #takeBatch(): readonly RowJob<Row, Result>[] {
    const taken = new Set<string>();
    const batch: RowJob<Row, Result>[] = [];
    for (const job of this.#jobs) {
      if (typeof job === 'function' || batch.length === maxBatchRows) break;
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
      else for (const job of batch) job.reject(error);
    }
  }
}
