// Broadcasts as everyone else sees them: one push message to an audience, cut into slices of work that any number of
// threads, processes and machines take under leases. Types only; a database or a job queue is behind them.
//
//   state of a broadcast   running ⇄ paused;  running → done;  running, paused → cancelled
//   a row of its audience  in a slice → settled, or stored as a retry → settled
//
// A row is settled once and counted once: in the same transaction as the cursor of its slice, or as its retry.
import type { Subscription } from '../protocol/subscription.ts';

export type BroadcastState = 'running' | 'paused' | 'cancelled' | 'done';

/** What a row of an audience can come to. */
export const settlements = ['accepted', 'gone', 'rejected', 'expired', 'exhausted'] as const;

/**
 * `accepted`: the push service took the message over. `gone`: the subscription has ended and is deleted.
 * `rejected`: never to be tried again. `expired`: past the TTL. `exhausted`: out of attempts.
 */
export type Settlement = (typeof settlements)[number];

/** How far a broadcast is at one push service. */
export interface OriginCounts extends Readonly<Record<Settlement, number>> {
  readonly origin: string;
  /** POSTs, repeats included, and tries for which no connection could be made. */
  readonly attempts: number;
}

/** What an operator should hear of: stored once per broadcast, origin and reason. */
export interface Alarm {
  readonly origin: string;
  /** As in `Outcome`. */
  readonly reason: string;
  /** The push service's own words. */
  readonly detail: string;
  readonly firstAtMs: number;
  /** How many rows met it. */
  readonly rows: number;
}

export interface BroadcastMessage {
  readonly payload: Uint8Array;
  readonly ttlSeconds: number;
  readonly urgency: string;
  readonly topic?: string;
}

export interface NewBroadcast extends BroadcastMessage {
  /** A repeated creation with the same key gives the broadcast that is there. */
  readonly idempotencyKey?: string;
  /** 32 bytes over the message and its audience: what must be equal for the same key. */
  readonly contentHash: Uint8Array;
  /** No row is taken before it. */
  readonly startAtMs: number;
  /** Rows without an outcome by then are expired. */
  readonly expiresAtMs: number;
  /** `audienceId`: a list made by `openAudience`; without it, every subscription there is at creation. */
  readonly audienceId?: number;
  /** About how many rows a slice has. */
  readonly sliceRows: number;
}

export interface Broadcast extends BroadcastMessage {
  readonly id: number;
  readonly idempotencyKey?: string;
  readonly state: BroadcastState;
  readonly createdAtMs: number;
  readonly startAtMs: number;
  readonly expiresAtMs: number;
  readonly finishedAtMs?: number;
  /** Rows of the audience at creation; the counts below add up to it. */
  readonly audience: number;
  readonly counts: Readonly<Record<Settlement, number>> & {
    /** Without an outcome yet; when `done` or `cancelled` 0. */
    readonly pending: number;
    /** Removed from the store before their turn. */
    readonly removed: number;
    /** Never to be tried, since the broadcast was cancelled. */
    readonly cancelled: number;
  };
  /** Of the pending rows: tried and stored to be tried again. */
  readonly waiting: number;
  readonly origins: readonly OriginCounts[];
  readonly alarms: readonly Alarm[];
}

/** One attempt as it is remembered: no endpoint, no keys, no payload. */
export interface AttemptRecord {
  readonly broadcastId: number;
  /** Absent for a row of a list that is no stored subscription. */
  readonly subscriptionId?: number | undefined;
  readonly atMs: number;
  readonly origin: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** `accepted`, `gone`, `rejected` or `retry`. */
  readonly outcome: string;
  /** HTTP status, absent where there was no answer. */
  readonly status?: number | undefined;
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
}

export interface BroadcastStore {
  /** Begins a list of recipients; one that no broadcast uses within a day is dropped. */
  openAudience(): Promise<number>;
  /** Adds ids of stored subscriptions, or subscriptions that need not be stored. What is in the list already is
   *  left out. */
  addToAudience(audienceId: number, members: readonly (number | Subscription)[]): Promise<void>;
  /**
   * Writes the broadcast and its slices in one transaction; no work per row.
   *
   * @returns the broadcast; `isNew: false` where one with the same key and content was there
   * @throws {DeskbellError} ERR_IDEMPOTENCY_KEY where the key belongs to another content
   */
  create(draft: NewBroadcast): Promise<{ readonly broadcast: Broadcast; readonly isNew: boolean }>;
  find(id: number): Promise<Broadcast | undefined>;
  /** Newest first. */
  list(range: { readonly beforeId?: number; readonly limit: number }): Promise<readonly Broadcast[]>;
  /** Workers stop after the page they are in. Pausing what is paused, resuming what runs and cancelling what is
   *  cancelled change nothing.
   *  @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, ERR_BROADCAST_STATE */
  pause(id: number): Promise<Broadcast>;
  resume(id: number): Promise<Broadcast>;
  cancel(id: number): Promise<Broadcast>;
  /** The newest first. Bounded: of each broadcast a thousand accepted attempts and ten thousand others are kept, of
   *  the newest hundred broadcasts. */
  attempts(filter: {
    readonly broadcastId?: number;
    readonly subscriptionId?: number;
    readonly limit: number;
  }): Promise<readonly AttemptRecord[]>;
}

