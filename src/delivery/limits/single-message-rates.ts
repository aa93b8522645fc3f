// Keeps single messages to unlisted push services within their rate limit, in this process only. Workers of broadcasts
// share a limit in the store (rate-limits.ts).
import { unlistedLimits } from '../../protocol/endpoint-policy.ts';
import type { MaxRates } from '../settings/settings.ts';
import type { NotSent } from './not-sent.ts';

/** Above this number, push services that got no message for a second are forgotten. */
const maxRemembered = 1024;

export class SingleMessageRates {
  readonly #rates: MaxRates;
  /** When each push service may get its next message. Up to one second of unused rate can be used later. */
  readonly #nextAtMs = new Map<string, number>();

  constructor(rates: MaxRates) {
    this.#rates = rates;
  }

  /** @returns `undefined` if a message may be sent */
  admit(
    { origin, isUnlisted }: { readonly origin: string; readonly isUnlisted: boolean },
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
