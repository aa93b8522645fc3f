// What delivery is told: keys, transport, when to try again, and the sizes and times of a worker. Everything but the
// functions of `TransportOptions` can be posted to a thread.
import type { EncryptionMethod } from '../accelerator/load-accelerator.ts';
import type { VapidKeys } from '../protocol/vapid-token.ts';
import type { TransportOptions } from '../transport/transport.ts';
import type { MaxRates } from './limits/max-rate.ts';
import type { RetryPolicy } from './worker/retry-policy.ts';

/** The pair that subscriptions were made with, and the contact that push services are told. */
export interface SenderVapid extends VapidKeys {
  /** `mailto:` or `https:` URI. */
  readonly subject: string;
  /** How long a token is valid, 60 to 86 400 (default 43 200: 12 hours). */
  readonly lifetimeSeconds?: number | undefined;
  /** Earlier pairs, for subscriptions that were made with them. */
  readonly previousKeys?: readonly VapidKeys[] | undefined;
  /** A data directory, whose key files are read again where a subscription names a key that is not among the pairs. */
  readonly keyDirectory?: string | undefined;
}

export interface DeliverySettings {
  readonly vapid: SenderVapid;
  readonly transport: TransportOptions;
  /** When and how often a row of a broadcast is tried again, where it differs from the defaults: tests make the waits short. */
  readonly retryPolicy?: Partial<RetryPolicy> | undefined;
  /** The fastest method of encryption that may be used: `multi-buffer` (default), `openssl` or `builtin`. */
  readonly encryption?: EncryptionMethod | undefined;
  /** Of the data directory, the same as the service's: makes the tokens by which browsers report on broadcasts with `receipts`. */
  readonly receiptKey?: Uint8Array | undefined;
  /** Limits of push services, which all workers on the store keep together. */
  readonly maxRates?: MaxRates | undefined;
  /** Sizes and times of the workers, where they differ from the defaults. */
  readonly worker?: Partial<WorkerSettings> | undefined;
}

/** Sizes in rows, times in milliseconds. */
export interface WorkerSettings {
  /** Rows of slices that were sent or settled and are not committed: at most what is answered within `pageMs`, since
   *  what has been sent cannot be paused, between these two numbers. */
  readonly minPageRows: number;
  readonly maxPageRows: number;
  readonly pageMs: number;
  /** Rows that are stored one by one while their answers are awaited: detached from a page, or leased as retries. */
  readonly maxDetachedRows: number;
  /** How many of them may be retries. */
  readonly maxRetryRows: number;
  /** Leased at once. */
  readonly retryLeaseRows: number;
  /** Read at once. */
  readonly readRows: number;
  /** Encrypted together and posted together: switching between crypto and sockets row by row costs nearly twice. */
  readonly batchRows: number;
  /** A commit is made after this many results, or after `commitEveryMs`. */
  readonly commitRows: number;
  /** The same as long as every result is an acceptance, which costs a commit nothing but the sync of the disk. */
  readonly commitAcceptedRows: number;
  readonly commitEveryMs: number;
  /** How long a row without an answer may keep those behind it from being committed, and so from being counted. */
  readonly maxCommitDelayMs: number;
  /** The same where more than half of the rows that may be taken are, so that soon no further ones can be sent. */
  readonly crowdedCommitDelayMs: number;
  /** While slices are being read, due retries are looked for this often. */
  readonly leaseRetriesEveryMs: number;
  /** How often work is looked for when there was none. */
  readonly leaseSliceEveryMs: number;
  /** How long another worker leaves this one's work alone when nothing is heard of it. */
  readonly leaseMs: number;
  /** How long a worker that is stopped waits for answers. */
  readonly stopGraceMs: number;
  /** A smaller audience takes a second of processor time at most, so that a missing accelerator is not worth a warning. */
  readonly warnFromAudience: number;
  /** So many rows of a push service that are detached and without an answer for so long mean that it is slow; where it
   *  answers nothing at all, a single one does. */
  readonly slowRows: number;
  readonly slowAfterMs: number;
}

export const defaultWorkerSettings: WorkerSettings = {
  minPageRows: 1536,
  maxPageRows: 3072,
  pageMs: 150,
  maxDetachedRows: 4096,
  maxRetryRows: 512,
  retryLeaseRows: 256,
  readRows: 1024,
  batchRows: 64,
  commitRows: 256,
  commitAcceptedRows: 1024,
  commitEveryMs: 200,
  maxCommitDelayMs: 1000,
  crowdedCommitDelayMs: 250,
  leaseRetriesEveryMs: 100,
  leaseSliceEveryMs: 250,
  leaseMs: 10_000,
  stopGraceMs: 5000,
  warnFromAudience: 10_000,
  slowRows: 256,
  slowAfterMs: 1000,
};

/** Rows that a worker may have sent and not committed, those of a commit that is on its way included. */
export const maxUncommittedOf = ({ maxPageRows, maxDetachedRows }: WorkerSettings): number =>
  maxPageRows + maxDetachedRows;

/** What a crash repeats at most, for each thread. Documentation names it. */
export const maxUncommittedRows = maxUncommittedOf(defaultWorkerSettings);
