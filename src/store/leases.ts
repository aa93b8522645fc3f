// Leases: exclusive rights to a slice of an audience or to due retries, for a limited time. Workers may be in any
// number of threads, processes and machines. Contains types, numbers and conversions that both databases
// share.
import type { Broadcast, Recipient } from './broadcasts.ts';
import { decodeIds } from './id-set.ts';
import type { IfRefused } from './push-services.ts';
import type { MemberSet } from './slices.ts';

/** Once in this many leases, a worker does not prefer broadcasts with high priority. */
export const leasesPerTurn = 4;

/** PostgreSQL records each lease of a broadcast's slices with numbers up to this one. */
export const exactSlices = 16;
/** Of later slices, PostgreSQL records a lease only if the slice's number is a multiple of this number. */
export const sliceStep = 16;

export const anyBroadcast = 0;

/** How often to look for work if there are no notices. */
export const lookForWorkEveryMs = 250;
/** How often to check whether another worker has ended the broadcast. */
export const lookForEndEveryMs = 50;

/** The right to work on some rows for a while. After that, another worker may lease the rows. */
export interface Lease {
  readonly broadcastId: number;
  /** New for every lease. The ledger rejects commits with a token that is not the current one. */
  readonly fenceToken: string;
}

/** A lease with the number of its slice, which is absent for retries. */
export type HeldLease = Lease & { readonly slice?: number | undefined };

/** A contiguous range of an audience. */
export interface SliceLease extends Lease {
  readonly broadcast: Broadcast;
  readonly slice: number;
  /** Rows up to this position are settled, or stored as retries. */
  readonly cursor: number;
  readonly throughPosition: number;
  /** The ids of the slice's rows, if the audience is only a part of the stored subscriptions. */
  readonly members?: MemberSet | undefined;
  /** Text and time zone that apply to all rows of the slice. */
  readonly reader?: RowReader | undefined;
}

/**
 * The text and the time zone for the person who gets a row's message. Both were determined when the broadcast was
 * created.
 */
export interface RowReader {
  /** Language of the text to send. If absent, the message's own text is sent. */
  readonly language?: string | undefined;
  /** If absent, the broadcast's own time zone applies. */
  readonly timeZone?: string | undefined;
}

/** Columns that both slices and retries have. */
export interface ReaderColumns {
  readonly language: string | null;
  readonly time_zone: string | null;
}

/** @returns undefined if there is neither a language nor a time zone */
const toRowReader = ({ language, time_zone: timeZone }: ReaderColumns): RowReader | undefined =>
  language === null && timeZone === null
    ? undefined
    : { language: language ?? undefined, timeZone: timeZone ?? undefined };

export interface SliceColumns extends ReaderColumns {
  readonly broadcast_id: number;
  readonly number: number;
  readonly cursor: number;
  readonly through_position: number;
  /** Null if the slice's rows are not in a set. */
  readonly ids: Uint8Array | null;
  /** Only in PostgreSQL. */
  readonly in_partition?: number | null;
}

export const toSliceLease = (row: SliceColumns, fenceToken: string): Omit<SliceLease, 'broadcast'> => ({
  broadcastId: row.broadcast_id,
  fenceToken,
  slice: row.number,
  cursor: row.cursor,
  throughPosition: row.through_position,
  members:
    row.ids === null ? undefined : { ids: decodeIds(row.ids), partition: row.in_partition ?? undefined },
  reader: toRowReader(row),
});

export interface RetryRow extends Recipient {
  readonly attempts: number;
  readonly deferrals: number;
  readonly expiresAtMs: number;
  /** How many times the push service has refused our token or key for this row. */
  readonly refusals: number;
  /** Number of attempts without a response; their messages may have arrived. */
  readonly doubts: number;
  /** True if the broadcast may end without this row. */
  readonly isOutside?: boolean | undefined;
  /** What to do after a further refusal (`push-services.ts`). */
  readonly ifRefused: IfRefused;
  readonly reader?: RowReader | undefined;
}

export interface RetryColumns extends ReaderColumns {
  readonly attempts: number;
  readonly deferrals: number;
  readonly expires_at_ms: number;
  readonly refusals: number;
  readonly doubts: number;
  /** SQLite returns a number. */
  readonly is_outside: boolean | number;
}

export const toRetryRow = (recipient: Recipient, row: RetryColumns, ifRefused: IfRefused): RetryRow => ({
  ...recipient,
  attempts: row.attempts,
  deferrals: row.deferrals,
  expiresAtMs: row.expires_at_ms,
  refusals: row.refusals,
  doubts: row.doubts,
  isOutside: Boolean(row.is_outside),
  ifRefused,
  reader: toRowReader(row),
});

export interface RetryLease extends Lease {
  readonly broadcast: Broadcast;
  readonly rows: readonly RetryRow[];
  /** True if the rows were suspended and now test whether their push service accepts messages again. */
  readonly areProbes: boolean;
}

export interface WorkRequest {
  /** How long the lease lasts unless it is renewed. */
  readonly leaseMs: number;
  /** Leases only slices and retries of this broadcast. Default: of any broadcast. */
  readonly broadcastId?: number | undefined;
}

/** `ready`: a slice or a retry may be free. `idle`: no work yet, so ask again. `over`: the broadcast is not running. */
export type WorkState = 'ready' | 'idle' | 'over';

/** All times are by the database's clock, which all workers share. */
export interface Leases {
  /**
   * Leases the next free slice of a running broadcast that has started. Three times out of four, high priority comes
   * first. Next come broadcasts with the fewest leased slices, so that small ones need not wait for large ones.
   */
  leaseSlice(request: WorkRequest): Promise<SliceLease | undefined>;
  /**
   * Leases due retries of one running broadcast, the longest due first. When it is time for probes, suspended rows come
   * first. Rows whose subscription was removed are dropped. `aheadMs`: rows that were deferred without an attempt
   * become due this much earlier.
   */
  leaseRetries(
    request: WorkRequest & { readonly limit: number; readonly aheadMs?: number | undefined },
  ): Promise<RetryLease | undefined>;
  /** Extends the lease of the slice and of the rows under this token. */
  renew(lease: HeldLease, leaseMs: number): Promise<void>;
  /** Ends the lease early. */
  release(lease: HeldLease): Promise<void>;
  /**
   * Waits until the next slice or retry is due, but only for a short while, because other processes may add work. Ends
   * early with `idle` if `signal` is aborted.
   */
  waitForWork(request: {
    readonly broadcastId?: number | undefined;
    readonly signal: AbortSignal;
  }): Promise<WorkState>;
}
