// The server's time, known in this process without asking for it each time: the difference to a clock that only goes forward
// is learnt from the middle of a round trip, and learnt again now and then while it is used. So this machine's own time may be
// wrong, or be set.
export interface ServerClock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Asks the server. */
  learn(): Promise<void>;
}

export interface ServerClockOptions {
  /** @returns the server's time */
  readonly readServerTime: () => Promise<number>;
  readonly monotonicNow?: (() => number) | undefined;
}

const learnAgainAfterMs = 30_000;
/** Where the round trip was slow, the answer is inexact, or the server slow to come back. */
const slowRoundTripMs = 500;
const learnSoonAfterMs = 1000;

export function createServerClock({
  readServerTime,
  monotonicNow = () => performance.now(),
}: ServerClockOptions): ServerClock {
  let aheadMs = Date.now() - monotonicNow();
  let learnAtMs = Number.NEGATIVE_INFINITY;

  const learn = async (): Promise<void> => {
    const askedAtMs = monotonicNow();
    learnAtMs = askedAtMs + learnAgainAfterMs;
    const serverMs = await readServerTime();
    const answeredAtMs = monotonicNow();
    const roundTripMs = answeredAtMs - askedAtMs;
    if (roundTripMs > slowRoundTripMs) learnAtMs = answeredAtMs + learnSoonAfterMs;
    const measuredMs = serverMs - (askedAtMs + answeredAtMs) / 2;
    // what may be the inexactness of the measurement is no reason to let the time leap
    if (Math.abs(measuredMs - aheadMs) > roundTripMs / 2 + 1) aheadMs = measuredMs;
  };

  return {
    learn,
    now() {
      const monotonicMs = monotonicNow();
      // a server that is away is met by whoever works with it
      if (monotonicMs >= learnAtMs) void learn().catch(() => {});
      return Math.round(monotonicMs + aheadMs);
    },
  };
}
