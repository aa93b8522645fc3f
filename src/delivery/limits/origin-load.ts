// The load of one worker for one push service: rows that wait for its pace, rows in flight, and rows in flight that
// are stored one by one because their responses are late. It decides whether rows may wait in memory without delaying
// other push services, and whether the push service answers at all.
//
//   FLOWING     rows wait in memory: returning rows first, then rows of slices, each in their order
//   BACKLOGGED  a row has waited too long, or memory fills up while many rows wait or requests in flight get no
//               response. Rows of slices may not wait in memory. They are put aside: stored, and read again after half
//               of the expected wait, in case the pace grows. When nothing waits any more → FLOWING
//   SILENT      requests in flight got no response for so long that the push service must be broken: nothing is sent
//   HELD        nothing can be sent: rows are put aside for a long time, in order, but a few come back soon as probes
//
// Rows that were put aside come back early as soon as the push service answers and no row waits in memory. This
// includes rows that another worker held. A response ends SILENT and HELD. All times are by the monotonic clock.
import { Fifo } from '../../transport/fifo.ts';
import type { Sending } from '../../transport/transport.ts';
import type { NotSent } from './not-sent.ts';
import type { WorkerSettings } from '../settings/settings.ts';

export type LoadSettings = Pick<WorkerSettings, 'patienceMs' | 'silentAfterMs' | 'minAsideMs' | 'heldMs'>;

/** What `OriginLoad` needs to know about a row. */
export interface LoadRow {
  readonly takenAtMs: number;
  /** True if the row was stored to be sent later, and has now been read again. */
  readonly isReturning: boolean;
  readonly sending?: Sending | undefined;
}

/** The average latency covers about this many responses. */
const averageOver = 64;
/** A response that takes more round trips than this is late. */
const lateAfterRoundTrips = 1.5;
/** If there is no response at all for this many round trips, requests count as stalled. */
const stalledAfterRoundTrips = 2;
/** How many round trips a row may wait. A push service that is silent for that long counts as broken. */
const longRoundTrips = 4;
/** Rows that were put aside are read again at this many times the push service's pace, because the pace may rise. */
const earlierBy = 2;
/** This many retries may always wait in memory. More retries may wait if they can be sent within `patienceMs`. */
const leastStake = 64;
/**
 * Number of probes. A single probe is not enough, because its row may expire or be removed before a worker leases the
 * row again.
 */
const probeRows = 4;
/** After this time, a probe that has not come back is assumed to have expired or been removed. */
const probesLateMs = 1000;
/** Rows held because nothing can be sent are read again at this many per millisecond, whatever the earlier pace. */
const heldPerMs = 0.4;

/** How long a worker assumes, after a held row has come back, that other workers may still hold rows. */
const othersHeldMs = 3_600_000;
/** A row that is put aside should be stored within this time. Its wait starts when it is stored. */
const storedWithinMs = 10_000;

export class OriginLoad<Row extends LoadRow = LoadRow> {
  readonly #settings: LoadSettings;
  readonly #returning = new Fifo<Row>();
  readonly #fresh = new Fifo<Row>();
  /** Number of rows in flight whose results are stored one by one. */
  readonly #detached = new Set<Row>();
  #inFlight = 0;
  /** The oldest row in flight. */
  #first: Row | undefined;
  #firstSentAtMs = 0;
  #answeredAtMs = 0;
  #latencyMs = 0;
  #isBacklogged = false;
  #isHeld = false;
  #probes = 0;
  #probesAtMs = 0;
  /** When the last retry that was put aside is due. For rows of slices, this time is `#freshUntilMs`. */
  #returningUntilMs = Number.NEGATIVE_INFINITY;
  #freshUntilMs = Number.NEGATIVE_INFINITY;
  /** Until this time, rows that another worker held may come back. */
  #othersUntilMs = Number.NEGATIVE_INFINITY;

  constructor(settings: LoadSettings) {
    this.#settings = settings;
  }

  get waiting(): number {
    return this.#returning.length + this.#fresh.length;
  }

  get detached(): number {
    return this.#detached.size;
  }

