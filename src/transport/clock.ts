// The transport's clock and timers. They are parameters, so that tests control time.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Monotonic milliseconds from an arbitrary start. */
  readonly monotonicNow: () => number;
  /**
   * Calls `done` once after `ms`.
   *
   * @param keepsProcess if false, the process may exit while the timer is running
   */
  readonly startTimer: (done: () => void, ms: number, keepsProcess: boolean) => Timer;
}

export const systemClock: Clock = {
  monotonicNow: () => performance.now(),
  startTimer(done, ms, keepsProcess) {
    const timer = setTimeout(done, ms);
    if (!keepsProcess) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
