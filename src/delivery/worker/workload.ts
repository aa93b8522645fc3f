// The work of one worker: slices to read and rows to retry, each under a lease, within the limits of the settings.
import type { Broadcast } from '../../store/broadcasts.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { Leases } from '../../store/leases.ts';
import { Assignment, type AssignedRow } from './assignment.ts';
import type { Clock } from '../../transport/clock.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { MessagePath } from '../message-path/message-path.ts';
import type { Figures } from '../reports/figures.ts';
import type { MessageLog } from '../reports/message-log.ts';
import type { RecordSettings } from './record.ts';
import type { PayloadSource } from './row-payloads.ts';
import { maxUncommittedOf, type WorkerSettings } from '../settings/settings.ts';

export interface WorkerParts {
  readonly path: MessagePath;
  readonly leases: Leases;
  readonly ledger: Ledger;
  readonly rates: RateLimits;
  readonly payloads: PayloadSource;
  readonly settings: WorkerSettings;
  readonly record: Omit<RecordSettings, 'hold'>;
  readonly clock: Clock;
  readonly figures?: Figures | undefined;
  readonly messageLog?: MessageLog | undefined;
  readonly broadcastId: number | undefined;
  /** Called with the broadcast of each slice that is leased. */
  readonly onSlice: (broadcast: Broadcast) => void;
}

/** Rows that were put aside and may be sent early. */
export interface RowsAhead {
  readonly rows: number;
  readonly aheadMs: number;
  /** Called if no rows could be leased. */
  readonly areNone: () => void;
}

