// One worker: takes slices and due retries, sends their rows, and commits the results. Any number of workers in any
// number of threads and processes may work on the same broadcasts.
//
//   WORKING  takes work, sends in batches, commits. If there is nothing to do, waits until something is due
//   CUT OFF  no push service can be reached from here, so the worker leaves the work to others. From time to time it
//            tries one batch, so it goes on within seconds of a recovery. Expired rows are settled at once
//   STOPPING takes no more rows and waits a while for responses. Gives back rows without a response, to be repeated
//   STOPPED  everything is committed or given back
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from '../../transport/clock.ts';
import type { AssignedRow } from './assignment.ts';
import { Committer } from './committer.ts';
import type { Destination } from '../message-path/destinations.ts';
import type { Result } from '../message-path/message-path.ts';
import type { NotSent } from '../limits/not-sent.ts';
import { unlistedLimits } from '../../protocol/endpoint-policy.ts';
import { isSettlement } from '../../store/broadcasts.ts';
import { toRowResult, type RecordSettings } from './record.ts';
import type { WorkerSettings } from '../settings/settings.ts';
import { Workload, type RowsAhead, type WorkerParts } from './workload.ts';

export class Worker {
  readonly #parts: WorkerParts;
  readonly #settings: WorkerSettings;
  readonly #now: () => number;
  readonly #workload: Workload;
  readonly #committer: Committer;
  /** Push services for which rows wait. */
  readonly #waitedFor = new Set<Destination>();
  /** Push services for which rows were taken. */
  readonly #known = new Set<Destination>();
  /** Push services for which rows were put aside. */
  readonly #aside = new Set<Destination>();
  #aheadNotBeforeMs = 0;
  readonly #record: RecordSettings;
  #waiting = 0;
  /** Number of rows that were posted but have no response yet. */
  #inFlight = 0;
  /** When to check the network again if no push service can be reached. */
  #looksAgainAtMs = 0;
  #wake: () => void = noWake;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#now = parts.record.now;
    this.#record = { ...parts.record, hold: (row, waitMs) => this.#hold(row as AssignedRow, waitMs) };
    this.#workload = new Workload(parts);
    this.#committer = new Committer(parts, this.#workload, () => this.#wake());
  }

  /**
   * Works until the broadcast is over, paused or cancelled, or until `signal` is aborted.
   *
   * @throws the store's error; another worker then repeats rows that were not committed
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const wake = () => this.#wake();
    const committing = every(this.#settings.commitEveryMs, () => this.#committer.commitAll(), clock);
    const renewing = every(this.#settings.leaseMs / 3, () => this.#committer.renewAll(), clock);
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

  /** @returns false if no work is left */
  async #turn(signal: AbortSignal): Promise<boolean> {
    this.#committer.throwFault();
    if (this.#isWaitingForNetwork()) {
      this.#committer.commitAll();
      await this.#sleep(this.#settings.commitEveryMs);
      return true;
    }
    const { monotonicNow } = this.#parts.clock;
    const mayBeAhead = monotonicNow() >= this.#aheadNotBeforeMs;
    await this.#workload.replenish(monotonicNow(), mayBeAhead ? this.#ahead : undefined);
    await this.#parts.rates.replenish(monotonicNow());
    if (this.#sendBatch()) {
      await nextTurn();
      return true;
    }
    if (this.#workload.assignments.size > 0) {
      // while rows wait, each response wakes the worker
      if (this.#waiting === 0) this.#committer.commitAll();
      await this.#sleep(this.#settings.leaseRetriesEveryMs);
      return true;
    }
    if (this.#ahead !== undefined) {
      await this.#sleep(this.#settings.minAsideMs);
      return true;
    }
    this.#known.clear();
    const state = await this.#parts.leases.waitForWork({ broadcastId: this.#parts.broadcastId, signal });
    if (state === 'ready') this.#workload.lookAgain();
    return state !== 'over';
  }

  #isWaitingForNetwork(): boolean {
    if (this.#parts.clock.monotonicNow() >= this.#looksAgainAtMs) return false;
    return this.#parts.path.transport.isCutOff();
  }

  /** Gives back unsent work, so that other workers can take it, and takes no new work for a while. */
  #waitForNetwork(): void {
    this.#looksAgainAtMs = this.#parts.clock.monotonicNow() + this.#settings.lookWhileCutOffMs;
    for (const assignment of this.#workload.assignments) assignment.stop();
    // every second time, send only untried rows, because some of them may be for a push service that can be reached
    this.#workload.leaveRetries(this.#parts.clock.monotonicNow() + 1.5 * this.#settings.lookWhileCutOffMs);
  }

  /** @returns false if there were no rows to send or put aside */
  #sendBatch(): boolean {
    const nowMs = this.#now();
    const rows: AssignedRow[] = [];
    let isBusy = this.#pickWaiting(rows);
    while (rows.length < this.#settings.batchRows && this.#mayTake && this.#takeRows(nowMs)) {
      isBusy = true;
      this.#pickWaiting(rows);
      if (this.#waiting > this.#settings.waitingRows) break;
    }
    if (rows.length > 0) this.#post(rows, nowMs);
    if (this.#committer.isDue) this.#committer.commitAll();
    return isBusy || rows.length > 0;
  }

  #post(rows: readonly AssignedRow[], nowMs: number): void {
    const posted = this.#parts.path.send(rows, (row) => this.#admit(row, nowMs), this.#recordResult);
    const sentAtMs = this.#parts.clock.monotonicNow();
    for (const row of posted) row.destination.gate.load.recordSent(row, sentAtMs);
    this.#inFlight += posted.length;
    const isOver = rows.every(({ result }) => result !== undefined && isSettlement(result.result));
    if (!isOver && this.#parts.path.transport.isCutOff()) this.#waitForNetwork();
  }

  /** True if memory has room for more waiting rows, or if the next row may be for a push service that is ready. */
  get #mayTake(): boolean {
    return this.#waiting < this.#settings.waitingRows || this.#known.size > this.#waitedFor.size;
  }

  /** @returns false if there were no rows to take */
  #takeRows(nowMs: number): boolean {
    const takenAtMs = this.#parts.clock.monotonicNow();
    const rows = this.#workload.takeRows(nowMs, takenAtMs);
    for (const row of rows) {
      const { destination } = row;
      if (wasHeld(row)) this.#expectAside(destination, takenAtMs);
      const notNow = destination.gate.load.add(
        row,
        this.#parts.path.transport.pace(destination.origin).perMs,
        takenAtMs,
      );
      if (notNow !== undefined) {
        this.#aside.add(destination);
        this.#recordResult(row, notNow);
        continue;
      }
      this.#waiting += 1;
      this.#waitedFor.add(destination);
      this.#known.add(destination);
    }
    return rows.length > 0;
  }

  /**
   * Adds waiting rows to a batch, as far as the pace of their push services allows.
   *
   * @returns true if rows were put aside
   */
  #pickWaiting(rows: AssignedRow[]): boolean {
    const { batchRows } = this.#settings;
    const { path, clock } = this.#parts;
    let isBusy = false;
    // a destination that still has waiting rows is added again, behind the others
    const destinations = Array.from(this.#waitedFor);
    for (const destination of destinations) {
      if (rows.length >= batchRows) break;
      const { gate, origin } = destination;
      const { room, perMs } = path.transport.pace(origin);
      const isFull = gate.load.detached >= Math.max(1, this.#workload.freeDetachedRows);
      const end = isFull ? rows.length : Math.min(batchRows, rows.length + room);
      while (rows.length < end) {
        const row = gate.load.shift() as AssignedRow | undefined;
        if (row === undefined) break;
        this.#waiting -= 1;
        if (this.#isWanted(row)) rows.push(row);
      }
      const nowMs = clock.monotonicNow();
      if (gate.load.isBacklogged(perMs, nowMs, this.#workload.isCrowded)) {
        isBusy = this.#putAside(destination, perMs, nowMs) || isBusy;
      }
      this.#waitedFor.delete(destination);
      if (gate.load.waiting > 0) this.#waitedFor.add(destination);
    }
    return isBusy;
  }

  /** False if the worker has lost the row's lease, or if the row's broadcast is paused. */
  #isWanted(row: AssignedRow): boolean {
    if (!this.#workload.assignments.has(row.assignment)) return false;
    if (!row.assignment.isStopped) return true;
    this.#recordResult(row, atOnce);
    return false;
  }

  #putAside(destination: Destination, perMs: number, nowMs: number): boolean {
    const { load } = destination.gate;
    let isBusy = false;
    this.#aside.add(destination);
    for (;;) {
      const row = load.takeBacklog(nowMs) as AssignedRow | undefined;
      if (row === undefined) return isBusy;
      isBusy = true;
      this.#waiting -= 1;
      if (this.#isWanted(row)) this.#recordResult(row, load.putAside(row, perMs, nowMs));
    }
  }

  #hold({ destination }: AssignedRow, waitMs: number): number {
    this.#aside.add(destination);
    return destination.gate.load.hold(waitMs, this.#parts.clock.monotonicNow());
  }

  #expectAside(destination: Destination, nowMs: number): void {
    this.#aside.add(destination);
    destination.gate.load.expectAside(nowMs);
  }

  /** Rows that were put aside and can be sent early: their push service responds, and has no rows in memory. */
  get #ahead(): RowsAhead | undefined {
    const nowMs = this.#parts.clock.monotonicNow();
    const wanting: Destination[] = [];
    let [rows, aheadMs] = [0, 0];
    for (const destination of this.#aside) {
      const { load } = destination.gate;
      const asideMs = load.asideMs(nowMs);
      if (asideMs === 0) {
        this.#aside.delete(destination);
        continue;
      }
      const { origin } = destination;
      const wanted = load.wanted(this.#parts.path.transport.pace(origin).perMs, nowMs);
      if (wanted === 0 || this.#parts.path.transport.deferral(origin) !== undefined) continue;
      wanting.push(destination);
      rows += wanted;
      aheadMs = Math.max(aheadMs, asideMs);
    }
    if (rows === 0) return undefined;
    return { rows, aheadMs, areNone: () => wanting.forEach(({ gate }) => gate.load.endAside()) };
  }

  #admit(row: AssignedRow, nowMs: number): NotSent | undefined {
    const { assignment, recipient, tries, destination, fault } = row;
    if (nowMs >= tries.expiresAtMs) return { kind: 'expired' };
    if (recipient.isCapped) return { kind: 'capped' };
    if (fault !== undefined) return { kind: 'notSendable', fault };
    if (destination.isDormant) return { kind: 'dormant' };
    const quietEndMs = assignment.quietEnd(row, nowMs);
    if (quietEndMs !== undefined) return { kind: 'quiet', afterMs: quietEndMs - nowMs };
    const { gate, origin, isUnlisted } = destination;
    const isReturning = assignment.slice === undefined;
    const perSecond = isUnlisted ? unlistedLimits.perSecond : undefined;
    return (
      gate.admit(assignment.areProbes, this.#parts.path.transport.deferral(origin)) ??
      this.#parts.rates.admit(origin, isReturning, this.#parts.clock.monotonicNow(), perSecond)
    );
  }

  readonly #recordResult = (row: AssignedRow, result: Result): void => {
    const wasPosted = row.sending !== undefined;
    if (wasPosted) this.#recordAnswer(row, result);
    else if (row.isReturning) this.#recordReturn(row, result);
    // if the assignment was stopped, another worker may send the row immediately
    const isGivenBack = result.kind === 'deferred' && row.assignment.isStopped;
    const rowResult = toRowResult(row, isGivenBack ? atOnce : result, this.#record);
    row.assignment.settle(row, rowResult);
    this.#committer.countResult(rowResult);
    // if the row was not posted, the rest of the current batch has no result yet
    if (wasPosted && (this.#inFlight === 0 || this.#committer.isDue)) this.#committer.commitAll();
    if (wasPosted && this.#waiting > 0) this.#wake();
  };

  /** Delays the next early lease, so that rows that cannot be sent are not leased again and again. */
  #recordReturn({ destination: { gate } }: AssignedRow, { kind }: Result): void {
    const nowMs = this.#parts.clock.monotonicNow();
    if (nowMs >= this.#aheadNotBeforeMs) this.#aheadNotBeforeMs = nowMs + this.#settings.leaseAheadEveryMs;
    if (kind === 'rateLimited') gate.load.endAside();
  }

  #recordAnswer(row: AssignedRow, result: Result): void {
    const { gate, origin } = row.destination;
    const nowMs = this.#now();
    const monotonicNow = this.#parts.clock.monotonicNow();
    const writtenAtMs = row.sending?.writtenAtMs ?? 0;
    const sinceWriteMs = writtenAtMs > 0 ? monotonicNow - writtenAtMs : undefined;
    const latencyMs = result.kind === 'response' ? sinceWriteMs : undefined;
    row.sentAtMs = nowMs - Math.round(sinceWriteMs ?? 0);
    this.#inFlight -= 1;
    gate.load.recordResult(row, monotonicNow, latencyMs);
    if (!('outcome' in result)) return;
    if (latencyMs !== undefined) this.#parts.figures?.recordAnswer(origin, latencyMs);
    gate.recordOutcome(result.outcome, row.recipient.subscriptionId, row.ifRefused);
  }

  async #stop(): Promise<void> {
    const { commitEveryMs, stopGraceMs } = this.#settings;
    const { monotonicNow } = this.#parts.clock;
    const { assignments } = this.#workload;
    for (const assignment of assignments) assignment.stop();
    // take back unsent requests: if sent now, they might get no response in time, and would be sent again
    this.#parts.path.transport.withdraw();
    const endMs = monotonicNow() + stopGraceMs;
    while (this.#inFlight > 0 && assignments.size > 0 && !this.#committer.hasFailed) {
      const leftMs = endMs - monotonicNow();
      if (leftMs <= 0) break;
      this.#committer.commitAll();
      await this.#sleep(Math.min(commitEveryMs, leftMs));
    }
    await this.#committer.releaseAll();
    this.#committer.throwFault();
  }

  /** Sleeps for `ms`, until a commit ends, or until a response may make room for a waiting row. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#parts.clock.startTimer(resolve, ms, true);
      this.#wake = () => {
        this.#wake = noWake;
        timer.cancel();
        resolve();
      };
    });
  }
}

const noWake = (): void => {};

const atOnce = { kind: 'waits', afterMs: 0 } as const;

/** True if the row is for a listed push service, and was held because nothing could be sent there. */
const wasHeld = ({ isReturning, tries, destination }: AssignedRow): boolean =>
  isReturning && tries.deferrals > 0 && !destination.isUnlisted;

function every(ms: number, work: () => void, { startTimer }: Clock): Timer {
  let timer: Timer;
  const again = (): void => {
    timer = startTimer(again, ms, true);
    work();
  };
  timer = startTimer(again, ms, true);
  return { cancel: () => timer.cancel() };
}
