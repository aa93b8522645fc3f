// Leases: slices of audiences and due retries that a worker has to itself for a while, of any number of workers in any number of
// threads, processes and machines. Types, and the numbers that both databases share.
import type { Broadcast, Recipient } from './broadcasts.ts';
import type { IfRefused } from './push-services.ts';
import type { MemberSet } from './slices.ts';

/** One in this many leases of a worker does not prefer broadcasts with high priority. */
export const leasesPerTurn = 4;

/** PostgreSQL notes each of a broadcast's first slices when it is leased, … */
export const exactSlices = 16;
/** … and one of this many of the others. */
export const sliceStep = 16;

/** Any broadcast. */
export const anyBroadcast = 0;

/** How often work is looked for if there are no notices of it. */
export const lookForWorkEveryMs = 250;
/** The same for the end of one broadcast, which another worker may bring about. */
export const lookForEndEveryMs = 50;

/** The right to work on some rows for a while. When its time runs out, another worker may lease them. */
export interface Lease {
  readonly broadcastId: number;
  /** New with every lease. The ledger takes nothing under a token that is no longer the current one. */
  readonly fenceToken: string;
}

/** A lease with the number of its slice, which is absent for retries. */
export type HeldLease = Lease & { readonly slice?: number | undefined };

/** A contiguous range of an audience. */
export interface SliceLease extends Lease {
  readonly broadcast: Broadcast;
  readonly slice: number;
  /** Rows up to this position are settled or stored as retries. */
  readonly cursor: number;
  readonly throughPosition: number;
  /** Its rows, if the audience is some of the stored subscriptions. */
  readonly members?: MemberSet | undefined;
  /** Text and time zone of all its rows. */
  readonly reader?: RowReader | undefined;
}

/** Text and time zone of a row's reader, fixed when the broadcast was created. */
export interface RowReader {
  /** The language of the text to send. If absent, the message's own text is sent. */
  readonly language?: string | undefined;
  /** Absent: the broadcast's own. */
  readonly timeZone?: string | undefined;
}

/** Columns that slices and retries share. */
export interface ReaderColumns {
  readonly language: string | null;
  readonly time_zone: string | null;
}

/** @returns undefined if it has neither */
export const toRowReader = ({ language, time_zone: timeZone }: ReaderColumns): RowReader | undefined =>
  language === null && timeZone === null
    ? undefined
    : { language: language ?? undefined, timeZone: timeZone ?? undefined };

/** A row that is tried again. */
export interface RetryRow extends Recipient {
  readonly attempts: number;
  readonly deferrals: number;
  readonly expiresAtMs: number;
  /** How often its push service has refused our token or key for it. */
  readonly refusals: number;
  /** Attempts that may have arrived, and have no answer. */
  readonly doubts: number;
  /** The end of the broadcast does not wait for it. */
  readonly isOutside?: boolean | undefined;
  /** What a further refusal means (`push-services.ts`). */
  readonly ifRefused: IfRefused;
  readonly reader?: RowReader | undefined;
}

/** Retries that have come due. */
export interface RetryLease extends Lease {
  readonly broadcast: Broadcast;
  readonly rows: readonly RetryRow[];
  /** They were suspended, and test whether their push service accepts messages again. */
  readonly areProbes: boolean;
}

export interface WorkRequest {
  /** How long the lease lasts without being renewed. */
  readonly leaseMs: number;
  /** Work of this broadcast only. */
  readonly broadcastId?: number | undefined;
}

/**
 * `ready`: a slice or a retry may be free now. `idle`: not yet, ask again. `over`: the broadcast is not running.
 */
export type WorkState = 'ready' | 'idle' | 'over';

/** All times are those of the database's clock, which all workers share. */
export interface Leases {
  /**
   * The next free slice of a running broadcast whose time has come. Broadcasts with high priority come first three times of four,
   * then those with the fewest leased slices, so that a small one does not wait for a large one that began earlier.
   */
  leaseSlice(request: WorkRequest): Promise<SliceLease | undefined>;
  /** Due retries of one running broadcast, the longest due first; suspended rows come before them, if it is time for probes. Rows
   *  without a subscription are dropped. `aheadMs`: rows that were put off without an attempt are due so much earlier. */
  leaseRetries(
    request: WorkRequest & { readonly limit: number; readonly aheadMs?: number | undefined },
  ): Promise<RetryLease | undefined>;
  /** Extends the lease of the slice and the rows under this token. */
  renew(lease: HeldLease, leaseMs: number): Promise<void>;
  /** Ends that lease early. */
  release(lease: HeldLease): Promise<void>;
  /**
   * Waits until the next slice or retry is due, or for a short while, since other processes may add work. Ends early, with `idle`,
   * when `signal` is aborted.
   */
  waitForWork(request: {
    readonly broadcastId?: number | undefined;
    readonly signal: AbortSignal;
  }): Promise<WorkState>;
}
