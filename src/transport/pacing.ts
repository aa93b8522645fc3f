// Decides how many requests may be in flight to one push service (the window), and how fast they are written. In
// flight ≈ rate × round trip. Neither is known, so the window is adjusted in rounds. The clock is a parameter, and
// nothing here waits.
//
// Inputs    for each response: whether it was accepted, refused (503, 429 without a time, a stream's first refusal) or
//           other, and the time since its request was written; also whether requests waited because of the window
// Round     responses to a part of the window that was written since the last decision; if few requests are in flight,
//           also three round trips without a refusal
// State     window; growth: the share by which a round may widen it; threshold: the last window that worked, up to
//           which it doubles again; base: the round trip without a queue; whether writes are spread over the round
//           trip, as they are after the first overload, because a push service with a rate limit refuses bursts
//
// At the end of a round
//   OVERLOADED  more requests were refused than a healthy push service refuses by chance:
//               window ← window × accepted share × 17/20 (the first time, after a burst: × accepted share, at least
//               1/2); threshold ← window; growth ← 1/32. If nothing was accepted, this is an outage, which does not
//               measure capacity: window ← window / 4, at least threshold / 64, and the threshold stays
//   QUEUEING    most accepted requests took longer than three base round trips: window ← what two base round trips
//               carry, at least half of it and at least `latencyFloor`; threshold ← window; growth ← 1/32. If that
//               does not shorten the round trip, there is no queue, and the push service is farther away than before:
//               base ← the round trip, window ← its previous value. If the window is too small: base ← 2 × base
//   WIDENING    neither, and requests waited because of the window: window ← twice as much up to the threshold or 1,
//               and window × (1 + growth) beyond it; growth ← 1.5 × growth, at most 1
//
// The decision depends on the share of refusals, never on a single one: one in a hundred changes nothing; half of
// them halve the window in one round trip. After a decrease, growth of 3, 5, 7, 11, 16, 24 % … keeps refusals at a
// few per cent if the capacity has not changed, and finds twice the capacity within ten round trips.

/**
 * The initial window: as many requests as one HTTP/2 connection can carry. High latency alone never lowers the window
 * below this.
 */
export const latencyFloor = 100;
/** The largest window: what a thread sends in 100 ms. A push service usually starts to queue at a smaller window. */
export const maxLimit = 3000;
/** The rate until the round trip is known, in requests per millisecond. */
export const firstPerMs = latencyFloor / 500;

/** The smallest window. It is below 1, because some push services accept less than one request per round trip. */
const minWindow = 1 / 8;

/** A busy process adds to the latency, so only a latency well above the round trip without a queue proves a queue. */
const maxLatencyRatio = 3;
const latencySlackMs = 10;
/** If there is a queue, the window becomes the number of responses that arrive in this many base round trips. */
const queueRatio = 2;
/** There was no queue if lowering the window by a third does not reduce the round trip to this share. */
const shorterBy = 0.85;
/** If the window is too small to be lowered as a test for a queue, the base round trip grows by this factor. */
const fartherBy = 2;
/** The push service counts as overloaded if the share of refusals exceeds this by more than chance explains. */
const toleratedShare = 0.06;
/**
 * How many standard deviations count as chance. More before the first overload: a false alarm ends the doubling of the
 * window.
 */
const chanceAtFirst = 3;
const chanceLater = 1;
/** A full round has responses to this share of the window, but at least `roundAnswers` responses. */
const roundShare = 1 / 4;
const roundAnswers = 16;
/** If nothing was refused, a round ends after this many round trips. */
const calmRoundTrips = 3;
const carefulGrowth = 1 / 32;
/** The factor by which `growth` increases in each round that widens the window. */
const fasterBy = 1.5;
const outageFactor = 1 / 4;
/**
 * Minimum window in an outage, as a share of the threshold. With a smaller window, the end of the outage would be
 * noticed late. The circuit breaker stops long outages.
 */
