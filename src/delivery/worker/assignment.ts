// The rows that a worker has under one lease: a slice that it reads, or rows to retry.
//
//   READING  some rows of the slice have not been read yet
//   READ     all rows have been read; once they are settled, the cursor moves to the end of the slice
//   STOPPED  no more rows are taken; the cursor does not pass unsent rows, so the next holder reads them again
//
// The *page* contains the rows taken from a slice, in order of position. The *cursor* is the position up to
// which all rows are settled, and moves over settled rows at the head of the page. A row that delays others is
// *detached*: it is stored individually, so that the cursor can pass it. Retries are stored individually already, so
// they are always detached.
import assert from 'node:assert/strict';
import type { PushOptions } from '../../protocol/request.ts';
import type { Broadcast, Recipient } from '../../store/broadcasts.ts';
import type { PageOfSlice, RowResult } from '../../store/ledger.ts';
import type { HeldLease, RetryLease, RetryRow, SliceLease } from '../../store/leases.ts';
import { createQuietTimes, createReaderTimes, hasReaderTimes } from '../../store/reader-times.ts';
import type { Addressee, Destination } from '../message-path/destinations.ts';
import type { Sending } from '../../transport/transport.ts';
import type { NotSendable } from '../limits/not-sent.ts';
import { toDetached, type Row } from './record.ts';
import type { Tries } from '../settings/retry-policy.ts';
import type { DataOfRows, RowPayloads } from './row-payloads.ts';

/** A row from the time it is taken until it is committed. */
export interface AssignedRow extends Row {
  readonly assignment: Assignment;
  readonly payload: Uint8Array;
  readonly fault: NotSendable | undefined;
  readonly options: PushOptions;
  /** When the row was taken, by the monotonic clock. */
  readonly takenAtMs: number;
  readonly isReturning: boolean;
  /** Set when the row is posted. */
  sending: Sending | undefined;
  sentAtMs: number;
  isDetached: boolean;
  result: RowResult | undefined;
}

export interface CommitPart {
  readonly rows: readonly RowResult[];
  /** The cursor before and after the commit. Absent for detached rows. */
  readonly cursors?: Omit<PageOfSlice, 'number'>;
}

type Mode = 'READING' | 'READ' | 'STOPPED';

export class Assignment {
  readonly lease: HeldLease;
  readonly broadcast: Broadcast;
  /** Absent if the assignment contains retries. */
  readonly slice: SliceLease | undefined;
  readonly areProbes: boolean;
  /** The commit in progress. The next commit waits for it, so that the cursor only moves forward. */
  committed: Promise<void> | undefined;
  #mode: Mode;
  isStopped = false;
  #cursor = 0;
  /** Index of the first member that the cursor has not passed, if the slice lists its members. */
  #nextMember = 0;
  readPosition = 0;
  /** Rows that were read. The rows from index `#nextUnsent` on have not been taken. */
  #unsent: readonly (Recipient | RetryRow)[];
  #nextUnsent = 0;
  #page: AssignedRow[] = [];
  #pageStart = 0;
  readonly #detached = new Set<AssignedRow>();
  #settledDetached: RowResult[] = [];
  /** Number of taken rows whose commit is not confirmed. After a crash, these rows are sent again. */
  uncommittedRows = 0;
  /** The `tries` of a row that is taken for the first time. */
  readonly #untried: Tries;
  readonly #options: PushOptions;
  readonly #payloads: RowPayloads;
  readonly #quietEnd: ReturnType<typeof createQuietTimes>;
  #data: DataOfRows;

