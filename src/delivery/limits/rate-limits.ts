// Keeps a worker within the rate limits that all workers of a store share. Operators set the limits, and unlisted push
// services have a default. Before it sends, a worker takes a share of the limit. When the share is used up, rows are
// stored in a common queue, each with the time at which it may be sent. So each row normally waits once, and meanwhile
// other push services are served. If no share is left when the time comes, the row is retried every `comesBackAfterMs`.
import { isGooglePushService } from '../../protocol/known-push-services.ts';
import type { Outcome } from '../../protocol/outcome.ts';
import type { RowResult } from '../../store/ledger.ts';
import { burstSeconds, type RateShares } from '../../store/push-services.ts';
import type { MaxRates } from '../settings/settings.ts';
import type { NotSent } from './not-sent.ts';

/** A share expires if it is not used within this time. */
const shareLastsMs = 2000;
/** How long a row waits if it is due but no share of the limit is left. Must be less than `idleAfterMs`. */
const comesBackAfterMs = 500;
const askEveryMs = 50;
/** A worker that has had no message for a push service for this long takes no new share of the push service's limit. */
const idleAfterMs = 1000;
/** The minimum wait of a row. Rows wait in the store, and storing a row for a shorter wait is not worthwhile. */
const minWaitMs = 50;

interface Limit {
  readonly origin: string;
  readonly perSecond: number;
  permits: number;
  permitsUntilMs: number;
  /** When the next row of the queue is due. */
  queueAtMs: number;
  rateLimited: number;
  askedAtMs: number;
  usedAtMs: number;
}

export class RateLimits {
  readonly #shares: RateShares;
  readonly #limits: Map<string, Limit>;

  constructor(rates: MaxRates, shares: RateShares) {
    this.#shares = shares;
    this.#limits = new Map(Array.from(rates, ([origin, perSecond]) => [origin, unused(origin, perSecond)]));
  }

  /**
   * Takes new shares if the old ones are used up. Must be called before rows are admitted.
   *
   * @param nowMs the time by a clock that is never set back, like that of `admit`
   */
  async replenish(nowMs: number): Promise<void> {
    for (const limit of this.#limits.values()) {
      const hasShare = limit.permits > 0 && nowMs < limit.permitsUntilMs;
      const isIdle = nowMs - limit.usedAtMs > idleAfterMs;
      const mayAsk = nowMs - limit.askedAtMs >= askEveryMs;
      if (mayAsk && !isIdle && (!hasShare || limit.rateLimited > 0)) await this.#take(limit, nowMs);
    }
  }

  /**
   * @param isReturning true if the row was rate limited or tried before
   * @param perSecond the limit if the operator has set none. Default: no limit
   * @returns `undefined` if a message may be sent
   */
  admit(origin: string, isReturning: boolean, nowMs: number, perSecond?: number): NotSent | undefined {
    let limit = this.#limits.get(origin);
    if (limit === undefined) {
      if (perSecond === undefined) return undefined;
      limit = unused(origin, perSecond);
      this.#limits.set(origin, limit);
    }
    limit.usedAtMs = nowMs;
    const isItsTurn = isReturning || limit.queueAtMs <= nowMs;
    if (isItsTurn && limit.permits > 0 && nowMs < limit.permitsUntilMs) {
      limit.permits -= 1;
      return undefined;
    }
    if (isReturning) return { kind: 'rateLimited', afterMs: comesBackAfterMs };
    limit.queueAtMs = Math.max(nowMs, limit.queueAtMs) + 1000 / limit.perSecond;
    limit.rateLimited += 1;
    return { kind: 'rateLimited', afterMs: Math.max(minWaitMs, Math.ceil(limit.queueAtMs - nowMs)) };
  }

  async #take(limit: Limit, nowMs: number): Promise<void> {
    const { origin, perSecond, rateLimited } = limit;
    const wanted = Math.max(1, Math.ceil(perSecond * burstSeconds));
    limit.askedAtMs = nowMs;
    limit.rateLimited = 0;
    const { permits, queueMs } = await this.#shares.take({ origin, perSecond, wanted, rateLimited });
    limit.permits = permits;
    limit.permitsUntilMs = nowMs + shareLastsMs;
    limit.queueAtMs = queueMs === 0 ? 0 : nowMs + queueMs;
  }
}

const unused = (origin: string, perSecond: number): Limit => ({
  origin,
  perSecond,
  permits: 0,
  permitsUntilMs: 0,
  queueAtMs: 0,
  rateLimited: 0,
  askedAtMs: Number.NEGATIVE_INFINITY,
  usedAtMs: Number.POSITIVE_INFINITY,
});

// Detects Chrome's limit for sites whose messages people dismiss: since January 2026, its push service answers 429
// above 1,000 messages a minute, for 1, 7 or 14 days. A 429 that does not last has another cause.

export const chromeLimitReason = 'chrome-limit';

/** This many attempts take more than a minute. */
const suspiciousAttempts = 5;
const suspiciousWaitMs = 10 * 60 * 1000;

/** @returns an alarm if Chrome's limit may be the reason why the push service asks to wait */
export function findChromeLimit(
  origin: string,
  { reason, afterMs = 0 }: Extract<Outcome, { kind: 'retry' }>,
  attempt: number,
): RowResult['alarm'] {
  if (reason !== 'throttled' || !isGooglePushService(origin)) return undefined;
  if (attempt < suspiciousAttempts && afterMs < suspiciousWaitMs) return undefined;
  return {
    reason: chromeLimitReason,
    detail:
      'it answers 429 for long. Chrome does that for 1, 7 or 14 days, above 1,000 messages a minute, to sites whose messages ' +
      'people dismiss or ignore: send to them less often, and until it ends no faster than --max-rate fcm.googleapis.com=900/min',
  };
}