const outageFloor = 1 / 64;
/**
 * The first decrease keeps at least this share of the window: requests that are refused in a burst may be accepted if
 * they are spread over time.
 */
const firstFactor = 1 / 2;
/** Keeps the window slightly below the accepted rate, so that the next rounds are not refused again. */
const marginFactor = 0.85;
/** If requests are spread over time, slow responses may raise the number in flight to this many times the window. */
const spreadRatio = 1.5;
/** After a delay, at most as many requests as are due in this time are written at once. */
const burstMs = 10;

export class Pacing {
  #window = latencyFloor;
  #growth = 1;
  #threshold = Number.POSITIVE_INFINITY;
  #baseMs = Number.POSITIVE_INFINITY;
  /** Mean latency in the last round in which requests were accepted. */
  #latencyMs = 0;
  /**
   * Set while a smaller window is tried, to find out whether there is a queue. `window`: its value before the first
   * decrease; `latencyMs`: the round trip at the second decrease.
   */
  #trial: { readonly window: number; readonly latencyMs: number | undefined } | undefined;
  #isSpread = false;
  /** True if all responses of the last round were refusals. */
  #isOutage = false;
  /** The number of requests that may be written now. Used only if requests are spread over time. */
  #permits = 0;
  #permitsAtMs = 0;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  #answers = 0;
  #refused = 0;
  #accepted = 0;
  #late = 0;
  #latencySumMs = 0;
  #wasReached = false;

