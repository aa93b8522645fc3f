// The transport's time, as a parameter so that tests can move it.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds from an arbitrary start, monotonic. */
  readonly monotonicNow: () => number;
  /**
   * Calls `done` once, `ms` from now.
   *
   * @param keepsProcess false if the process may end earlier
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
