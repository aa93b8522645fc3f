// A circuit breaker per origin: a push service that is down or overloaded gets no requests for a while.
//
//   CLOSED     admits every request. Opens after ten failures in a row (over half a second if they are responses),
//              after a failed connection attempt, or when a response asks to wait
//   OPEN       admits nothing until its time is over. Then → HALF_OPEN
//   HALF_OPEN  admits one request, the probe. If it succeeds → CLOSED; if it fails → OPEN, for twice as long. If the
//              probe ends unsent, the next request becomes the probe. Results of earlier requests change nothing
//
// A failure is a problem of the origin, not of one request: no response in time, a lost connection, 429, 500, 502, 503,
// 504. OPEN lasts 1 s at first and doubles up to 60 s, or as long as `Retry-After` asks, at most an hour. If no
// connection can be made, it lasts at most 5 s, so that sending continues soon after the network is back. The breaker
// also opens if another sender was asked to wait.

const maxFailuresInRow = 10;
/** Failures must go on for this long. A busy push service may refuse many requests at once and accept the next. */
export const answersRunMs = 500;
const firstOpenMs = 1000;
const maxOpenMs = 60_000;
const maxUnconnectedMs = 5000;
const maxRetryAfterMs = 3_600_000;
/** A longer wait is reported only if it ends at least this much later than the last reported wait. */
const laterByMs = 1000;

export class Breaker {
  #state: 'CLOSED' | 'OPEN' | 'HALF_OPEN' = 'CLOSED';
  #failuresInRow = 0;
  #runSinceMs = 0;
  #openMs = firstOpenMs;
  #openUntilMs = 0;
  #retryAfterMs = 0;
  #askedUntilMs = 0;
  #takenUntilMs = 0;
  /** The request that was admitted in HALF_OPEN. */
  #probe: object | undefined;
  /** One sentence that says why no request is admitted. */
  reason = '';

  get isClosed(): boolean {
    return this.#state === 'CLOSED';
  }

  isOpen(nowMs: number): boolean {
    return this.#state === 'OPEN' && nowMs < this.#openUntilMs;
  }

  /** Time until a request may be admitted; 0 if the next request will be admitted. */
  waitMs(nowMs: number): number {
    if (this.#state === 'OPEN' && nowMs >= this.#openUntilMs) {
      this.#state = 'HALF_OPEN';
      this.#probe = undefined;
    }
    if (this.#state === 'OPEN') return this.#openUntilMs - nowMs;
    return this.#state === 'HALF_OPEN' && this.#probe !== undefined ? firstOpenMs : 0;
  }

  /** Returns the remaining wait that a `Retry-After` asked for. Each wait is returned once; after that, 0. */
  takeWait(nowMs: number): number {
    if (this.#askedUntilMs < this.#takenUntilMs + laterByMs) return 0;
    this.#takenUntilMs = this.#askedUntilMs;
    return Math.max(0, Math.ceil(this.#askedUntilMs - nowMs));
  }

  /** Opens the breaker because the push service asked another sender to wait. This does not count as a failure. */
  pause(reason: string, untilMs: number): void {
    this.#openUntilMs = this.#state === 'OPEN' ? Math.max(this.#openUntilMs, untilMs) : untilMs;
    if (this.#state !== 'OPEN') this.reason = reason;
    this.#state = 'OPEN';
  }

  /** Records an admitted request. Call this only if `waitMs` is 0. In HALF_OPEN, the request becomes the probe. */
  admitProbe(request: object): void {
    this.#probe = request;
  }

  /** Records that an admitted request ended before it was sent, so that no result will follow. */
  recordUnsent(request: object): void {
    if (request === this.#probe) this.#probe = undefined;
  }

  recordSuccess(request: object): void {
    this.#failuresInRow = 0;
    this.#retryAfterMs = 0;
    // only the response to a probe closes the breaker, not a response to an earlier request
    if (this.#state !== 'CLOSED' && !this.isProbe(request)) return;
    this.#state = 'CLOSED';
    this.#openMs = firstOpenMs;
  }

  /**
   * @param minRunMs how long failures must have lasted before the breaker opens
   * @param retryAfterMs how long the push service asks to wait; 0 if it does not ask
   * @returns true if the breaker has just opened
   */
  recordFailure(request: object, reason: string, nowMs: number, minRunMs = 0, retryAfterMs = 0): boolean {
    if (this.#failuresInRow === 0) this.#runSinceMs = nowMs;
    this.#failuresInRow += 1;
    this.#retryAfterMs = Math.min(Math.max(this.#retryAfterMs, retryAfterMs), maxRetryAfterMs);
    if (this.#state === 'HALF_OPEN' && !this.isProbe(request)) return false;
    const isLongRun = this.#failuresInRow >= maxFailuresInRow && nowMs - this.#runSinceMs >= minRunMs;
    return this.#state === 'HALF_OPEN' || isLongRun ? this.#openAsAsked(reason, nowMs) : false;
  }

  /** True if the state waits for the result of this request. */
  isProbe(request: object): boolean {
    return this.#state === 'HALF_OPEN' && request === this.#probe;
  }

  /** Opens the breaker at once, because no connection to the origin can be made. */
  openForConnection(reason: string, nowMs: number): void {
    this.#openMs = Math.min(this.#openMs, maxUnconnectedMs);
    this.open(reason, nowMs);
  }

  /** Opens the breaker because the push service asked us to wait. @returns true if the breaker has just opened */
  obey(reason: string, nowMs: number, retryAfterMs: number): boolean {
    this.#retryAfterMs = Math.min(Math.max(this.#retryAfterMs, retryAfterMs), maxRetryAfterMs);
    return this.#openAsAsked(reason, nowMs);
  }

  #openAsAsked(reason: string, nowMs: number): boolean {
    if (this.#retryAfterMs > 0) this.#askedUntilMs = nowMs + this.#retryAfterMs;
    return this.open(reason, nowMs, this.#retryAfterMs);
  }

  /**
   * Opens the breaker at once, for example because the origin violates HTTP or cannot be reached.
   *
   * @param minMs the shortest time for which the breaker stays open
   */
  open(reason: string, nowMs: number, minMs = 0): boolean {
    const wasOpen = this.#state === 'OPEN';
    this.#openUntilMs = wasOpen
      ? Math.max(this.#openUntilMs, nowMs + minMs)
      : nowMs + Math.max(this.#openMs, minMs);
    if (wasOpen) return false;
    this.#state = 'OPEN';
    this.reason = reason;
    this.#failuresInRow = 0;
    this.#retryAfterMs = 0;
    this.#openMs = Math.min(this.#openMs * 2, maxOpenMs);
    return true;
  }
}
