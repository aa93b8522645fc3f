// Settings of delivery: keys, transport, rate limits, and the workers' sizes and times. All but the functions of `TransportOptions` can be
// posted to a thread.
import type { EncryptionMethod } from '../../accelerator/encryption-methods.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { lookUp } from '../../errors/look-up.ts';
import type { VapidKeys } from '../../protocol/vapid.ts';
import type { TransportOptions } from '../../transport/transport.ts';
import type { RetryPolicy } from './retry-policy.ts';

/** Sizes in rows, times in milliseconds. */
export const defaultWorkerSettings = {
  /** Rows of slices that are taken and not committed. */
  maxPageRows: 4096,
  /** Rows that are stored one by one while their answers are awaited: detached from a page, or leased as retries. */
  maxDetachedRows: 3072,
  /** How many of them may be retries. */
  maxRetryRows: 1536,
  retryLeaseRows: 256,
  readRows: 1024,
  /** Encrypted and posted together: switching between crypto and sockets row by row costs nearly twice as much. */
  batchRows: 64,
  /** A commit is made after this many results, … */
  commitRows: 1024,
  /** … after this many that are not acceptances, each of which may be a row of its own, … */
  commitOtherRows: 256,
  /** … or after this time. */
  commitEveryMs: 200,
  /** How long a row without an answer may delay the commit of those behind it. */
  maxCommitDelayMs: 1000,
  /** The same if more than half of the permitted rows are taken, so that soon no more can be sent. */
  crowdedCommitDelayMs: 100,
  /** While slices are being read, due retries are looked for this often. */
  leaseRetriesEveryMs: 100,
  /** How often rows that were put aside are leased early, if some had to be put aside again. */
  leaseAheadEveryMs: 50,
  /** How often to look for work if there was none. */
  leaseSliceEveryMs: 250,
  /** How often a worker that can reach no push service retries. */
  lookWhileCutOffMs: 2000,
  /** How long other workers leave this one's work alone without a sign of life. */
  leaseMs: 10_000,
  /** How long a stopped worker waits for answers. */
  stopGraceMs: 5000,
  /** A smaller audience takes at most a second of processor time, so a missing accelerator is not worth a warning. */
  warnFromAudience: 10_000,
  /** Rows that wait in memory for their push services, unless another one could be sent to. */
  waitingRows: 256,
  /** How long, plus some round trips, a row waits like this until it and others are put aside, … */
  patienceMs: 1000,
  /** … and for how long at least. */
  minAsideMs: 250,
  /** A push service that has answered nothing for this long gets no rows for this long. */
  silentAfterMs: 3000,
  /** How long rows of a push service that cannot be reached are put aside, unless it answers earlier. */
  heldMs: 60_000,
};

export type WorkerSettings = Readonly<typeof defaultWorkerSettings>;

/** Rows that a worker may have sent and not committed, including those of the commit in progress. */
export const maxUncommittedOf = ({ maxPageRows, maxDetachedRows }: WorkerSettings): number =>
  maxPageRows + maxDetachedRows;

/** How many messages a crash repeats at most, per thread. The documentation states it. */
export const maxUncommittedRows = maxUncommittedOf(defaultWorkerSettings);

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
  /** Makes the tokens with which browsers report on broadcasts with `receipts`. The service has the same key, from the data directory. */
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
