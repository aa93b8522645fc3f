// Settings of delivery: keys, transport, and changes to the defaults. All but the functions of `TransportOptions` can be posted to a
// thread.
import type { EncryptionMethod } from '../../accelerator/encryption-methods.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { lookUp } from '../../errors/look-up.ts';
import type { VapidKeys } from '../../protocol/vapid.ts';
import type { TransportOptions } from '../../transport/transport.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { WorkerSettings } from './worker-settings.ts';

/** The pair that subscriptions were made with, and the contact for push services. */
export interface SenderVapid extends VapidKeys {
  /** `mailto:` or `https:` URI. */
  readonly subject: string;
  /** How long a token is valid, 60 to 86 400 (default 43 200: 12 hours). */
  readonly lifetimeSeconds?: number | undefined;
  /** Earlier pairs, for subscriptions that were made with them. */
  readonly previousKeys?: readonly VapidKeys[] | undefined;
  /** A data directory. Its key files are read again if a subscription names a key that is not among the pairs. */
  readonly keyDirectory?: string | undefined;
}

export interface DeliverySettings {
  readonly vapid: SenderVapid;
  readonly transport: TransportOptions;
  /** When and how often a row of a broadcast is retried, as changes to the defaults: tests shorten the waits. */
  readonly retryPolicy?: Partial<RetryPolicy> | undefined;
  /** The fastest method of encryption that may be used: `multi-buffer` (default), `openssl` or `builtin`. */
  readonly encryption?: EncryptionMethod | undefined;
  /** From the data directory, the same as the service's: makes the tokens by which browsers report on broadcasts with `receipts`. */
  readonly receiptKey?: Uint8Array | undefined;
  /** Limits of push services, shared by all workers on the store. */
  readonly maxRates?: MaxRates | undefined;
  /** Sizes and times of workers, as changes to the defaults. */
  readonly worker?: Partial<WorkerSettings> | undefined;
}

// Limits on the rate of push services, as operators write them: `fcm.googleapis.com=500/s`.

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
