// A breaker per origin: a push service that is down or overloaded is left alone for a while.
//
//   CLOSED     every request passes. A run of bad answers, or a connection that cannot be made, → OPEN
//   OPEN       nothing passes until its time is over. Then → HALF_OPEN
//   HALF_OPEN  one request passes. Any good answer → CLOSED; a bad one → OPEN, twice as long
//
// Bad is what speaks against the origin and not against one request: no answer in time, a lost connection, 429, 500,
// 502, 503, 504. How long OPEN lasts: from 1 s doubling to 60 s, or as long as `Retry-After` asks, at most an hour.

const runToOpen = 10;
const firstOpenMs = 1000;
const maxOpenMs = 60_000;
const maxRetryAfterMs = 3_600_000;

export class Breaker {
  #state: 'CLOSED' | 'OPEN' | 'HALF_OPEN' = 'CLOSED';
  #run = 0;
  #openMs = firstOpenMs;
  #openUntilMs = 0;
  #retryAfterMs = 0;
  #hasProbe = false;
  #reason = '';

  get isClosed(): boolean {
    return this.#state === 'CLOSED';
  }

  /** Why nothing passes, in words. */
  get reason(): string {
    return this.#reason;
  }

  /** How long nothing passes from now; 0 where the next request passes. */
  waitMs(nowMs: number): number {
    if (this.#state === 'OPEN' && nowMs >= this.#openUntilMs) {
      this.#state = 'HALF_OPEN';
      this.#hasProbe = false;
    }
    if (this.#state === 'OPEN') return this.#openUntilMs - nowMs;
    return this.#state === 'HALF_OPEN' && this.#hasProbe ? firstOpenMs : 0;
  }

  /** A request passes; only where `waitMs` is 0. */
  pass(): void {
    this.#hasProbe = true;
  }

  good(): void {
    this.#run = 0;
    this.#retryAfterMs = 0;
    // What was sent before the breaker opened says little about now.
    if (this.#state === 'OPEN') return;
    this.#state = 'CLOSED';
    this.#openMs = firstOpenMs;
  }

  /**
   * @param retryAfterMs what the push service asked for, 0 for nothing
   * @returns true where the breaker has opened just now
   */
  bad(reason: string, nowMs: number, retryAfterMs = 0): boolean {
    this.#run += 1;
    this.#retryAfterMs = Math.min(Math.max(this.#retryAfterMs, retryAfterMs), maxRetryAfterMs);
    return this.#state === 'HALF_OPEN' || this.#run >= runToOpen ? this.open(reason, nowMs) : false;
  }

  /** Opens without waiting for a run: the origin cannot be connected to. */
  open(reason: string, nowMs: number): boolean {
    const wasOpen = this.#state === 'OPEN';
    const untilMs = nowMs + Math.max(this.#openMs, this.#retryAfterMs);
    this.#openUntilMs = wasOpen ? Math.max(this.#openUntilMs, nowMs + this.#retryAfterMs) : untilMs;
    if (wasOpen) return false;
    this.#state = 'OPEN';
    this.#reason = reason;
    this.#run = 0;
    this.#retryAfterMs = 0;
    this.#openMs = Math.min(this.#openMs * 2, maxOpenMs);
    return true;
  }
}
