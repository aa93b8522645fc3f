// Limits on how many messages a push service gets in a time, for all workers of all processes together. Workers take shares
// of a limit, each of a fraction of a second, and say how many rows wait for it.
import { run, type PortableDatabase, type Work } from './portable-sql.ts';

/** What may be saved up, as seconds of the rate; at least one message. */
export const burstSeconds = 0.25;

/** So long without a message, the queue is not there: its broadcast was paused or cancelled. */
const abandonedAfterMs = 5000;

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

interface LimitRow {
  readonly permits: number;
  readonly refilled_at_ms: number;
  readonly queued_until_ms: number;
  readonly sent_at_ms: number;
}

export const createRateShares = (database: PortableDatabase): RateShares => ({
  take: (request) => database.background(() => take(request, database.now())),
});

function* take({ origin, perSecond, wanted, rateLimited }: RateRequest, nowMs: number): Work<RateShare> {
  const burst = Math.max(1, perSecond * burstSeconds);
  // it changes nothing if there is a row, which nobody else changes from then on
  const [row] = yield* run<LimitRow>(
    `insert into deskbell.rate_limits (origin, permits, refilled_at_ms, queued_until_ms, sent_at_ms)
     values (:origin, :burst, :nowMs, :nowMs, :nowMs)
     on conflict (origin) do update set origin = excluded.origin
     returning permits, refilled_at_ms, queued_until_ms, sent_at_ms`,
    { origin, burst, nowMs },
  );
  const known = row!;
  // of two requests, the one that was asked for earlier may come later
  const elapsedMs = Math.max(0, nowMs - known.refilled_at_ms);
  const saved = Math.min(burst, known.permits + (elapsedMs * perSecond) / 1000);
  const permits = Math.min(wanted, Math.floor(saved));
  const intervalMs = 1000 / perSecond;
  const isAbandoned = nowMs - known.sent_at_ms > Math.max(abandonedAfterMs, 2 * intervalMs);
  const queueStartMs = isAbandoned ? nowMs : Math.max(nowMs, known.queued_until_ms);
  const queuedUntilMs = Math.ceil(queueStartMs + rateLimited * intervalMs);
  yield* run(
    `update deskbell.rate_limits set permits = :permits, refilled_at_ms = :refilledAtMs,
       queued_until_ms = :queuedUntilMs, sent_at_ms = :sentAtMs
     where origin = :origin`,
    {
      origin,
      permits: saved - permits,
      refilledAtMs: Math.max(nowMs, known.refilled_at_ms),
      queuedUntilMs,
      sentAtMs: permits > 0 || isAbandoned ? nowMs : known.sent_at_ms,
    },
  );
  return { permits, queueMs: queuedUntilMs - nowMs };
}
