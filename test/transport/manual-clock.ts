// A clock that stands still until a test moves it.
import type { Clock } from '../../src/transport/clock.ts';

interface Pending {
  readonly dueMs: number;
  readonly done: () => void;
}

export class ManualClock implements Clock {
  #nowMs = 1_000_000;
  readonly #timers = new Set<Pending>();

  readonly monotonicNow = (): number => this.#nowMs;

  readonly startTimer: Clock['startTimer'] = (done, ms) => {
    const timer = { dueMs: this.#nowMs + ms, done };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  };

  /** Moves the clock, and calls back the timers that are due meanwhile, each at its time. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.dueMs - b.dueMs);
      if (next === undefined || next.dueMs > endMs) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.done();
    }
    this.#nowMs = endMs;
  }
}
