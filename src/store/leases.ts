// Who works on what: slices of audiences and due retries, leased by any number of workers in any number of threads,
// processes and machines. A job engine can implement it. Types, and the numbers that both databases share.
import type { Broadcast, Recipient } from './broadcasts.ts';
import type { MemberSet } from './slices.ts';
import type { IfRefused } from './push-services.ts';

/** Of so many leases that a worker gets, all but one are of broadcasts with high priority while these have free slices. */
export const leasesPerTurn = 4;

/** Of a broadcast's first slices, PostgreSQL notes each that was leased, … */
export const exactSlices = 16;
/** … of the others one in so many. */
export const sliceStep = 16;

/** Stands for "any broadcast". */
export const anyBroadcast = 0;

/** Work is looked for so often where nobody tells of it. */
export const lookForWorkEveryMs = 250;
/** Whoever waits for the end of one broadcast, which another worker may bring about, looks more often. */
export const lookForEndEveryMs = 50;

/** The right to work on some rows for a while. When its time runs out, another worker may lease them. */
export interface Lease {
  readonly broadcastId: number;
  /** New with every lease. The ledger takes nothing under a token that is no longer the current one. */
  readonly fenceToken: string;
}

/** With the number of the slice, if it is of one. */
export type HeldLease = Lease & { readonly slice?: number | undefined };

/** A contiguous range of an audience. */
export interface SliceLease extends Lease {
  readonly broadcast: Broadcast;
  readonly slice: number;
  /** Rows up to here are settled or stored as retries. */
  readonly cursor: number;
  readonly throughPosition: number;
  /** Its rows, if the audience is some of the stored subscriptions. */
  readonly members?: MemberSet | undefined;
  /** What holds for all of its rows, where it differs by reader. */
  readonly reader?: RowReader | undefined;
}

/** What was written down of the reader of a row when the broadcast was made. */
export interface RowReader {
  /** Of the text to send; absent: the message's own. */
  readonly language?: string | undefined;
  /** Absent: the broadcast's own. */
  readonly timeZone?: string | undefined;
}

/** Of slices and retries. */
export interface ReaderColumns {
  readonly language: string | null;
  readonly time_zone: string | null;
}

/** @returns undefined if nothing was written down */
export const toRowReader = ({ language, time_zone: timeZone }: ReaderColumns): RowReader | undefined =>
  language === null && timeZone === null
    ? undefined
    : { language: language ?? undefined, timeZone: timeZone ?? undefined };

/** A row that is tried again. */
export interface RetryRow extends Recipient {
  readonly attempts: number;
  readonly deferrals: number;
  readonly expiresAtMs: number;
  /** Times that its push service has refused our token or key for it. */
  readonly refusals: number;
  /** Attempts that may have arrived, and have no answer. */
  readonly doubts: number;
  /** What a further refusal means (`push-services.ts`). */
  readonly ifRefused: IfRefused;
  readonly reader?: RowReader | undefined;
}

/** Retries that have come due. */
export interface RetryLease extends Lease {
  readonly broadcast: Broadcast;
  readonly rows: readonly RetryRow[];
  /** They were suspended, and are sent to find out whether their push service accepts messages again. */
  readonly areProbes: boolean;
}

export interface WorkRequest {
  /** How long the lease lasts without being renewed. */
  readonly leaseMs: number;
  /** Work of this broadcast only. */
  readonly broadcastId?: number | undefined;
}

/**
 * `ready`: a slice or a retry may be free now, which whoever tries to lease both finds out. `idle`: not yet, ask again. `over`: the broadcast that was asked for is
 * not running.
 */
export type WorkState = 'ready' | 'idle' | 'over';

/** Every time here is taken from the clock of the database, which all workers share, never from a worker's own. */
export interface Leases {
  /**
   * The next free slice of a running broadcast whose time has come. Three times of four, broadcasts with high priority come
   * first; once in four, the others do. Among these, the broadcast of which the fewest slices have been leased comes first, so
   * that a small one does not wait for a large one that began earlier.
   */
  leaseSlice(request: WorkRequest): Promise<SliceLease | undefined>;
  /** Retries of one running broadcast that are due, the longest due first. Rows whose subscription has left the store
   *  are dropped. Suspended rows come first, as probes, if it is time for these. With `aheadMs`, rows that were put
   *  off, not after an attempt, count as due so much earlier. */
  leaseRetries(
    request: WorkRequest & { readonly limit: number; readonly aheadMs?: number | undefined },
  ): Promise<RetryLease | undefined>;
  /** Keeps the slice and the rows leased under this token for longer. */
  renew(lease: HeldLease, leaseMs: number): Promise<void>;
  /** Gives the slice and the rows under this token back before their time runs out. */
  release(lease: HeldLease): Promise<void>;
  /**
   * Waits until there may be work: until the next slice or retry is due, or for a short while, since other processes
   * may add work at any time. Ends early, with `idle`, when `signal` is aborted.
   */
  waitForWork(request: {
    readonly broadcastId?: number | undefined;
    readonly signal: AbortSignal;
  }): Promise<WorkState>;
}