/** A row of an audience, ready to be sent to. */
export interface Recipient extends Subscription {
  /** Ascending within the audience; where a cursor stands. */
  readonly position: number;
  /** `undefined` for a row of a list that is no stored subscription. */
  readonly subscriptionId: number | undefined;
  /** The VAPID public key that it was made with; `undefined` where that is not known. */
  readonly vapidPublicKey: string | undefined;
  readonly updatedAtMs: number;
}

/** What a worker holds for a while; when its time runs out, another worker may take it. */
export interface Held {
  readonly broadcastId: number;
  readonly token: string;
}

/** A contiguous range of an audience, held by one worker for a while. */
export interface SliceLease extends Held {
  readonly broadcast: Broadcast;
  readonly slice: number;
  /** Rows up to here are settled or stored as retries. */
  readonly cursor: number;
  readonly throughPosition: number;
}

/** A row that is tried again. */
export interface RetryRow extends Recipient {
  readonly attempts: number;
  readonly deferrals: number;
  readonly expiresAtMs: number;
}

/** Retries that have come due, held by one worker for a while. */
export interface RetryClaim extends Held {
  readonly broadcast: Broadcast;
  readonly rows: readonly RetryRow[];
}

/** When a row is tried again, and how often it has been. */
export interface StoredRetry {
  readonly dueAtMs: number;
  readonly attempts: number;
  /** Times that it was put off without anything being sent. */
  readonly deferrals: number;
  readonly expiresAtMs: number;
}

/** What came of one row in one go. */
export interface RowResult {
  readonly recipient: Recipient;
  readonly origin: string;
  /** POSTs in this go: 0 or 1. */
  readonly attempts: 0 | 1;
  /** `inFlight`: the answer is still to come; the row is held under the token until it is due. */
  readonly result: Settlement | 'retry' | 'inFlight';
  /** With `retry` and `inFlight`. */
  readonly retry?: StoredRetry;
  /** To be remembered in the attempt log; absent where nothing was sent. */
  readonly record?: Pick<AttemptRecord, 'atMs' | 'attempt' | 'outcome' | 'status' | 'reason' | 'detail'>;
  readonly alarm?: { readonly reason: string; readonly detail: string };
}

export interface PageCommit extends Held {
  /** Where the rows come from: the slice, whose cursor moves on, or retries held under the token. */
  readonly slice?: { readonly number: number; readonly cursor: number };
  readonly rows: readonly RowResult[];
  /** The lease lasts at least this much longer. */
  readonly leaseMs: number;
}

/** What a worker learns from its commit. */
export interface CommitAnswer {
  /** The slice is another worker's by now: nothing of this commit was stored, and the worker lets go of it. */
  readonly isLeaseLost: boolean;
  readonly state: BroadcastState;
  /** Alarms that nobody has raised before in this broadcast. */
  readonly newAlarms: readonly Alarm[];
}

/** The work of broadcasts, as workers share it. Leases and claims run out by themselves when a worker dies. */
export interface DeliveryQueue {
  /** The next free slice of a running broadcast whose time has come. `broadcastId`: of this one only. */
  leaseSlice(request: {
    readonly leaseMs: number;
    readonly broadcastId?: number;
  }): Promise<SliceLease | undefined>;
  /** Rows of the slice with `afterPosition < position`, in order, at most `limit`; none when the slice is at its end. */
  readSlice(lease: SliceLease, afterPosition: number, limit: number): Promise<readonly Recipient[]>;
  /** Retries of one running broadcast that are due, the longest due first. Rows whose subscription is gone from the
   *  store are dropped on the way. */
  claimRetries(request: {
    readonly leaseMs: number;
    readonly limit: number;
    readonly broadcastId?: number;
  }): Promise<RetryClaim | undefined>;
  /** Holds the slice and the rows under this token for longer. */
  renew(held: Held, leaseMs: number): Promise<void>;
  /** Gives the slice and the rows under this token back before their time runs out. */
  release(held: Held): Promise<void>;
  /** Stores what came of rows, in one transaction: cursor, counts, retries, log, alarms; deletes subscriptions that
   *  are gone and unchanged since they were read; finishes the broadcast when nothing of it is left. */
  commit(page: PageCommit): Promise<CommitAnswer>;
  /** When the next slice or retry may be taken; `undefined` where no broadcast is running. */
  nextDueAtMs(broadcastId?: number): Promise<number | undefined>;
}
