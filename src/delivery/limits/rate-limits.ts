// Keeps a worker within the rate limits of the store. It takes shares of a limit before it sends. Where its share is used
// up, a row is put off to a place in the queue that all workers make together, so that other push services are served
// meanwhile and each row is put off once, as a rule. A row that has been put off and still gets no permit comes back soon,
// however often that happens: a share is taken when it asks, and must not have run out by then.
import { burstSeconds, type RateShares } from '../../store/rate-shares.ts';
import type { MaxRates } from './max-rate.ts';
import type { NotSent } from '../message-path/not-sent.ts';

/** A share is used within this, or is lost: nothing is saved up. */
const shareLastsMs = 2000;
/** When a row comes back that found its share used up. Within `idleAfterMs`. */
const comesBackAfterMs = 500;
const askEveryMs = 50;
/** A push service that nothing was to be sent to for so long needs no share. */
const idleAfterMs = 1000;
/** Each row that is put off is stored. */
const leastWaitMs = 50;

interface Limit {
  readonly origin: string;
  readonly perSecond: number;
  permits: number;
  permitsUntilMs: number;
  /** The next place in the queue. */
  placeMs: number;
  putOff: number;
  askedAtMs: number;
  usedAtMs: number;
}

export class RateLimits {
  readonly #shares: RateShares;
  readonly #limits: ReadonlyMap<string, Limit>;

  constructor(rates: MaxRates, shares: RateShares) {
    this.#shares = shares;
    const unused = { permits: 0, permitsUntilMs: 0, placeMs: 0, putOff: 0, askedAtMs: 0 };
    this.#limits = new Map(
      Array.from(rates, ([origin, perSecond]) => [
        origin,
        { origin, perSecond, ...unused, usedAtMs: Number.POSITIVE_INFINITY },
      ]),
    );
  }

  /** To be called before rows are admitted: takes shares where they are used up. */
  async replenish(nowMs: number): Promise<void> {
    for (const limit of this.#limits.values()) {
      const hasShare = limit.permits > 0 && nowMs < limit.permitsUntilMs;
      const isIdle = nowMs - limit.usedAtMs > idleAfterMs;
      const mayAsk = nowMs - limit.askedAtMs >= askEveryMs;
      if (mayAsk && !isIdle && (!hasShare || limit.putOff > 0)) await this.#take(limit, nowMs);
    }
  }

  /**
   * @param isReturning the row was put off or tried before
   * @returns `undefined` where a message may be sent
   */
  admit(origin: string, isReturning: boolean, nowMs: number): NotSent | undefined {
    const limit = this.#limits.get(origin);
    if (limit === undefined) return undefined;
    limit.usedAtMs = nowMs;
    const isItsTurn = isReturning || limit.placeMs <= nowMs;
    if (isItsTurn && limit.permits > 0 && nowMs < limit.permitsUntilMs) {
      limit.permits -= 1;
      return undefined;
    }
    if (isReturning) return { kind: 'putOff', afterMs: comesBackAfterMs };
    limit.placeMs = Math.max(nowMs, limit.placeMs) + 1000 / limit.perSecond;
    limit.putOff += 1;
    return { kind: 'putOff', afterMs: Math.max(leastWaitMs, Math.ceil(limit.placeMs - nowMs)) };
  }

  async #take(limit: Limit, nowMs: number): Promise<void> {
    const { origin, perSecond, putOff } = limit;
    const wanted = Math.max(1, Math.ceil(perSecond * burstSeconds));
    limit.askedAtMs = nowMs;
    limit.putOff = 0;
    const { permits, queueMs } = await this.#shares.take({ origin, perSecond, wanted, putOff });
    limit.permits = permits;
    limit.permitsUntilMs = nowMs + shareLastsMs;
    limit.placeMs = queueMs === 0 ? 0 : nowMs + queueMs;
  }
}
