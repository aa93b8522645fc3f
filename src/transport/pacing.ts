// How many requests may be in flight to one origin. In flight ≈ rate × round trip, and neither is known: the limit
// grows while it is what holds the requests back and answers do not get slower, and shrinks when they do.
//
// A round is as many answers as the limit allows in flight. At its end
//   the limit was reached, answers came at about the base latency → twice as many; a quarter more once it was too much
//   answers came much later than the base latency                 → a fifth less, but not under `latencyFloor`
// Base latency is the least seen in the last 30 s. It is then measured anew in a round with at most `latencyFloor` in flight,
// since latency under load would be taken as the base and the limit would keep growing; a limit that is lowered for it is
// restored after that round.
// A 429 or 503 halves the limit at once, down to 1, and for the next minute it grows in steps of a second.

/** Latency alone never lowers the limit under this: what one HTTP/2 connection carries. */
export const latencyFloor = 100;
/** What a thread makes in a tenth of a second. A queue at the push service stops the growth long before. */
export const maxLimit = 3000;

/** Latency includes the time in which we are busy ourselves, so it means nothing until it is well above the base. */
const maxLatencyRatio = 3;
const latencySlackMs = 10;
const baseLifetimeMs = 30_000;
/** How the limit grows at first, and once it has been too high. */
const initialGrowth = 2;
const carefulGrowth = 1.25;
const throttledForMs = 60_000;
const throttledStepMs = 1000;

export class Pacing {
  #limit = latencyFloor;
  #growth = initialGrowth;
  #baseMs = Number.POSITIVE_INFINITY;
  #baseUntilMs = 0;
  #roundAnswers = 0;
  #roundLatencyMs = 0;
  #minRoundMs = Number.POSITIVE_INFINITY;
  #wasReached = false;
  /** The limit of before the round that measures the base; 0 in all other rounds. */
  #limitToRestore = 0;
  #throttledUntilMs = 0;
  #nextStepMs = 0;

  get limit(): number {
    return this.#limit;
  }

  /** What the limit may be two rounds from now, which is how long a connection takes to open. */
  get limitAhead(): number {
    return Math.min(maxLimit, Math.ceil(this.#limit * this.#growth ** 2));
  }

  /** Requests wait because of the limit. */
  recordLimitReached(): void {
    this.#wasReached = true;
  }

  recordAnswer(latencyMs: number, nowMs: number): void {
    if (latencyMs < this.#minRoundMs) this.#minRoundMs = latencyMs;
    this.#roundLatencyMs += latencyMs;
    this.#roundAnswers += 1;
    // With a limit to restore, answers to requests from before the round come first.
    if (this.#roundAnswers >= this.#limit + this.#limitToRestore) this.#endRound(nowMs);
  }

  /** The push service asked for fewer requests (429, 503). */
  recordThrottled(nowMs: number): void {
    // Answers to what was in flight already say the same thing once more.
    if (nowMs < this.#nextStepMs) return;
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    this.#limitToRestore = 0;
    this.#growth = carefulGrowth;
    this.#throttledUntilMs = nowMs + throttledForMs;
    this.#nextStepMs = nowMs + throttledStepMs;
  }

  #endRound(nowMs: number): void {
    const isBaseDue = nowMs >= this.#baseUntilMs;
    if (this.#limitToRestore > 0) {
      this.#setBase(nowMs);
      this.#limit = this.#limitToRestore;
      this.#limitToRestore = 0;
    } else if (isBaseDue && this.#limit > latencyFloor) {
      this.#limitToRestore = this.#limit;
      this.#limit = latencyFloor;
    } else {
      if (isBaseDue) this.#setBase(nowMs);
      this.#baseMs = Math.min(this.#baseMs, this.#minRoundMs);
      this.#adjustLimit(nowMs);
    }
    this.#roundLatencyMs = 0;
    this.#minRoundMs = Number.POSITIVE_INFINITY;
    this.#roundAnswers = 0;
    this.#wasReached = false;
  }

  #setBase(nowMs: number): void {
    this.#baseMs = this.#minRoundMs;
    this.#baseUntilMs = nowMs + baseLifetimeMs;
  }

  #adjustLimit(nowMs: number): void {
    const isSlow =
      this.#roundLatencyMs / this.#roundAnswers > maxLatencyRatio * this.#baseMs + latencySlackMs;
    if (isSlow) {
      this.#growth = carefulGrowth;
      this.#limit = Math.min(this.#limit, Math.max(latencyFloor, Math.floor(this.#limit * 0.8)));
    } else if (this.#wasReached && nowMs >= this.#nextStepMs) {
      this.#limit = Math.min(maxLimit, Math.ceil(this.#limit * this.#growth));
      if (nowMs < this.#throttledUntilMs) this.#nextStepMs = nowMs + throttledStepMs;
    }
  }
}
