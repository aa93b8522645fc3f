// One worker: takes slices and due retries from the work source, sends their rows, and commits what came of them. Any
// number of workers in any number of threads and processes may work on the same broadcasts.
//
//   WORKING  takes work, sends in batches, commits. Nothing to do → waits until something is due
//   STOPPING takes no more rows, waits a while for answers; what has none by then is given back, and may be repeated
//   STOPPED  everything is committed or given back
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Broadcast } from '../store/broadcasts.ts';
import type { Ledger } from '../store/ledger.ts';
import type { WorkSource } from '../store/work-source.ts';
import type { Clock, Timer } from '../transport/clock.ts';
import { Assignment, type AssignedRow, type CommitPart } from './assignment.ts';
import type { MessagePath } from './message-path.ts';
import type { NotSent } from './not-sent.ts';
import type { Result } from './post.ts';
import { toRowResult, type RecordSettings } from './record.ts';
import type { WorkerSettings } from './settings.ts';

export interface WorkerParts {
  readonly work: WorkSource;
  readonly ledger: Ledger;
  readonly path: MessagePath;
  readonly record: RecordSettings;
  readonly settings: WorkerSettings;
  readonly clock: Clock;
  /** Works on this broadcast only, and ends with it. Without it the worker goes on until it is stopped. */
  readonly broadcastId: number | undefined;
  /** Told of the broadcast of each slice that is leased. */
  readonly onSlice: (broadcast: Broadcast) => void;
}

/**
 * Works until the broadcast is over, paused or cancelled, or until `signal` is aborted.
 *
 * @throws what the store throws; rows that were not committed then are repeated by any worker that goes on
 */
export function runWorker(parts: WorkerParts, signal: AbortSignal): Promise<void> {
  return new Worker(parts).run(signal);
}

class Worker {
  readonly #work: WorkSource;
  readonly #ledger: Ledger;
  readonly #path: MessagePath;
  readonly #record: RecordSettings;
  readonly #settings: WorkerSettings;
  readonly #onSlice: WorkerParts['onSlice'];
  readonly #clock: Clock;
  readonly #only: { readonly broadcastId: number | undefined };
  readonly #assignments = new Set<Assignment>();
  /** Posted and not answered. */
  #inFlight = 0;
  #settledSinceCommit = 0;
  #leaseRetriesNotBeforeMs = 0;
  #leaseSliceNotBeforeMs = 0;
  #fault: { readonly cause: unknown } | undefined;
  #wake: () => void = () => {};

  constructor({ work, ledger, path, record, settings, clock, broadcastId, onSlice }: WorkerParts) {
    this.#work = work;
    this.#ledger = ledger;
    this.#path = path;
    this.#record = record;
    this.#settings = settings;
    this.#clock = clock;
    this.#only = { broadcastId };
    this.#onSlice = onSlice;
  }

