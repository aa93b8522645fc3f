// One worker: takes slices and due retries from the work source, sends their rows, and commits what came of them. Any
// number of workers in any number of threads and processes may work on the same broadcasts.
//
//   WORKING  takes work, sends in batches, commits. Nothing to do → waits until something is due
//   CUT OFF  no push service can be reached from here: it leaves the work to others, and looks now and then, with one batch,
//            whether one can; its first rows reach it again within seconds. Rows whose time is over are settled at once
//   STOPPING takes no more rows, waits a while for answers; what has none by then is given back, and may be repeated
//   STOPPED  everything is committed or given back
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from '../../transport/clock.ts';
import type { AssignedRow } from './assignment.ts';
import { Committer, type CommitterParts } from './committer.ts';
import type { MessagePath } from '../message-path/message-path.ts';
import type { NotSent } from '../message-path/not-sent.ts';
import type { Result } from '../message-path/post.ts';
import { unlistedLimits } from '../../protocol/unlisted-push-services.ts';
import { isSettlement } from '../../store/broadcasts.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import { toRowResult, type RecordSettings } from './record.ts';
import type { WorkerSettings } from './worker-settings.ts';
import { Workload, type WorkloadParts } from './workload.ts';

export interface WorkerParts extends Omit<WorkloadParts & CommitterParts, 'destinations' | 'now'> {
  readonly path: MessagePath;
  readonly record: RecordSettings;
  readonly rates: RateLimits;
  readonly clock: Clock;
}

/**
 * Works until the broadcast is over, paused or cancelled, or until `signal` is aborted.
 *
 * @throws what the store throws; rows that were not committed then are repeated by any worker that continues
 */
export function runWorker(parts: WorkerParts, signal: AbortSignal): Promise<void> {
  return new Worker(parts).run(signal);
}

class Worker {
  readonly #parts: WorkerParts;
  readonly #settings: WorkerSettings;
  readonly #now: () => number;
  readonly #workload: Workload;
  readonly #committer: Committer;
  /** Posted and not answered. */
  #inFlight = 0;
  /** Where it is cut off. */
  #looksAgainAtMs = 0;
  #wake: () => void = () => {};

  constructor(parts: WorkerParts) {
    const { destinations } = parts.path;
    const { now } = parts.record;
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#now = now;
    this.#workload = new Workload({ ...parts, destinations });
    this.#committer = new Committer({ ...parts, destinations, now }, this.#workload, () => this.#wake());
  }

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

  /** @returns false when there is nothing left to work for */
  async #turn(signal: AbortSignal): Promise<boolean> {
    this.#committer.throwFault();
    if (this.#isWaitingForNetwork()) {
      this.#committer.commitAll();
      await this.#sleep(this.#settings.commitEveryMs);
      return true;
    }
    await this.#workload.replenish(this.#now());
    await this.#parts.rates.replenish(this.#now());
    if (this.#sendBatch()) {
      await nextTurn();
      return true;
    }
    if (this.#workload.assignments.size > 0) {
      this.#committer.commitAll();
      await this.#sleep(this.#settings.commitEveryMs);
      return true;
    }
    const state = await this.#parts.leases.waitForWork({ broadcastId: this.#parts.broadcastId, signal });
    if (state === 'ready') this.#workload.lookAgain();
    return state !== 'over';
  }

  #isWaitingForNetwork(): boolean {
    if (this.#parts.clock.monotonicNow() >= this.#looksAgainAtMs) return false;
    return this.#parts.path.isCutOff();
  }

  /** Leaves to others what it has taken and not sent, for a while. */
  #waitForNetwork(): void {
    this.#looksAgainAtMs = this.#parts.clock.monotonicNow() + this.#settings.lookWhileCutOffMs;
    for (const assignment of this.#workload.assignments) assignment.stop();
  }

  /** @returns false where no row is waiting or there is no room for one */
  #sendBatch(): boolean {
    const nowMs = this.#now();
    const rows = this.#workload.takeRows(nowMs);
    if (rows.length === 0) return false;
    const posted = this.#parts.path.send(rows, (row) => this.#admit(row, nowMs), this.#recordResult);
    for (const row of posted) {
      row.sentAtMs = nowMs;
      if (row.isDetached) row.destination.gate.slowness.addDetached(row, nowMs);
    }
    this.#inFlight += posted.length;
    const isOver = rows.every(({ result }) => result !== undefined && isSettlement(result.result));
    if (!isOver && this.#parts.path.isCutOff()) this.#waitForNetwork();
    if (this.#committer.isDue) this.#committer.commitAll();
    return true;
  }

  #admit(row: AssignedRow, nowMs: number): NotSent | undefined {
    const { assignment, recipient, tries, destination, fault } = row;
    if (nowMs >= tries.expiresAtMs) return { kind: 'expired' };
    if (recipient.isCapped) return { kind: 'capped' };
    if (fault !== undefined) return { kind: 'notSendable', fault };
    const quietEndMs = assignment.quietEnd(row, nowMs);
    if (quietEndMs !== undefined) return { kind: 'quiet', afterMs: quietEndMs - nowMs };
    const { gate, origin, isUnlisted } = destination;
    const isReturning = assignment.slice === undefined;
    const perSecond = isUnlisted ? unlistedLimits.perSecond : undefined;
    return (
      gate.admit(assignment.areProbes, nowMs) ??
      this.#parts.rates.admit(origin, isReturning, nowMs, perSecond)
    );
  }

  readonly #recordResult = (row: AssignedRow, result: Result): void => {
    const wasPosted = row.sentAtMs > 0;
    if (wasPosted) this.#recordAnswer(row, result);
    const rowResult = toRowResult(row, result, this.#parts.record);
    row.assignment.settle(row, rowResult);
    this.#committer.countResult(rowResult);
    this.#workload.countResult();
    // the other rows of a batch that is being sent have no result yet
    if (wasPosted && (this.#inFlight === 0 || this.#committer.isDue)) this.#committer.commitAll();
  };

  #recordAnswer(row: AssignedRow, result: Result): void {
    const nowMs = this.#now();
    const { gate } = row.destination;
    this.#inFlight -= 1;
    gate.slowness.removeDetached(row);
    if (result.kind === 'deferred') gate.deferUntil(nowMs + result.afterMs, result.detail);
    if (result.kind !== 'posted') return;
    if (result.response !== undefined) {
      gate.slowness.recordAnswer(nowMs);
      this.#parts.figures?.recordAnswer(row.destination.origin, nowMs - row.sentAtMs);
    }
    gate.recordOutcome(result.outcome, row.recipient.subscriptionId, row.ifRefused);
  }

  async #stop(): Promise<void> {
    const { commitEveryMs, stopGraceMs } = this.#settings;
    const { monotonicNow } = this.#parts.clock;
    const { assignments } = this.#workload;
    for (const assignment of assignments) assignment.stop();
    // push services that are slow could not answer all of it in time, and what is not answered may be repeated
    this.#parts.path.withdraw();
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

  /** Until something is committed, at most `ms`. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#parts.clock.startTimer(resolve, ms, true);
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
