// When a push service breaks HTTP so often that sending to it pauses. It may still answer many requests, so successes between
// the faults do not clear them. From the third fault on, sending pauses, each time twice as long. After many answers or a
// long time without a fault, the count starts again.
import type { DeskbellError } from '../errors/deskbell-error.ts';

const toleratedFaults = 2;
const firstPauseMs = 60_000;
const maxPauseMs = 3_600_000;
const answersToForget = 10_000;
const forgetAfterMs = 2 * maxPauseMs;

/** Of one push service: each fault once, however many requests it ended. */
export class ProtocolErrorPauses {
  #count = 0;
  #last: DeskbellError | undefined;
  #lastMs = 0;
  #answersSince = 0;

  recordAnswer(): void {
    this.#answersSince += 1;
  }

  /** Takes any error that ended a connection or a request. @returns how long to pause for it, 0 for no pause */
  record(error: DeskbellError, nowMs: number): number {
    if (error.code !== 'ERR_PROTOCOL' || error === this.#last) return 0;
    this.#count = this.#isForgotten(nowMs) ? 1 : this.#count + 1;
    this.#last = error;
    this.#lastMs = nowMs;
    this.#answersSince = 0;
    const pauses = this.#count - toleratedFaults;
    return pauses < 1 ? 0 : Math.min(firstPauseMs * 2 ** (pauses - 1), maxPauseMs);
  }

  /** It breaks HTTP again and again. */
  areTooMany(nowMs: number): boolean {
    return this.#count > toleratedFaults && !this.#isForgotten(nowMs);
  }

  /** The last one is too long ago to count. */
  #isForgotten(nowMs: number): boolean {
    return this.#answersSince >= answersToForget || nowMs - this.#lastMs >= forgetAfterMs;
  }
}