  async run(signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake();
    const committing = every(this.#settings.commitEveryMs, () => this.#commitAll(), this.#clock);
    const renewing = every(this.#settings.leaseMs / 3, () => this.#renewAll(), this.#clock);
    signal.addEventListener('abort', wake);
    try {
      while (!signal.aborted && (await this.#turn(signal)));
      await this.#stop();
    } finally {
      signal.removeEventListener('abort', wake);
      committing.cancel();
      renewing.cancel();
    }
  }

  /** @returns false when there is nothing left to work for */
  async #turn(signal: AbortSignal): Promise<boolean> {
    this.#throwFault();
    await this.#takeWork();
    if (this.#sendBatch()) {
      await nextTurn();
      return true;
    }
    if (this.#assignments.size > 0) {
      this.#commitAll();
      await this.#sleep(this.#settings.commitEveryMs);
      return true;
    }
    const state = await this.#work.waitForWork({ ...this.#only, signal });
    if (state === 'ready') {
      this.#leaseRetriesNotBeforeMs = 0;
      this.#leaseSliceNotBeforeMs = 0;
    }
    return state !== 'over';
  }

  /** Sees to it that there are rows to send: due retries now and then, otherwise the rest of a slice or a new one. */
  async #takeWork(): Promise<void> {
    const nowMs = this.#record.now();
    const hasSliceRows = [...this.#assignments].some(({ slice, unsentRows }) => slice && unsentRows > 0);
    if (nowMs >= this.#leaseRetriesNotBeforeMs && this.#hasRoomForRetries) {
      const isFull = await this.#leaseRetries();
      const pauseMs = isFull && !hasSliceRows ? 0 : this.#settings.leaseRetriesEveryMs;
      this.#leaseRetriesNotBeforeMs = nowMs + pauseMs;
    }
    if (this.#pageRows >= this.#settings.maxPageRows || hasSliceRows) return;

    const unread =
      [...this.#assignments].find(({ needsReading }) => needsReading) ?? (await this.#leaseSlice(nowMs));
    if (unread !== undefined) await this.#read(unread);
  }

  async #leaseSlice(nowMs: number): Promise<Assignment | undefined> {
    if (nowMs < this.#leaseSliceNotBeforeMs) return undefined;
    const { leaseMs, leaseSliceEveryMs } = this.#settings;
    const lease = await this.#work.leaseSlice({ leaseMs, ...this.#only });
    if (lease === undefined) {
      this.#leaseSliceNotBeforeMs = nowMs + leaseSliceEveryMs;
      return undefined;
    }
    this.#path.destinations.setStates(await this.#ledger.pushServices());
    this.#onSlice(lease.broadcast);
    const assignment = new Assignment(lease);
    this.#assignments.add(assignment);
    return assignment;
  }

  /** @returns true where there may be more retries that are due */
  async #leaseRetries(): Promise<boolean> {
    const { leaseMs, retryLeaseRows: limit } = this.#settings;
    const lease = await this.#work.leaseRetries({ leaseMs, limit, ...this.#only });
    if (lease === undefined) return false;
    this.#assignments.add(new Assignment(lease));
    return lease.rows.length === limit;
  }

  async #read(assignment: Assignment): Promise<void> {
    if (assignment.slice === undefined) return;
    const { readRows } = this.#settings;
    const rows = await this.#ledger.readRows(assignment.slice, assignment.readPosition, readRows);
    assignment.addRead(rows, rows.length < readRows);
  }

  /** @returns false where no row is waiting or there is no room for one */
  #sendBatch(): boolean {
    const nowMs = this.#record.now();
    const rows = this.#takeRows(nowMs);
    if (rows.length === 0) return false;
    const posted = this.#path.send(rows, (row) => this.#admit(row, nowMs), this.#recordResult);
    for (const row of posted) {
      row.sentAtMs = nowMs;
      if (row.isDetached) row.destination.gate.addDetached(row, nowMs);
    }
    this.#inFlight += posted.length;
    if (this.#settledSinceCommit >= this.#settings.commitRows) this.#commitAll();
    return true;
  }

  #takeRows(nowMs: number): AssignedRow[] {
    const { batchRows, maxPageRows } = this.#settings;
    const rows: AssignedRow[] = [];
    for (const assignment of this.#assignments) {
      // retries have their room already
      const pageRoom = assignment.slice ? maxPageRows - this.#pageRows : batchRows;
      const end = Math.min(batchRows, rows.length + pageRoom);
      while (rows.length < end) {
        const row = assignment.takeRow(this.#path.destinations.find, nowMs);
        if (row === undefined) break;
        rows.push(row);
      }
    }
    return rows;
  }

  #admit(row: AssignedRow, nowMs: number): NotSent | undefined {
    const { assignment, tries, destination } = row;
    if (nowMs >= tries.expiresAtMs) return { kind: 'expired' };
    return destination.gate.admit(assignment.areProbes, nowMs);
  }

  readonly #recordResult = (row: AssignedRow, result: Result): void => {
    const wasPosted = row.sentAtMs > 0;
    if (wasPosted) this.#recordAnswer(row, result);
    row.assignment.settle(row, toRowResult(row, result, this.#record));
    this.#settledSinceCommit += 1;
    // the other rows of a batch that is being sent have no result yet
    if (!wasPosted) return;
    if (this.#inFlight === 0 || this.#settledSinceCommit >= this.#settings.commitRows) this.#commitAll();
  };

  #recordAnswer(row: AssignedRow, result: Result): void {
    const nowMs = this.#record.now();
    const { gate } = row.destination;
    this.#inFlight -= 1;
    gate.removeDetached(row);
    if (result.kind === 'deferred') gate.deferUntil(nowMs + result.afterMs, result.detail);
    if (result.kind !== 'posted') return;
    if (result.response !== undefined) gate.recordAnswer(nowMs);
    gate.recordOutcome(result.outcome, row.recipient.subscriptionId);
  }

  get #pageRows(): number {
    let rows = 0;
    for (const { pageRows } of this.#assignments) rows += pageRows;
    return rows;
  }

  get #detachedRows(): number {
    let rows = 0;
    for (const { detachedRows } of this.#assignments) rows += detachedRows;
    return rows;
  }

  get #hasRoomForRetries(): boolean {
    const { maxRetryRows, retryLeaseRows, maxDetachedRows } = this.#settings;
    let retryRows = 0;
    for (const { slice, detachedRows } of this.#assignments) if (!slice) retryRows += detachedRows;
    return (
      retryRows + retryLeaseRows <= maxRetryRows && this.#detachedRows + retryLeaseRows <= maxDetachedRows
    );
  }

  /** Rows without an answer may stay in their page briefly, as long as there is room in it; then they are detached. */
  readonly #mayDetach = (row: AssignedRow): boolean => {
    const { maxPageRows, maxCommitDelayMs, maxDetachedRows } = this.#settings;
    const nowMs = this.#record.now();
    const mayStay = this.#pageRows <= maxPageRows / 2 && nowMs - row.sentAtMs < maxCommitDelayMs;
    if (mayStay || this.#detachedRows >= maxDetachedRows) return false;
    // the last of the room takes a whole page, so that push services which all hang at once cannot fill everything
    const hasRoom = this.#detachedRows < maxDetachedRows - maxPageRows;
    const { gate } = row.destination;
    if (!gate.mayDetach(nowMs, hasRoom)) return false;
    gate.addDetached(row, row.sentAtMs);
    return true;
  };

  #commitAll(): void {
    this.#settledSinceCommit = 0;
    for (const assignment of this.#assignments) {
      if (!assignment.isCommitting) void this.#commit(assignment, this.#mayDetach);
    }
  }

  /** Stores what is ready of the assignment, if anything is. */
  async #commit(assignment: Assignment, mayDetach: (row: AssignedRow) => boolean): Promise<void> {
    const page = assignment.takePage(mayDetach, this.#settings.leaseMs);
    const detached = assignment.takeDetached();
    if (page === undefined && detached === undefined && !assignment.isDone) return;
    assignment.isCommitting = true;
    try {
      // one transaction, where the store gathers what it is asked for at once
      await Promise.all([
        page && this.#store(assignment, page),
        detached && this.#store(assignment, detached),
      ]);
      if (assignment.isDone) await this.#letGo(assignment);
    } catch (cause) {
      this.#fault ??= { cause };
    } finally {
      assignment.isCommitting = false;
      this.#wake();
    }
  }

  async #store(assignment: Assignment, { rows, cursor }: CommitPart): Promise<void> {
    const { lease, slice } = assignment;
    const answer = await this.#ledger.commit({
      ...lease,
      slice: slice && cursor !== undefined ? { number: slice.slice, cursor } : undefined,
      rows,
      answers: this.#path.destinations.takeAnswers(),
      leaseMs: this.#settings.leaseMs,
    });
    this.#path.destinations.setStates(answer.pushServices);
    if (answer.isLeaseLost) this.#assignments.delete(assignment);
    else if (answer.state !== 'running') assignment.stop();
  }

  async #letGo(assignment: Assignment): Promise<void> {
    this.#assignments.delete(assignment);
    if (assignment.isUnfinished) await this.#work.release(assignment.lease);
  }

  #renewAll(): void {
    for (const { lease } of this.#assignments) {
      this.#work.renew(lease, this.#settings.leaseMs).catch((cause: unknown) => {
        this.#fault ??= { cause };
        this.#wake();
      });
    }
  }

  async #stop(): Promise<void> {
    const { commitEveryMs, stopGraceMs } = this.#settings;
    for (const assignment of this.#assignments) assignment.stop();
    const endMs = this.#clock.monotonicNow() + stopGraceMs;
    while (this.#inFlight > 0 && this.#assignments.size > 0 && this.#fault === undefined) {
      const leftMs = endMs - this.#clock.monotonicNow();
      if (leftMs <= 0) break;
      this.#commitAll();
      await this.#sleep(Math.min(commitEveryMs, leftMs));
    }
    for (const assignment of this.#assignments) {
      while (assignment.isCommitting) await nextTurn();
      await this.#commit(assignment, () => true);
      await this.#work.release(assignment.lease);
    }
    this.#throwFault();
  }

  #throwFault(): void {
    if (this.#fault !== undefined) throw this.#fault.cause;
  }

  /** Until something is committed, at most `ms`. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.startTimer(resolve, ms, true);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

function every(ms: number, work: () => void, { startTimer }: Clock): Timer {
  let timer: Timer;
  const again = (): void => {
    timer = startTimer(again, ms, true);
    work();
  };
  timer = startTimer(again, ms, true);
  return { cancel: () => timer.cancel() };
}
