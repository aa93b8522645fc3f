// Settings of delivery: keys, transport, rate limits, and the workers' sizes and times. All of them can be posted to a
// thread, except functions in `TransportOptions`.
import type { EncryptionMethod } from '../../accelerator/encryption-methods.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { lookUp } from '../../errors/check-options.ts';
import type { VapidKeys } from '../../protocol/vapid.ts';
import type { TransportOptions } from '../../transport/transport.ts';
import type { RetryPolicy } from './retry-policy.ts';

/** Sizes are in rows, times in milliseconds. */
export const defaultWorkerSettings = {
  /** Maximum number of rows that are taken from slices but not committed. */
  maxPageRows: 4096,
  /**
   * Maximum number of rows whose results are stored one by one. These rows are retries, or their responses came too
   * late to be stored with the rest of the slice.
   */
  maxDetachedRows: 3072,
  /** How many of the `maxDetachedRows` may be retries. */
  maxRetryRows: 1536,
  retryLeaseRows: 256,
  readRows: 1024,
  /** Number of rows encrypted and posted together. Encrypting and posting single rows costs nearly twice as much. */
  batchRows: 64,
  /** Number of results that triggers a commit. */
  commitRows: 1024,
  /** Number of results other than `accepted` that triggers a commit. Each such result may need its own stored row. */
  commitOtherRows: 256,
  /** The maximum time between commits. */
  commitEveryMs: 200,
  /** How long a row without a response may delay the commit of the rows behind it. */
  maxCommitDelayMs: 1000,
  /** The value of `maxCommitDelayMs` when more than half of `maxPageRows` are in use. */
  crowdedCommitDelayMs: 100,
  /** How often to look for due retries while slices are being read. */
  leaseRetriesEveryMs: 100,
  /** Rows may be leased before they are due. If one then cannot be sent, the next early lease waits this long. */
  leaseAheadEveryMs: 50,
  /** How often to look for work while there is none. */
  leaseSliceEveryMs: 250,
  /** How often to retry if no push service can be reached. */
  lookWhileCutOffMs: 2000,
  /** How long a lease lasts without renewal. After that, other workers take over. */
  leaseMs: 10_000,
  /** How long a stopped worker waits for responses. */
  stopGraceMs: 5000,
  /** A smaller audience takes at most a second of CPU time, so a missing accelerator needs no warning. */
  warnFromAudience: 10_000,
  /** Maximum number of rows that wait in memory. More may wait while a push service in use has no waiting row. */
  waitingRows: 256,
  /** Rows wait in memory for this long plus some round trips, and are then put aside. */
  patienceMs: 1000,
  /** The minimum time for which a row is put aside. */
  minAsideMs: 250,
  /** If a push service does not respond for this long, its further rows wait for as long again. */
  silentAfterMs: 3000,
  /** How long rows are put aside if their push service cannot be reached. They return earlier if it responds. */
  heldMs: 60_000,
};

export type WorkerSettings = Readonly<typeof defaultWorkerSettings>;

/** Maximum number of rows that a worker has sent but not committed, including rows of the commit in progress. */
export const maxUncommittedOf = ({ maxPageRows, maxDetachedRows }: WorkerSettings): number =>
  maxPageRows + maxDetachedRows;

/** Maximum number of messages per thread that are sent again after a crash. The documentation states this number. */
export const maxUncommittedRows = maxUncommittedOf(defaultWorkerSettings);

/** The key pair with which subscriptions were made, and the contact for push services. */
export interface SenderVapid extends VapidKeys {
  /** `mailto:` or `https:` URI. */
  readonly subject: string;
  /** How long a token is valid, in seconds: 60 to 86 400. Default: 43 200 (12 hours). */
  readonly lifetimeSeconds?: number | undefined;
  /**
   * Earlier VAPID key pairs. Messages to a subscription are signed with the pair with which the subscription was made.
   */
  readonly previousKeys?: readonly VapidKeys[] | undefined;
  /** A data directory. Its key files are read again if a subscription needs a key that is not loaded. */
  readonly keyDirectory?: string | undefined;
}

export interface DeliverySettings {
  readonly vapid: SenderVapid;
  readonly transport: TransportOptions;
  /** Overrides of the default retry policy. Tests use it to shorten waits. */
  readonly retryPolicy?: Partial<RetryPolicy> | undefined;
  /** The fastest method of encryption that may be used: `multi-buffer` (default), `openssl` or `builtin`. */
  readonly encryption?: EncryptionMethod | undefined;
  /** The key for tokens with which browsers send receipts. The service reads the same key from the data directory. */
  readonly receiptKey?: Uint8Array | undefined;
  /** Rate limits of push services, which all workers on the store share. */
  readonly maxRates: MaxRates;
  /** Overrides of the workers' default sizes and times. */
  readonly worker?: Partial<WorkerSettings> | undefined;
}

// Parses rate limits as operators write them: `fcm.googleapis.com=500/s`.

const unitSeconds: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3600 };

/** The maximum number of messages per second, by origin. */
export type MaxRates = ReadonlyMap<string, number>;

/**
 * @param limits limits with a host or an origin, and a number per second (`s`), minute (`min`) or hour (`h`)
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
