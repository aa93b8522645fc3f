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
import type { WorkerSettings } from '../settings/worker-settings.ts';

export type LoadSettings = Pick<WorkerSettings, 'patienceMs' | 'silentAfterMs' | 'minAsideMs' | 'heldMs'>;

/** A row as its load sees it. */
export interface LoadRow {
  readonly takenAtMs: number;
  /** It comes back: it was stored by itself before. */
  readonly isReturning: boolean;
  readonly sending?: Sending | undefined;
}

/** Of latency: the last answers or so. */
const averageOver = 64;
/** Round trips after which an answer is late, … */
const lateAfterRoundTrips = 1.5;
/** … all answers are missing, … */
const stalledAfterRoundTrips = 2;
/** … a row that waits has waited for long, and a push service does not work. */
const longRoundTrips = 4;
/** Rows that are put aside come back when they would be sent at this multiple of the pace. */
const earlierBy = 2;
/** How many rows that come back may wait in memory, unless more are sent within `patienceMs`. */
const leastStake = 64;
/** More than one, because some may have expired or left in the meantime. */
const probeRows = 4;
/** Probes have usually come back after this time. */
const probesLateMs = 1000;
/** Rows that are held, for a millisecond: whatever the pace was. They come back at this rate if there is no answer for long. */
const heldPerMs = 0.4;

/** How far ahead rows are looked for that another worker has held. */
const othersHeldMs = 3_600_000;
/** A row that is put aside is stored so much later at the latest, as a rule, and its time counts from then. */
const storedWithinMs = 10_000;

export class OriginLoad<Row extends LoadRow = LoadRow> {
  readonly #settings: LoadSettings;
  readonly #returning = new Fifo<Row>();
  readonly #fresh = new Fifo<Row>();
  /** Stored by themselves while their answers are awaited. */
  readonly #detached = new Set<Row>();
  #inFlight = 0;
  /** Of those in flight when there were none before. */
  #first: Row | undefined;
  #firstSentAtMs = 0;
  #answeredAtMs = 0;
  #latencyMs = 0;
  #isBacklogged = false;
  #isHeld = false;
  #probes = 0;
  #probesAtMs = 0;
  /** Until when rows have been put aside. */
  #returningUntilMs = Number.NEGATIVE_INFINITY;
  #freshUntilMs = Number.NEGATIVE_INFINITY;
  /** The same, of another worker that may have held some. */
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
   * @param perMs requests a millisecond
   * @returns what comes of the row if it must not wait here
   */
  add(row: Row, perMs: number, nowMs: number): NotSent | undefined {
    if (row.isReturning && this.#returning.length >= this.#stake(perMs))
      return this.putAside(row, perMs, nowMs);
    (row.isReturning ? this.#returning : this.#fresh).push(row);
    return undefined;
  }

  /** The next one to be sent. */
  shift(): Row | undefined {
    return this.#returning.shift() ?? this.#fresh.shift();
  }

  /**
   * Whether rows of slices do not wait in memory.
   *
   * @param perMs requests a millisecond
   * @param isCrowded soon there is no place for rows of other push services
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

  /** The next one that does not wait in memory where it is backlogged. */
  takeBacklog(nowMs: number): Row | undefined {
    return this.#fresh.shift() ?? (this.isSilent(nowMs) ? this.#returning.shift() : undefined);
  }

  /**
   * When a row comes back that is put aside, by its place in the queue.
   *
   * @param perMs requests a millisecond
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

  /** A row comes back that was held, perhaps by another worker: it may have held more of them. */
  expectAside(nowMs: number): void {
    this.#othersUntilMs = nowMs + othersHeldMs;
  }

  /** Within how long all rows come back that were put aside; 0 if none were. */
  asideMs(nowMs: number): number {
    const untilMs = Math.max(this.#freshUntilMs + storedWithinMs, this.#othersUntilMs);
    return Math.max(0, Math.ceil(untilMs - nowMs));
  }

  /** None are any more. */
  endAside(): void {
    this.#returningUntilMs = this.#freshUntilMs = this.#othersUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** How many that were put aside may come back now. */
  wanted(perMs: number, nowMs: number): number {
    if (this.waiting > 0 || this.isSilent(nowMs)) return 0;
    if (!this.#isHeld) return this.#stake(perMs);
    // its probes have gone another way
    return nowMs >= this.#probesAtMs + probesLateMs ? leastStake : 0;
  }

  #stake(perMs: number): number {
    return Math.max(leastStake, Math.ceil(perMs * this.#settings.patienceMs));
  }

  /** @returns `undefined` if it answers, or nothing is known of that */
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

  /** Whether the answer to a row that was posted comes later than those to others: it should not hold up what was sent after it. */
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

  /** Whether what is in flight has got no answer for so long that nothing is sent. */
  isSilent(nowMs: number): boolean {
    const { silentAfterMs } = this.#settings;
    return this.#unansweredMs(nowMs) >= Math.max(silentAfterMs, longRoundTrips * this.#latencyMs);
  }

  /** How long nothing was answered, since it was written, or since it was sent if no connection takes it. */
  #unansweredMs(nowMs: number): number {
    if (this.#inFlight === 0) return 0;
    const writtenAtMs = this.#first?.sending?.writtenAtMs ?? 0;
    return nowMs - Math.max(writtenAtMs > 0 ? writtenAtMs : this.#firstSentAtMs, this.#answeredAtMs);
  }
}