  /** @param data the readers' data; given only for retries */
  constructor(source: SliceLease | RetryLease, payloads: RowPayloads, data: DataOfRows = {}) {
    const { broadcastId, fenceToken } = source;
    this.lease = { broadcastId, fenceToken, ...('slice' in source && { slice: source.slice }) };
    this.broadcast = source.broadcast;
    const reader = 'reader' in source ? source.reader : undefined;
    this.#untried = { attempts: 0, deferrals: 0, expiresAtMs: expiryOf(source.broadcast, reader), reader };
    const { ttlSeconds, urgency, topic } = source.broadcast;
    this.#options = { ttlSeconds, urgency, topic };
    this.#payloads = payloads;
    this.#quietEnd = createQuietTimes(source.broadcast);
    this.#data = data;
    this.areProbes = 'areProbes' in source && source.areProbes;
    if ('rows' in source) {
      this.#mode = 'READ';
      this.#unsent = source.rows;
    } else {
      this.#mode = 'READING';
      this.slice = source;
      this.#unsent = [];
      this.#cursor = source.cursor;
      this.#passMembers();
      this.readPosition = source.cursor;
    }
  }

  get unsentRows(): number {
    return this.#unsent.length - this.#nextUnsent;
  }

  /** Number of rows in the page: taken from the slice, and not yet passed by its cursor. */
  get pageRows(): number {
    return this.#page.length - this.#pageStart;
  }

  get detachedRows(): number {
    return this.#detached.size + (this.slice === undefined ? this.unsentRows : 0);
  }

  get needsReading(): boolean {
    return this.#mode === 'READING' && this.unsentRows === 0;
  }

  /** True if every row that was taken is committed. */
  get isDone(): boolean {
    const open = this.unsentRows + this.pageRows + this.#detached.size + this.#settledDetached.length;
    return this.#mode !== 'READING' && open === 0 && !this.#isBeforeEnd;
  }

  /** True if other workers will continue the assignment. */
  get isUnfinished(): boolean {
    return this.#mode === 'STOPPED';
  }

