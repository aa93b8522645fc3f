// Limits on how many messages a push service gets in a time, for all workers of all processes together. Workers take shares
// of a limit, each of a fraction of a second, and say how many rows wait for it. Types and numbers only.

/** What may be saved up, as seconds of the rate; at least one message. */
export const burstSeconds = 0.25;

/** So long without a message, the queue is not there: its broadcast was paused or cancelled. */
export const abandonedAfterMs = 5000;

export interface RateRequest {
  /** As `URL.origin` gives it. */
  readonly origin: string;
  /** The limit: messages per second. */
  readonly perSecond: number;
  /** Messages that the worker could send now. */
  readonly wanted: number;
  /** Rows that the worker found over the limit since its last request: each lengthens the queue by one. */
  readonly rateLimited: number;
}

export interface RateShare {
  /** Messages that may be sent now, at most `wanted`. */
  readonly permits: number;
  /** Until when, from now, the rows of all workers that wait take all of the rate; 0: there are none. */
  readonly queueMs: number;
}

export interface RateShares {
  take(request: RateRequest): Promise<RateShare>;
}
