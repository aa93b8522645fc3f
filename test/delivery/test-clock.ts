// A clock that goes on like the real one and can be stopped and moved forward, for the store, the workers and the
// transport of a test together.
import type { Clock } from '../../src/transport/clock.ts';

/** The longest that a timer takes, in milliseconds. */
export const never = 2 ** 31 - 1;

interface Pending {
  readonly dueMs: number;
  readonly done: () => void;
  readonly real: NodeJS.Timeout | undefined;
}

export class TestClock implements Clock {
  #aheadMs = 0;
  /** The real time at which it was stopped. */
  #stoppedAt: { readonly now: number; readonly monotonicNow: number } | undefined;
  readonly #timers = new Set<Pending>();

  /** Milliseconds since 1970. */
  readonly now = (): number => (this.#stoppedAt?.now ?? Date.now()) + this.#aheadMs;
  readonly monotonicNow = (): number => (this.#stoppedAt?.monotonicNow ?? performance.now()) + this.#aheadMs;

  readonly startTimer: Clock['startTimer'] = (done, ms, keepsProcess) => {
    const timer: Pending = {
      dueMs: this.monotonicNow() + ms,
      done,
      real: this.#stoppedAt === undefined ? setTimeout(() => this.#fire(timer), ms) : undefined,
    };
    if (!keepsProcess) timer.real?.unref();
    this.#timers.add(timer);
    return { cancel: () => this.#drop(timer) };
  };

  /** From now on only `advance` moves it, however slow the machine is. */
  stop(): void {
    this.#stoppedAt = { now: Date.now(), monotonicNow: performance.now() };
    for (const { real } of this.#timers) clearTimeout(real);
  }

  /** Calls back the timers that are due by then, in their order. */
  advance(ms: number): void {
    this.#aheadMs += ms;
    const due = [...this.#timers].filter(({ dueMs }) => dueMs <= this.monotonicNow());
    for (const timer of due.sort((a, b) => a.dueMs - b.dueMs)) this.#fire(timer);
  }

  #fire(timer: Pending): void {
    if (!this.#timers.has(timer)) return;
    this.#drop(timer);
    timer.done();
  }

  #drop(timer: Pending): void {
    clearTimeout(timer.real);
    this.#timers.delete(timer);
  }
}
