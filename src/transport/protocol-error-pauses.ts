// Pauses sending to a push service that violates HTTP too often. Such a service may still respond to many requests, so
// successes in between do not reset the count. From the third fault on, sending pauses, twice as long each time. The
// count restarts after many responses or a long time without a fault.
import type { DeskbellError } from '../errors/deskbell-error.ts';

const toleratedFaults = 2;
const firstPauseMs = 60_000;
const maxPauseMs = 3_600_000;
const answersToForget = 10_000;
const forgetAfterMs = 2 * maxPauseMs;

/** Pauses sending to one push service after HTTP faults. A fault that ended several requests counts once. */
export class ProtocolErrorPauses {
  #count = 0;
  #last: DeskbellError | undefined;
  #lastMs = 0;
  #answersSince = 0;

  recordAnswer(): void {
    this.#answersSince += 1;
  }

  /** Records any error that ended a connection or a request. @returns the duration of the pause; 0 for no pause */
  record(error: DeskbellError, nowMs: number): number {
    if (error.code !== 'ERR_PROTOCOL' || error === this.#last) return 0;
    this.#count = this.#isForgotten(nowMs) ? 1 : this.#count + 1;
    this.#last = error;
    this.#lastMs = nowMs;
    this.#answersSince = 0;
    const pauses = this.#count - toleratedFaults;
    return pauses < 1 ? 0 : Math.min(firstPauseMs * 2 ** (pauses - 1), maxPauseMs);
  }

  areTooMany(nowMs: number): boolean {
    return this.#count > toleratedFaults && !this.#isForgotten(nowMs);
  }

  /** True if the last fault no longer counts. */
  #isForgotten(nowMs: number): boolean {
    return this.#answersSince >= answersToForget || nowMs - this.#lastMs >= forgetAfterMs;
  }
}
