// How many requests may be in flight to one origin. In flight ≈ rate × round trip, and neither is known: the limit
// grows while it is what holds the requests back and answers do not get slower, and shrinks when they do.
//
// A round is as many answers as the limit allows in flight. At its end
//   the limit was reached, answers came at about the base latency → half as many again
//   answers came much later than the base latency                 → a fifth less, but not under `calmLimit`
// Base latency is the least seen lately; it is forgotten every 10 s together with half of the limit, so that it is
// measured anew with short queues. A 429 or 503 halves the limit at once, down to 1, and for the next minute it
// grows in steps of a second.

/** Latency alone never presses the limit under this: one HTTP/2 session's worth. */
export const calmLimit = 100;
export const maxLimit = 2000;

const slackMs = 10;
const baseLifetimeMs = 10_000;
const throttledForMs = 60_000;
const throttledStepMs = 1000;

export class Pacing {
  #limit = calmLimit;
  #baseMs = Number.POSITIVE_INFINITY;
  #baseUntilMs = 0;
  #roundAnswers = 0;
  #roundLatencyMs = 0;
  #wasReached = false;
  #throttledUntilMs = 0;
  #nextStepMs = 0;

  get limit(): number {
    return this.#limit;
  }

  /** The limit holds requests back. */
  reached(): void {
    this.#wasReached = true;
  }

  answered(latencyMs: number, nowMs: number): void {
    if (latencyMs < this.#baseMs) this.#baseMs = latencyMs;
    this.#roundLatencyMs += latencyMs;
    this.#roundAnswers += 1;
    if (this.#roundAnswers >= this.#limit) this.#endRound(nowMs);
  }

  /** The push service said that this is too much (429, 503). */
  throttled(nowMs: number): void {
    // Answers to what was in flight already say the same thing once more.
    if (nowMs < this.#nextStepMs) return;
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    this.#throttledUntilMs = nowMs + throttledForMs;
    this.#nextStepMs = nowMs + throttledStepMs;
  }

  #endRound(nowMs: number): void {
    const latencyMs = this.#roundLatencyMs / this.#roundAnswers;
    const isSlow = latencyMs > 2 * this.#baseMs + slackMs;
    if (isSlow) this.#limit = Math.min(this.#limit, Math.max(calmLimit, Math.floor(this.#limit * 0.8)));
    else if (this.#wasReached && nowMs >= this.#nextStepMs) {
      this.#limit = Math.min(maxLimit, Math.ceil(this.#limit * 1.5));
      if (nowMs < this.#throttledUntilMs) this.#nextStepMs = nowMs + throttledStepMs;
    }
    if (nowMs >= this.#baseUntilMs) {
      if (this.#baseUntilMs > 0) this.#limit = Math.min(this.#limit, Math.max(calmLimit, this.#limit >> 1));
      this.#baseUntilMs = nowMs + baseLifetimeMs;
      this.#baseMs = latencyMs;
    }
    this.#roundAnswers = 0;
    this.#roundLatencyMs = 0;
    this.#wasReached = false;
  }
}
