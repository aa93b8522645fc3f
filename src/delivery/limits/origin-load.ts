// What one worker has to do with one push service at a time: the rows that wait until its pace permits them, those that are in
// flight, and those of them that are stored one by one since their answers are late. From this comes whether its rows may wait
// in memory, so that it holds up no other push service, and whether it answers at all.
//
//   FLOWING     rows wait in memory, in their order: those that come back first, then those of slices
//   BACKLOGGED  a row has waited for long; or memory fills up, and many wait or what is in flight gets no answers. No row of a
//               slice waits in memory. They are put aside: stored with the time at which they will be sent by half, so that a pace
//               that grows finds them. When nothing waits any more → FLOWING
//   SILENT      what is in flight has got no answer for so long that the push service does not work: nothing is sent
//   HELD        nothing could be sent to it: rows are put aside for long, in their order, but a few come back soon as probes
//
// Rows that were put aside come back before their time as soon as it answers and none waits in memory; those that another worker has
// held too. An answer ends SILENT and HELD.
//
// All times are by the monotonic clock.
import { Fifo } from '../../transport/fifo.ts';
import type { Sending } from '../../transport/transport.ts';
import type { NotSent } from './not-sent.ts';
import type { WorkerSettings } from '../settings/settings.ts';

export type LoadSettings = Pick<WorkerSettings, 'patienceMs' | 'silentAfterMs' | 'minAsideMs' | 'heldMs'>;

/** A row as its load sees it. */
export interface LoadRow {
  readonly takenAtMs: number;
  /** It was stored on its own before, and has now been read again. */
  readonly isReturning: boolean;
  readonly sending?: Sending | undefined;
}

/** Latency is averaged over about this many answers. */
const averageOver = 64;
/** Round trips after which an answer is late, … */
const lateAfterRoundTrips = 1.5;
/** … all answers are missing, … */
const stalledAfterRoundTrips = 2;
/** … a waiting row has waited too long, and a push service is taken for broken. */
const longRoundTrips = 4;
/** Rows that are put aside come back when they would be sent at this multiple of the pace. */
const earlierBy = 2;
/** How many returning rows may wait in memory, unless more can be sent within `patienceMs`. */
const leastStake = 64;
/** More than one, because some may have expired or been removed in the meantime. */
const probeRows = 4;
/** Probes have normally come back after this time. */
const probesLateMs = 1000;
/** Held rows per millisecond, whatever the pace was: the rate at which they come back if there is no answer for long. */
const heldPerMs = 0.4;

/** How far ahead to look for rows that another worker holds. */
const othersHeldMs = 3_600_000;
/** A row that is put aside is normally stored within this time, and its wait counts from then. */
const storedWithinMs = 10_000;

export class OriginLoad<Row extends LoadRow = LoadRow> {
  readonly #settings: LoadSettings;
  readonly #returning = new Fifo<Row>();
  readonly #fresh = new Fifo<Row>();
  /** Stored one by one while their answers are awaited. */
  readonly #detached = new Set<Row>();
  #inFlight = 0;
  /** The first of those in flight. */
  #first: Row | undefined;
  #firstSentAtMs = 0;
  #answeredAtMs = 0;
  #latencyMs = 0;
  #isBacklogged = false;
  #isHeld = false;
  #probes = 0;
  #probesAtMs = 0;
  /** The time until which rows have been put aside. */
  #returningUntilMs = Number.NEGATIVE_INFINITY;
  #freshUntilMs = Number.NEGATIVE_INFINITY;
  /** The same for rows that another worker may hold. */
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
   * @returns what happens to the row if it must not wait here
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
   * Whether rows of slices must not wait in memory.
   *
   * @param perMs requests per millisecond
   * @param isCrowded there is soon no room for rows of other push services
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

  /** The next row that must not wait in memory. */
  takeBacklog(nowMs: number): Row | undefined {
    return this.#fresh.shift() ?? (this.isSilent(nowMs) ? this.#returning.shift() : undefined);
  }

  /**
   * When a row that is put aside comes back, by its place in the queue.
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
   * Nothing can be sent for `waitMs`.
   *
   * @returns in how many milliseconds the row comes back
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

  /** A held row has come back, perhaps held by another worker, which may hold more. */
  expectAside(nowMs: number): void {
    this.#othersUntilMs = nowMs + othersHeldMs;
  }

  /** How long until all rows that were put aside have come back; 0 if there are none. */
  asideMs(nowMs: number): number {
    const untilMs = Math.max(this.#freshUntilMs + storedWithinMs, this.#othersUntilMs);
    return Math.max(0, Math.ceil(untilMs - nowMs));
  }

  endAside(): void {
    this.#returningUntilMs = this.#freshUntilMs = this.#othersUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** How many rows that were put aside may come back now. */
  wanted(perMs: number, nowMs: number): number {
    if (this.waiting > 0 || this.isSilent(nowMs)) return 0;
    if (!this.#isHeld) return this.#stake(perMs);
    // its probes have ended in another way
    return nowMs >= this.#probesAtMs + probesLateMs ? leastStake : 0;
  }

  #stake(perMs: number): number {
    return Math.max(leastStake, Math.ceil(perMs * this.#settings.patienceMs));
  }

  /** @returns `undefined` if it answers, or if that is not known */
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

  /** @param latencyMs from its write to its answer; absent if there was none */
  recordResult(row: Row, nowMs: number, latencyMs?: number): void {
    this.#inFlight -= 1;
    this.#detached.delete(row);
    if (latencyMs === undefined) return;
    this.#isHeld = false;
    this.#probesAtMs = 0;
    this.#answeredAtMs = nowMs;
    this.#latencyMs += (latencyMs - this.#latencyMs) / (this.#latencyMs === 0 ? 1 : averageOver);
  }

  /** Whether a row's answer is later than usual: it should not hold up what was sent after it. */
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

  /** Whether what is in flight has been unanswered for so long that nothing is sent. */
  isSilent(nowMs: number): boolean {
    const { silentAfterMs } = this.#settings;
    return this.#unansweredMs(nowMs) >= Math.max(silentAfterMs, longRoundTrips * this.#latencyMs);
  }

  /** How long nothing has been answered, since it was written, or since it was sent if no connection takes it. */
  #unansweredMs(nowMs: number): number {
    if (this.#inFlight === 0) return 0;
    const writtenAtMs = this.#first?.sending?.writtenAtMs ?? 0;
    return nowMs - Math.max(writtenAtMs > 0 ? writtenAtMs : this.#firstSentAtMs, this.#answeredAtMs);
  }
}