export class Workload {
  readonly assignments = new Set<Assignment>();
  readonly #parts: WorkerParts;
  #leaseRetriesNotBeforeMs = 0;
  #leaseSliceNotBeforeMs = 0;
  #isLeavingRetries = false;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
  }

  /** Number of rows in the pages of all slices: taken from a slice, and not yet passed by its cursor. */
  get #pageRows(): number {
    return this.#sum(({ pageRows }) => pageRows);
  }

  /** True if more than half of the rows that may be taken from slices have been taken. */
  get isCrowded(): boolean {
    return this.#pageRows > this.#parts.settings.maxPageRows / 2;
  }

  /** How many more rows may be detached: stored individually, so that their slice's cursor can pass them. */
  get freeDetachedRows(): number {
    return this.#parts.settings.maxDetachedRows - this.detachedRows;
  }

  get detachedRows(): number {
    return this.#sum(({ detachedRows }) => detachedRows);
  }

  get #uncommittedRows(): number {
    return this.#sum(({ uncommittedRows }) => uncommittedRows);
  }

  #sum(rowsOf: (assignment: Assignment) => number): number {
    let rows = 0;
    for (const assignment of this.assignments) rows += rowsOf(assignment);
    return rows;
  }

  /** Number of retries to lease at once. It must not exceed the maximum, or no retry could ever be leased. */
  get #retryLeaseRows(): number {
    const { maxRetryRows, retryLeaseRows, maxDetachedRows } = this.#parts.settings;
    return Math.min(retryLeaseRows, maxRetryRows, maxDetachedRows);
  }

  get #hasCapacityForRetries(): boolean {
    const { maxRetryRows, maxDetachedRows } = this.#parts.settings;
    const retryRows = this.#sum(({ slice, detachedRows }) => (slice === undefined ? detachedRows : 0));
    const added = this.#retryLeaseRows;
    return retryRows + added <= maxRetryRows && this.detachedRows + added <= maxDetachedRows;
  }

  /** Makes the next `replenish` look for leases immediately. */
  lookAgain(): void {
    this.#leaseRetriesNotBeforeMs = 0;
    this.#leaseSliceNotBeforeMs = 0;
  }

  /** Delays retries until `untilMs`. Only every second call has an effect, so that retries are sent too. */
  leaveRetries(untilMs: number): void {
    this.#isLeavingRetries = !this.#isLeavingRetries;
    if (this.#isLeavingRetries) this.#leaseRetriesNotBeforeMs = untilMs;
  }

  /**
   * Provides rows to send: due retries from time to time, otherwise the rest of a slice, or a new slice.
   *
   * @param nowMs the time by the monotonic clock, like that of `leaveRetries`
   * @param ahead rows that were put aside, to be leased before they are due
   */
  async replenish(nowMs: number, ahead?: RowsAhead): Promise<void> {
    const hasSliceRows = [...this.assignments].some(({ slice, unsentRows }) => slice && unsentRows > 0);
    if (nowMs >= this.#leaseRetriesNotBeforeMs && this.#hasCapacityForRetries) {
      const limit = this.#retryLeaseRows;
      const isFull = (await this.#leaseRetries(limit)) === limit;
      const pauseMs = isFull && !hasSliceRows ? 0 : this.#parts.settings.leaseRetriesEveryMs;
      this.#leaseRetriesNotBeforeMs = nowMs + pauseMs;
    }
    if (ahead !== undefined && this.#hasCapacityForRetries) {
      const limit = Math.min(this.#retryLeaseRows, ahead.rows);
      if ((await this.#leaseRetries(limit, ahead.aheadMs)) === 0) ahead.areNone();
    }
    if (this.#pageRows >= this.#parts.settings.maxPageRows || hasSliceRows) return;

    const unread =
      [...this.assignments].find(({ needsReading }) => needsReading) ?? (await this.#leaseSlice(nowMs));
    if (unread !== undefined) await this.#read(unread);
  }

  /** @param takenAtMs the time by the monotonic clock */
  takeRows(nowMs: number, takenAtMs: number): readonly AssignedRow[] {
    const { path, settings } = this.#parts;
    const rows: AssignedRow[] = [];
    const batchRows = Math.min(settings.batchRows, maxUncommittedOf(settings) - this.#uncommittedRows);
    for (const assignment of this.assignments) {
      // retries are not limited here: no more were leased than `maxRetryRows` allows
      const capacity = assignment.slice ? settings.maxPageRows - this.#pageRows : batchRows;
      const end = Math.min(batchRows, rows.length + capacity);
      while (rows.length < end) {
        const row = assignment.takeRow(path.destinations.find, nowMs, takenAtMs);
        if (row === undefined) break;
        rows.push(row);
      }
    }
    return rows;
  }

  async #leaseSlice(nowMs: number): Promise<Assignment | undefined> {
    if (nowMs < this.#leaseSliceNotBeforeMs) return undefined;
    const { leases, ledger, path, settings, payloads, broadcastId, onSlice } = this.#parts;
    const lease = await leases.leaseSlice({ leaseMs: settings.leaseMs, broadcastId });
    if (lease === undefined) {
      this.#leaseSliceNotBeforeMs = nowMs + settings.leaseSliceEveryMs;
      return undefined;
    }
    path.destinations.setStates(await ledger.pushServices());
    onSlice(lease.broadcast);
    const assignment = new Assignment(lease, await payloads.of(lease.broadcast));
    this.assignments.add(assignment);
    return assignment;
  }

  /** @returns the number of leased rows */
  async #leaseRetries(limit: number, aheadMs?: number): Promise<number> {
    const { leases, ledger, path, settings, payloads, broadcastId } = this.#parts;
    const lease = await leases.leaseRetries({ leaseMs: settings.leaseMs, limit, aheadMs, broadcastId });
    if (lease === undefined) return 0;
    path.destinations.setStates(await ledger.pushServices());
    await path.destinations.loadKeys(lease.rows);
    const { broadcast, rows } = lease;
    const data = await payloads.dataOf(broadcast, rows);
    this.assignments.add(new Assignment(lease, await payloads.of(broadcast), data));
    return rows.length;
  }

  async #read(assignment: Assignment): Promise<void> {
    if (assignment.slice === undefined) return;
    const { ledger, path, settings, payloads } = this.#parts;
    const rows = await ledger.readRows(assignment.slice, assignment.readPosition, settings.readRows);
    await path.destinations.loadKeys(rows);
    const data = await payloads.dataOf(assignment.broadcast, rows);
    assignment.addRead(rows, rows.length < settings.readRows, data);
  }
}
