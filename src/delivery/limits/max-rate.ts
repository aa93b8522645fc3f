// Limits on the rate of push services, as operators write them: `fcm.googleapis.com=500/s`.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { lookUp } from '../../errors/look-up.ts';

const unitSeconds: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3600 };

/** Messages per second by origin. */
export type MaxRates = ReadonlyMap<string, number>;

/**
 * @param limits each a host, or an origin, and its limit per second (`s`), minute (`min`) or hour (`h`)
 * @throws {DeskbellError} ERR_CONFIGURATION
 */
export function parseMaxRates(limits: readonly string[]): MaxRates {
  const rates = new Map<string, number>();
  for (const limit of limits) {
    const [, place = '', count = '', unit = ''] = /^(\S+)=(\d+)\/(s|min|h)$/.exec(limit) ?? [];
    const url = URL.parse(place.includes('://') ? place : `https://${place}`);
    const perSecond = Number(count) / (lookUp(unitSeconds, unit) ?? 1);
    if (url === null || url.host === '' || url.pathname !== '/' || place.includes('*') || !(perSecond > 0)) {
      throw new DeskbellError(
        'ERR_CONFIGURATION',
        `The rate limit "${limit}" is not valid: give a host and a number over 0 per s, min or h, such as fcm.googleapis.com=500/s`,
      );
    }
    rates.set(url.origin, perSecond);
  }
  return rates;
}
