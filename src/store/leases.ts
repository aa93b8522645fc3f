// Who works on what: slices of audiences and due retries, leased by any number of workers in any number of threads,
// processes and machines. A job engine can implement it. Types, and the numbers that both databases share.
import type { Broadcast, Recipient } from './broadcasts.ts';
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

// How an audience is cut into slices, without looking at its rows.

/** A sixth of a second of one thread: the last slices end at about the same time, and a lease costs one commit. */
export const defaultSliceRows = 2000;
/** Slices of a broadcast at most. */
export const maxSlices = 10_000;

/** The positions of an audience, or of a part of it, and how many of them are rows. */
export interface Extent {
  readonly rows: number;
  readonly firstPosition: number;
  readonly lastPosition: number;
}

export interface Slice {
  readonly afterPosition: number;
  readonly throughPosition: number;
}

/** Whom a slice is for. */
export interface MemberSet {
  /** Of PostgreSQL, that all of them are in; absent: any. */
  readonly partition?: number | undefined;
  /** Ascending. */
  readonly ids: readonly number[];
}

/**
 * In SQL, the ids of a slice of a broadcast `b` with the set `a`; null if its rows are not in sets. If a set is missing, no
 * row is read rather than all.
 */
export const membersOf = (noBytes: string): string =>
  `case when b.audience_id is not null and b.rows_in <> 'list' then coalesce(a.ids, ${noBytes}) end`;

/** Ranges of equal width, of about `sliceRows` rows each. @param max how many there may be */
export function cutSlices(extent: Extent, sliceRows: number, max = maxSlices): readonly Slice[] {
  if (extent.rows === 0) return [];
  const { firstPosition, lastPosition } = extent;
  const count = Math.min(max, Math.ceil(extent.rows / sliceRows));
  const width = Math.ceil((lastPosition - firstPosition + 1) / count);
  const slices = [];
  for (let afterPosition = firstPosition - 1; afterPosition < lastPosition; afterPosition += width) {
    slices.push({ afterPosition, throughPosition: Math.min(afterPosition + width, lastPosition) });
  }
  return slices;
}

/** Sets of about `sliceRows` members each; none of a set without members. */
export function cutSet({ ids, ...set }: MemberSet, sliceRows: number): readonly MemberSet[] {
  if (ids.length === 0) return [];
  const count = Math.max(1, Math.round(ids.length / sliceRows));
  const end = (part: number): number => Math.round((part * ids.length) / count);
  return Array.from({ length: count }, (_, part) => ({ ...set, ids: ids.slice(end(part), end(part + 1)) }));
}

/** Ascending. */
export const joinIds = (sets: readonly MemberSet[]): readonly number[] =>
  sets.flatMap(({ ids }) => ids).toSorted((one, other) => one - other);

export const countMembers = (sets: readonly MemberSet[]): number =>
  sets.reduce((members, { ids }) => members + ids.length, 0);

export function idsAfter({ ids }: { readonly ids: readonly number[] }, position: number): readonly number[] {
  const first = ids.findIndex((id) => id > position);
  return first < 0 ? [] : ids.slice(first);
}