  get limit(): number {
    return Math.max(1, Math.floor(this.#window));
  }

  /** The expected limit after two more rounds. By then, a connection that is opened now will be ready. */
  get limitAhead(): number {
    const growth = this.#window < this.#threshold ? 1 : this.#growth;
    return Math.min(maxLimit, Math.ceil(this.#window * (1 + growth) ** 2));
  }

  /** Returns how many requests may be written now. */
  free(inFlight: number, nowMs: number): number {
    if (!this.#isSpread) return Math.max(0, this.limit - inFlight);
    const free = Math.ceil(this.#window * spreadRatio) - inFlight;
    if (free <= 0) return 0;
    const { perMs } = this;
    const burst = Math.max(1, perMs * burstMs);
    this.#permits = Math.min(burst, this.#permits + (nowMs - this.#permitsAtMs) * perMs);
    this.#permitsAtMs = nowMs;
    return Math.min(free, Math.floor(this.#permits));
  }

  /** Records that `count` requests were written. */
  spend(count: number): void {
    if (this.#isSpread) this.#permits -= count;
  }

  /** The time until the next request may be written; `undefined` if spreading requests over time causes no delay. */
  get waitMs(): number | undefined {
    return this.#permits < 1 && this.#isSpread ? Math.max(1, (1 - this.#permits) / this.perMs) : undefined;
  }

  /** The rate that the window allows, in requests per millisecond. */
  get perMs(): number {
    return this.#latencyMs === 0 ? firstPerMs : this.#window / Math.max(1, this.#latencyMs);
  }

  /** Records that requests had to wait because the window was full. */
  recordLimitReached(): void {
    this.#wasReached = true;
  }

  /** @param latencyMs the time since the request was written */
  recordAccepted(latencyMs: number, nowMs: number): void {
    if (nowMs - latencyMs < this.#startedAtMs) return;
    this.#accepted += 1;
    this.#latencySumMs += latencyMs;
    if (latencyMs > this.#lateAfterMs) this.#late += 1;
    this.#count(nowMs);
  }

  /** Records that the push service refused a request because there are too many (429, 503, a refused stream). */
  recordRefused(latencyMs: number, nowMs: number): void {
    if (nowMs - latencyMs < this.#startedAtMs) return;
    this.#refused += 1;
    this.#count(nowMs);
  }

  /** Records a response that says nothing about the rate. */
  recordOther(latencyMs: number, nowMs: number): void {
    if (nowMs - latencyMs >= this.#startedAtMs) this.#count(nowMs);
  }

  get #lateAfterMs(): number {
    return maxLatencyRatio * this.#baseMs + latencySlackMs;
  }

  #count(nowMs: number): void {
    this.#answers += 1;
    if (this.#answers < Math.max(roundAnswers, this.#window * roundShare) && !this.#isCalm(nowMs)) return;
    if (this.#isOverloaded) this.#lower(nowMs);
    else {
      this.#isOutage = false;
      if (!this.#isQueueing()) this.#widen();
    }
    this.#startRound(nowMs);
  }

  /**
   * True if the round may end early because no request was refused. A full round of responses is needed only to judge
   * refusals, and takes a long time if few requests are in flight.
   */
  #isCalm(nowMs: number): boolean {
    const isNothingRefused = this.#refused === 0 && this.#accepted > 0 && this.#latencyMs > 0;
    return isNothingRefused && nowMs - this.#startedAtMs >= calmRoundTrips * this.#latencyMs;
  }

  get #isOverloaded(): boolean {
    const tolerated = toleratedShare * this.#answers;
    const chance = this.#isSpread ? chanceLater : chanceAtFirst;
    return this.#refused > tolerated + chance * Math.sqrt(tolerated);
  }

  #lower(nowMs: number): void {
    this.#trial = undefined;
    this.#growth = carefulGrowth;
    const accepted = 1 - this.#refused / this.#answers;
    const wasOutage = this.#isOutage;
    this.#isOutage = accepted === 0;
    if (this.#isOutage && !wasOutage) this.#threshold = this.#window;
    if (!this.#isSpread) {
      this.#isSpread = true;
      this.#permitsAtMs = nowMs;
      this.#set(this.#window * Math.max(firstFactor, accepted));
    } else if (this.#isOutage)
      this.#set(Math.max(this.#threshold * outageFloor, this.#window * outageFactor));
    else this.#set(this.#window * accepted * marginFactor);
    // the round in which an outage ends says nothing about capacity
    if (!this.#isOutage && !wasOutage) this.#threshold = this.#window;
  }

  #isQueueing(): boolean {
    if (this.#accepted === 0) return false;
    const latencyMs = this.#latencySumMs / this.#accepted;
    const isLate = this.#late * 2 > this.#accepted;
    this.#baseMs = Math.min(this.#baseMs, latencyMs);
    const trial = this.#trial;
    this.#trial = undefined;
    if (!isLate) return false;
    if (trial?.latencyMs !== undefined && latencyMs > trial.latencyMs * shorterBy) {
      this.#baseMs = latencyMs;
      this.#setThreshold(trial.window);
      return true;
    }
    const wanted = Math.max((this.#window * queueRatio * this.#baseMs) / latencyMs, this.#window / 2);
    const window = Math.max(wanted, Math.min(this.#window, latencyFloor));
    if (window <= this.#window * (2 / 3))
      this.#trial = { window: trial?.window ?? this.#window, latencyMs: trial && latencyMs };
    else if (window <= latencyFloor) this.#baseMs *= fartherBy;
    this.#growth = carefulGrowth;
    this.#setThreshold(window);
    return true;
  }

  #widen(): void {
    if (!this.#wasReached) return;
    if (this.#window < Math.max(this.#threshold, 1)) {
      this.#set(Math.min(this.#window * 2, Math.max(this.#threshold, 1)));
      return;
    }
    this.#set(this.#window * (1 + this.#growth));
    this.#growth = Math.min(1, this.#growth * fasterBy);
  }

  #set(window: number): void {
    this.#window = Math.min(maxLimit, Math.max(minWindow, window));
  }

  #setThreshold(window: number): void {
    this.#set(window);
    this.#threshold = this.#window;
  }

  #startRound(nowMs: number): void {
    if (this.#accepted > 0) this.#latencyMs = this.#latencySumMs / this.#accepted;
    this.#startedAtMs = nowMs;
    this.#answers = this.#refused = this.#accepted = this.#late = this.#latencySumMs = 0;
    this.#wasReached = false;
  }
}