  /**
   * @param perMs requests per millisecond
   * @returns how long the row must wait in the store; `undefined` if it waits in memory
   */
  add(row: Row, perMs: number, nowMs: number): NotSent | undefined {
    if (row.isReturning && this.#returning.length >= this.#stake(perMs))
      return this.putAside(row, perMs, nowMs);
    (row.isReturning ? this.#returning : this.#fresh).push(row);
    return undefined;
  }

  shift(): Row | undefined {
    return this.#returning.shift() ?? this.#fresh.shift();
  }

  /**
   * True if rows of slices for this push service must be stored until later instead of waiting in memory.
   *
   * @param perMs requests per millisecond
   * @param isCrowded true if there is little room left for rows of other push services
   */
  isBacklogged(perMs: number, nowMs: number, isCrowded: boolean): boolean {
    const isSlow = this.#latencyMs > 0 && this.#fresh.length > perMs * this.#settings.minAsideMs;
    const isStalled = isCrowded && (isSlow || this.#isStalled(nowMs));
    const oldest = this.#fresh.first;
    const patienceMs = this.#settings.patienceMs + longRoundTrips * this.#latencyMs;
    const isLong = oldest !== undefined && nowMs - oldest.takenAtMs >= patienceMs;
    const isLasting = this.#isBacklogged && this.waiting > 0;
    this.#isBacklogged = isStalled || isLong || isLasting || this.isSilent(nowMs);
    return this.#isBacklogged;
  }

  /** Takes the next row that must be put aside instead of waiting in memory. */
  takeBacklog(nowMs: number): Row | undefined {
    return this.#fresh.shift() ?? (this.isSilent(nowMs) ? this.#returning.shift() : undefined);
  }

  /**
   * Puts a row aside until its turn in the queue is expected.
   *
   * @param perMs requests per millisecond
   */
  putAside(row: Row, perMs: number, nowMs: number): NotSent {
    const silence = this.defer(nowMs);
    if (silence !== undefined) return silence;
    const { isReturning } = row;
    const soonestMs = nowMs + this.#settings.minAsideMs;
    const stepMs = 1 / (perMs * earlierBy);
    this.#returningUntilMs = Math.max(this.#returningUntilMs, soonestMs);
    if (isReturning) this.#returningUntilMs += stepMs;
    this.#freshUntilMs = Math.max(this.#freshUntilMs, this.#returningUntilMs) + (isReturning ? 0 : stepMs);
    const atMs = isReturning ? this.#returningUntilMs : this.#freshUntilMs;
    return { kind: 'waits', afterMs: Math.ceil(atMs - nowMs) };
  }

  /**
   * Records that nothing can be sent to the push service for `waitMs`.
   *
   * @returns how long the caller has to put the row aside, in milliseconds
   */
  hold(waitMs: number, nowMs: number): number {
    const { minAsideMs, heldMs } = this.#settings;
    const probesAfterMs = Math.max(waitMs, minAsideMs);
    this.#isHeld = true;
    if (nowMs >= this.#probesAtMs) {
      this.#probesAtMs = nowMs + probesAfterMs;
      this.#probes = 0;
    }
    this.#probes += 1;
    if (this.#probes <= probeRows) return Math.ceil(probesAfterMs);
    this.#freshUntilMs =
      Math.max(this.#freshUntilMs, nowMs + Math.max(probesAfterMs, heldMs)) + 1 / heldPerMs;
    return Math.ceil(this.#freshUntilMs - nowMs);
  }

  /** Call this after reading a row that was held. Another worker may have held it, and may hold more rows. */
  expectAside(nowMs: number): void {
    this.#othersUntilMs = nowMs + othersHeldMs;
  }

  /** How long until all rows that were put aside are due again; 0 if there are no such rows. */
  asideMs(nowMs: number): number {
    const untilMs = Math.max(this.#freshUntilMs + storedWithinMs, this.#othersUntilMs);
    return Math.max(0, Math.ceil(untilMs - nowMs));
  }

  endAside(): void {
    this.#returningUntilMs = this.#freshUntilMs = this.#othersUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** How many of the rows that were put aside may come back now. */
  wanted(perMs: number, nowMs: number): number {
    if (this.waiting > 0 || this.isSilent(nowMs)) return 0;
    if (!this.#isHeld) return this.#stake(perMs);
    // a probe that has not come back by now has probably expired or been removed
    return nowMs >= this.#probesAtMs + probesLateMs ? leastStake : 0;
  }

  #stake(perMs: number): number {
    return Math.max(leastStake, Math.ceil(perMs * this.#settings.patienceMs));
  }

  /** @returns `undefined` unless the push service is silent */
  defer(nowMs: number): NotSent | undefined {
    if (!this.isSilent(nowMs)) return undefined;
    const { silentAfterMs: afterMs } = this.#settings;
    return { kind: 'deferred', afterMs, detail: 'The push service takes long to answer.' };
  }

  recordSent(row: Row, nowMs: number): void {
    if (this.#inFlight === 0) {
      this.#first = row;
      this.#firstSentAtMs = nowMs;
    }
    this.#inFlight += 1;
    if (row.isReturning) this.#detached.add(row);
  }

  /** @param latencyMs from the row's write to its response. Absent if there was no response */
  recordResult(row: Row, nowMs: number, latencyMs?: number): void {
    this.#inFlight -= 1;
    this.#detached.delete(row);
    if (latencyMs === undefined) return;
    this.#isHeld = false;
    this.#probesAtMs = 0;
    this.#answeredAtMs = nowMs;
    this.#latencyMs += (latencyMs - this.#latencyMs) / (this.#latencyMs === 0 ? 1 : averageOver);
  }

  /** True if the row has waited so long for its response that it should no longer delay rows that were sent later. */
  isLate({ sending, takenAtMs }: Row, nowMs: number, afterMs: number): boolean {
    if (sending === undefined) return false;
    const sinceMs = sending.writtenAtMs > 0 ? sending.writtenAtMs : takenAtMs;
    return nowMs - sinceMs >= Math.max(afterMs, lateAfterRoundTrips * this.#latencyMs);
  }

  addDetached(row: Row): void {
    this.#detached.add(row);
  }

  #isStalled(nowMs: number): boolean {
    const { minAsideMs } = this.#settings;
    return this.#unansweredMs(nowMs) >= Math.max(minAsideMs, stalledAfterRoundTrips * this.#latencyMs);
  }

  /** True if nothing more is sent because requests in flight have had no response for too long. */
  isSilent(nowMs: number): boolean {
    const { silentAfterMs } = this.#settings;
    return this.#unansweredMs(nowMs) >= Math.max(silentAfterMs, longRoundTrips * this.#latencyMs);
  }

  /** Time since the last response or since the oldest request in flight, whichever is shorter. */
  #unansweredMs(nowMs: number): number {
    if (this.#inFlight === 0) return 0;
    const writtenAtMs = this.#first?.sending?.writtenAtMs ?? 0;
    return nowMs - Math.max(writtenAtMs > 0 ? writtenAtMs : this.#firstSentAtMs, this.#answeredAtMs);
  }
}
