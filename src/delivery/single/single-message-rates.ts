// Keeps single messages to unlisted push services within their rate, in this process; broadcasts share theirs in the store
// (rate-limits.ts).
import { unlistedLimits } from '../../protocol/endpoint-policy.ts';
import type { NotSent } from '../limits/not-sent.ts';
import type { Destination } from '../message-path/destinations.ts';
import type { MaxRates } from '../settings/settings.ts';

/** Beyond this many, push services that got no message for a second are forgotten. */
const maxRemembered = 1024;

export class SingleMessageRates {
  readonly #rates: MaxRates;
  /** When each may get its next message; a second's worth may be saved up. */
  readonly #nextAtMs = new Map<string, number>();

  constructor(rates: MaxRates) {
    this.#rates = rates;
  }

  /** @returns `undefined` if a message may be sent */
  admit(
    { origin, isUnlisted }: Pick<Destination, 'origin' | 'isUnlisted'>,
    nowMs: number,
  ): NotSent | undefined {
    if (!isUnlisted) return undefined;
    const perSecond = this.#rates.get(origin) ?? unlistedLimits.perSecond;
    const intervalMs = 1000 / perSecond;
    const nextAtMs = Math.max(this.#nextAtMs.get(origin) ?? 0, nowMs - 1000) + intervalMs;
    if (nextAtMs > nowMs) {
      const detail = `The push service gets at most ${perSecond} messages a second, since "pushServices" does not list it.`;
      return { kind: 'deferred', afterMs: Math.ceil(nextAtMs - nowMs), detail };
    }
    if (this.#nextAtMs.size >= maxRemembered) this.#forget(nowMs);
    this.#nextAtMs.set(origin, nextAtMs);
    return undefined;
  }

  #forget(nowMs: number): void {
    for (const [origin, nextAtMs] of this.#nextAtMs) {
      if (nextAtMs <= nowMs - 1000) this.#nextAtMs.delete(origin);
    }
  }
}
