// A clock that goes on like the real one and can be moved forward, for the store, the workers and the transport of a
// test together.

export class TestClock {
  #aheadMs = 0;

  /** Milliseconds since 1970. */
  readonly now = (): number => Date.now() + this.#aheadMs;
  readonly monotonicNow = (): number => performance.now() + this.#aheadMs;

  advance(ms: number): void {
    this.#aheadMs += ms;
  }
}