  /** True if the cursor cannot reach the end of the slice, because all rows after it were removed. */
  get #isBeforeEnd(): boolean {
    const isPassed = this.#mode === 'READ' && this.unsentRows === 0 && this.pageRows === 0;
    return this.slice !== undefined && isPassed && this.#cursor < this.slice.throughPosition;
  }

  /** Adds rows that were read, unless the assignment was stopped. @param isLast true if the slice has no more rows */
  addRead(rows: readonly Recipient[], isLast: boolean, data: DataOfRows = {}): void {
    assert(this.#mode !== 'READ' && this.unsentRows === 0, 'rows are read only where some are left');
    if (this.#mode === 'STOPPED') return;
    this.#unsent = rows;
    this.#nextUnsent = 0;
    this.#data = data;
    this.readPosition = rows.at(-1)?.position ?? this.readPosition;
    if (isLast) this.#mode = 'READ';
  }

  /**
   * Takes the next row to send.
   *
   * @param destinationOf returns the destination of a recipient's messages
   * @param takenAtMs the time by the monotonic clock
   */
  takeRow(
    destinationOf: (addressee: Addressee) => Destination,
    nowMs: number,
    takenAtMs: number,
  ): AssignedRow | undefined {
    const recipient = this.#unsent[this.#nextUnsent];
    if (recipient === undefined) return undefined;
    this.#nextUnsent += 1;
    this.uncommittedRows += 1;
    const isDetached = this.slice === undefined;
    const { broadcast } = this;
    const isRetry = 'deferrals' in recipient;
    const tries = isRetry ? triesOf(recipient) : this.#untried;
    const payload = this.#payloads(tries.reader?.language, recipient, this.#data);
    const fault = payload instanceof Uint8Array ? undefined : payload;
    const row: AssignedRow = {
      assignment: this,
      recipient,
      broadcast,
      destination: destinationOf(recipient),
      tries,
      ifRefused: isRetry ? recipient.ifRefused : 'suspend',
      payload: payload instanceof Uint8Array ? payload : noPayload,
      fault,
      options: tries.attempts === 0 ? this.#options : { ...this.#options, ttlSeconds: ttlLeft(tries, nowMs) },
      takenAtMs,
      isReturning: isDetached,
      sending: undefined,
      sentAtMs: 0,
      isDetached,
      result: undefined,
    };
    if (isDetached) this.#detached.add(row);
    else this.#page.push(row);
    return row;
  }

  /** When the current quiet hours of a row's reader end; undefined if there are none. */
  quietEnd({ tries }: AssignedRow, nowMs: number): number | undefined {
    return this.#quietEnd?.(tries.reader?.timeZone, nowMs);
  }

  settle(row: AssignedRow, result: RowResult): void {
    assert(row.result === undefined, 'a row is settled once');
    row.result = result;
    if (!row.isDetached) return;
    this.#detached.delete(row);
    this.#settledDetached.push(result);
  }

  recordCommitted(rows: readonly RowResult[]): void {
    for (const { result } of rows) if (result !== 'detached') this.uncommittedRows -= 1;
  }

  stop(): void {
    this.isStopped = true;
    if (this.unsentRows > 0 || this.#mode === 'READING') this.#mode = 'STOPPED';
    this.#unsent = [];
    this.#nextUnsent = 0;
  }

  /** Takes the detached rows that are settled. */
  takeDetached(): CommitPart | undefined {
    if (this.#settledDetached.length === 0) return undefined;
    const rows = this.#settledDetached;
    this.#settledDetached = [];
    return { rows };
  }

  /**
   * Takes the settled rows at the start of the page.
   *
   * @param mayDetach called for each unsettled row that delays the rows behind it; may settle the row
   * @param leaseMs how long detached rows are leased
   */
  takePage(mayDetach: (row: AssignedRow) => boolean, leaseMs: number): CommitPart | undefined {
    const rows: RowResult[] = [];
    const fromCursor = this.#cursor;
    for (; this.#pageStart < this.#page.length; this.#pageStart += 1) {
      const row = this.#page[this.#pageStart];
      if (row === undefined) break;
      const isDetached = row.result === undefined && mayDetach(row);
      if (row.result !== undefined) rows.push(row.result);
      else if (isDetached) {
        row.isDetached = true;
        this.#detached.add(row);
        rows.push(toDetached(row, leaseMs));
      } else break;
      this.#cursor = row.recipient.position;
    }
    if (this.#pageStart >= 1024 || this.#pageStart === this.#page.length) {
      this.#page = this.#page.slice(this.#pageStart);
      this.#pageStart = 0;
    }
    if (this.slice === undefined || (rows.length === 0 && !this.#isBeforeEnd)) return undefined;
    if (this.#isBeforeEnd) this.#cursor = this.slice.throughPosition;
    const passed = this.#passMembers();
    const missing = passed === undefined ? undefined : { missing: passed - rows.length };
    return { rows, cursors: { fromCursor, cursor: this.#cursor, ...missing } };
  }

  /** @returns how many members the cursor has passed since the last call; undefined if the slice has no list */
  #passMembers(): number | undefined {
    const ids = this.slice?.members?.ids;
    if (ids === undefined) return undefined;
    const first = this.#nextMember;
    while (this.#nextMember < ids.length && ids[this.#nextMember]! <= this.#cursor) this.#nextMember += 1;
    return this.#nextMember - first;
  }
}

const noPayload = new Uint8Array();

/** When an untried row expires. The time may depend on the reader's time zone. */
const expiryOf = (broadcast: Broadcast, reader: SliceLease['reader']): number =>
  hasReaderTimes(broadcast)
    ? createReaderTimes(broadcast)(reader?.timeZone).expiresAtMs
    : broadcast.expiresAtMs;

/** The remaining TTL in seconds. It counts from the first attempt. */
function ttlLeft({ expiresAtMs }: Tries, nowMs: number): number {
  return Math.max(0, Math.floor((expiresAtMs - nowMs) / 1000));
}

const triesOf = (row: RetryRow): Tries => {
  const { attempts, deferrals, expiresAtMs, refusals, doubts, isOutside, reader } = row;
  const tries = { attempts, deferrals, expiresAtMs, refusals, doubts };
  return { ...tries, ...(isOutside && { isOutside }), ...(reader && { reader }) };
};
