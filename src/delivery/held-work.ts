// The rows that a worker holds under one token: a slice that it reads, or retries that it claimed.
//
// Of a slice, rows stand in the `page` in the order of their positions, and the cursor moves over those at its head
// that are settled. A row that holds up the page is parked: stored as in flight, so that the cursor can pass it.
// Claimed retries are stored already, and so parked from the start.
import type { Broadcast, Recipient } from '../store/broadcasts.ts';
import type { RowResult } from '../store/ledger.ts';
import type { Lease, RetryLease, RetryRow, SliceLease } from '../store/work-source.ts';
import type { OriginGate } from './origin-gate.ts';
import type { Tries } from './retry-policy.ts';
import { setAside, type Row } from './row-result.ts';

/** A row between being read and being committed. */
export interface HeldRow extends Row {
  readonly work: HeldWork;
  origin: string;
  gate: OriginGate | undefined;
  sentAtMs: number;
  isParked: boolean;
  result: RowResult | undefined;
}

/** What is ready to be committed. */
export interface Portion {
  readonly rows: readonly RowResult[];
  /** New cursor; absent where the rows were parked. */
  readonly cursor?: number;
}

export class HeldWork {
  readonly held: Lease;
  readonly broadcast: Broadcast;
  readonly lease: SliceLease | undefined;
  /** A commit is on its way; the next one waits for it, so that the cursor only moves forward. */
  isCommitting = false;
  #cursor = 0;
  #readPosition = 0;
  /** Nothing is left to be read. */
  #isRead = true;
  /** All rows up to the end of the slice were taken. */
  #reachesEnd = false;
  #wasCutShort = false;
  /** Read and not yet sent, from `#nextWaiting` on. */
  #waiting: readonly (Recipient | RetryRow)[];
  #nextWaiting = 0;
  #page: HeldRow[] = [];
  #pageStart = 0;
  readonly #parked = new Set<HeldRow>();
  /** What every row of a slice begins with. */
  readonly #untried: Tries;
  #settledParked: RowResult[] = [];

  constructor(source: SliceLease | RetryLease) {
    this.held = { broadcastId: source.broadcastId, fenceToken: source.fenceToken };
    this.broadcast = source.broadcast;
    this.#untried = { attempts: 0, deferrals: 0, expiresAtMs: source.broadcast.expiresAtMs };
    if ('rows' in source) {
      this.#waiting = source.rows;
    } else {
      this.lease = source;
      this.#waiting = [];
      this.#cursor = source.cursor;
      this.#readPosition = source.cursor;
      this.#isRead = false;
    }
  }

  get waiting(): number {
    return this.#waiting.length - this.#nextWaiting;
  }

  /** Rows of the slice that were sent or settled and are not yet behind the cursor. */
  get pageRows(): number {
    return this.#page.length - this.#pageStart;
  }

  get parkedRows(): number {
    return this.#parked.size + (this.lease === undefined ? this.waiting : 0);
  }

  get needsReading(): boolean {
    return !this.#isRead && this.waiting === 0;
  }

  get readPosition(): number {
    return this.#readPosition;
  }

  /** Everything that was taken is committed. */
  get isDone(): boolean {
    const open = this.pageRows + this.#parked.size + this.#settledParked.length;
    return this.#isRead && this.waiting === 0 && open === 0 && !this.#isAtEnd;
  }

  /** Stopped before all rows were sent: someone else goes on. */
  get isUnfinished(): boolean {
    return this.#wasCutShort;
  }

  /** The slice ends in rows that are not there any more: the cursor passes them without any row. */
  get #isAtEnd(): boolean {
    const { lease } = this;
    if (lease === undefined || !this.#reachesEnd) return false;
    return this.waiting === 0 && this.pageRows === 0 && this.#cursor < lease.throughPosition;
  }

  /** Rows that were read, and whether they reach the end of the slice. */
  read(rows: readonly Recipient[], isLast: boolean): void {
    if (this.#isRead) return;
    this.#waiting = rows;
    this.#nextWaiting = 0;
    this.#readPosition = rows.at(-1)?.position ?? this.#readPosition;
    this.#isRead = isLast;
    this.#reachesEnd = isLast;
  }

  /** Takes the next row to be sent; its origin and gate are still to be found out. */
  next(): HeldRow | undefined {
    const recipient = this.#waiting[this.#nextWaiting];
    if (recipient === undefined) return undefined;
    this.#nextWaiting += 1;
    const isParked = this.lease === undefined;
    const row: HeldRow = {
      work: this,
      recipient,
      broadcast: this.broadcast,
      origin: '',
      gate: undefined,
      tries: 'deferrals' in recipient ? triesOf(recipient) : this.#untried,
      sentAtMs: 0,
      isParked,
      result: undefined,
    };
    if (isParked) this.#parked.add(row);
    else this.#page.push(row);
    return row;
  }

  settle(row: HeldRow, result: RowResult): void {
    row.result = result;
    if (!row.isParked) return;
    this.#parked.delete(row);
    this.#settledParked.push(result);
  }

  /** Takes no more rows to send: those that were read and not sent are left to whoever holds the work next. */
  stop(): void {
    if (this.waiting > 0 || !this.#isRead) {
      this.#reachesEnd = false;
      this.#wasCutShort = true;
    }
    this.#waiting = [];
    this.#nextWaiting = 0;
    this.#isRead = true;
  }

  /** The settled parked rows, as one portion. */
  takeParked(): Portion | undefined {
    if (this.#settledParked.length === 0) return undefined;
    const rows = this.#settledParked;
    this.#settledParked = [];
    return { rows };
  }

  /**
   * The settled rows at the head of the page.
   *
   * @param park parks rows without an answer that stand in the way, as many as it returns true for
   * @param leaseMs how long parked rows are held
   */
  takePage(park: (row: HeldRow) => boolean, leaseMs: number): Portion | undefined {
    const rows: RowResult[] = [];
    for (; this.#pageStart < this.#page.length; this.#pageStart += 1) {
      const row = this.#page[this.#pageStart];
      if (row === undefined) break;
      if (row.result !== undefined) rows.push(row.result);
      else if (park(row)) {
        row.isParked = true;
        this.#parked.add(row);
        rows.push(setAside(row, leaseMs));
      } else break;
      this.#cursor = row.recipient.position;
    }
    if (this.#pageStart >= 1024 || this.#pageStart === this.#page.length) {
      this.#page = this.#page.slice(this.#pageStart);
      this.#pageStart = 0;
    }
    return this.#portion(rows);
  }

  #portion(rows: readonly RowResult[]): Portion | undefined {
    if (rows.length === 0 && !this.#isAtEnd) return undefined;
    if (this.#isAtEnd) this.#cursor = this.lease?.throughPosition ?? this.#cursor;
    return { rows, cursor: this.#cursor };
  }
}

const triesOf = ({ attempts, deferrals, expiresAtMs }: RetryRow): Tries => ({
  attempts,
  deferrals,
  expiresAtMs,
});
