// The rows of an audience and their results. Each row is settled and counted once, in the transaction that moves the cursor of its
// slice or deletes its retry. Types, and what counts as an answer.
//
//   a row of an audience   in a slice → settled, or stored as a retry → settled
import type { Subscription } from '../protocol/subscription.ts';
import type { Answer } from './attempts.ts';
import type { Alarm, BroadcastState, Recipient, Settlement } from './broadcasts.ts';
import { noOutcomes } from './statistics.ts';
import type { PushServiceAnswers, PushServiceState } from './push-services.ts';
import type { Lease, RowReader, SliceLease } from './leases.ts';

/** When a row is tried again, and how often it has been. */
export interface StoredRetry {
  /** The delay from now. */
  readonly delayMs: number;
  readonly attempts: number;
  /** How often it was put off without being sent. */
  readonly deferrals: number;
  readonly expiresAtMs: number;
  /** How often its push service has refused our token or key for it, which are no attempts. Default: 0. */
  readonly refusals?: number | undefined;
  /** Attempts that may have arrived and have no answer. Default: 0. */
  readonly doubts?: number | undefined;
  /** The end of the broadcast does not wait for it: it is counted as `dormant` until it is settled. */
  readonly isOutside?: boolean | undefined;
  /** The reader's settings, from the slice of the row. */
  readonly reader?: RowReader | undefined;
}

/** What is stored of a row whose push service is suspended, or would be. */
export interface Suspension {
  /** The key that would sign. */
  readonly vapidPublicKey: string;
  /** A random whole number below `drawOrderEnd`: rows with the lowest become probes first. */
  readonly drawOrder: number;
}

export interface RowRecord extends Pick<Answer, 'status' | 'reason' | 'detail'> {
  /** When it was sent; absent if nothing was. */
  readonly atMs?: number | undefined;
  /** As in `AttemptRecord`. */
  readonly attempt: number;
}

/** What came of one attempt at a row, or of the decision not to make one. */
export interface RowResult {
  readonly recipient: Recipient;
  readonly origin: string;
  /** POSTs: 0 or 1. */
  readonly attempts: 0 | 1;
  /**
   * `detached`: the answer is still to come; the row is leased under the token until it is due. `heldBack`: its push
   * service is suspended; if it is open again by now, the row is due at once. `refused`: the push service has refused our
   * token or key for it (`push-services.ts`); if it is suspended by now, so is the row, otherwise tried again.
   */
  readonly result: Settlement | 'retry' | 'detached' | 'heldBack' | 'refused';
  /** Set for everything but settlements. */
  readonly retry?: StoredRetry | undefined;
  /** It waited outside before. */
  readonly wasOutside?: boolean | undefined;
  /** Set for `heldBack` and `refused`. */
  readonly suspension?: Suspension | undefined;
  /** What else is stored of it (`attempts.ts`). */
  readonly record?: RowRecord | undefined;
  /** About its push service, unless `origin` is empty. */
  readonly alarm?: { readonly origin?: ''; readonly reason: string; readonly detail: string } | undefined;
}

/** The outcome under which the row is counted, which is `dormant` if the row is put outside the broadcast. */
export const countedAs = ({ result, retry, wasOutside }: RowResult): RowResult['result'] =>
  retry?.isOutside === true && wasOutside !== true ? 'dormant' : result;

/** Whether it was counted as `dormant` before, and is no longer. */
export const isWoken = ({ retry, wasOutside }: RowResult): boolean =>
  wasOutside === true && retry?.isOutside !== true;

/** The name of that in SQL. */
export const woken = 'woken' as const;

/**
 * Whether the row says how a push service answers messages, which decides about deletions (`held-deletions.ts`). That it
 * refuses our token or key says nothing of subscriptions.
 */
export function isAnswer({ attempts, result, record }: RowResult): boolean {
  const status = record?.status;
  const isAboutMessage = status !== undefined && status !== 401 && status !== 403;
  return attempts > 0 && (result === 'accepted' || result === 'gone' || isAboutMessage);
}

/** A page names where the one before it ended, so that it is refused if the database has lost that one. */
export interface PageOfSlice {
  readonly number: number;
  /** The cursor before the page. */
  readonly fromCursor: number;
  /** The cursor after the page. */
  readonly cursor: number;
  /** If the slice has `members`: how many of them in between were not found when they were read. */
  readonly missing?: number | undefined;
}

export interface PageCommit extends Lease {
  /** The slice that the rows come from, whose cursor moves on. Absent for retries, which are leased under the token. */
  readonly slice?: PageOfSlice | undefined;
  readonly rows: readonly RowResult[];
  /** What push services have answered since the worker's last commit. */
  readonly answers?: readonly PushServiceAnswers[] | undefined;
  /** How long the lease lasts from now on. */
  readonly leaseMs: number;
}

/** The answer to a commit. */
export interface CommitAnswer {
  /** The slice is another worker's, or its cursor stands elsewhere, since the database has lost a commit; or nothing is leased
   *  under the token any more. Nothing of this commit was stored, and the worker must drop what it has leased. */
  readonly isLeaseLost: boolean;
  readonly state: BroadcastState;
  /** Alarms that are new in this broadcast. */
  readonly newAlarms: readonly Alarm[];
  /** In the order of `Ledger.pushServices`. */
  readonly pushServices: readonly PushServiceState[];
}

/** What one push service answered to single messages. */
export interface SingleAnswers {
  readonly origin: string;
  readonly accepted: number;
  readonly gone: number;
  /** It refused our token or key. */
  readonly refused: number;
  /** Other answers of the push service itself. */
  readonly other: number;
  /** Subscriptions that it called gone; the store finds them by endpoint and keys. Not all need be named, nor be in the store. */
  readonly goneSubscriptions: readonly Subscription[];
  /** Endpoints at which it accepted a message; not all need be named. */
  readonly acceptedEndpoints: readonly string[];
}

/** What these add to the outcomes of its messages. */
export function countSingleAnswers({ accepted, gone, refused, other }: SingleAnswers): typeof noOutcomes {
  return { ...noOutcomes, attempts: accepted + gone + refused + other, accepted, gone, rejected: refused };
}

export interface AnswerCommit {
  /** A UUID: the same commit again within minutes changes nothing. */
  readonly id: string;
  /** One for each origin. */
  readonly origins: readonly SingleAnswers[];
  /** What push services have answered since the sender's last commit. */
  readonly answers?: readonly PushServiceAnswers[] | undefined;
}

export interface Ledger {
  /** Rows of the slice with `afterPosition < position`, in order, at most `limit`; none when the slice is at its end.
   *  Where the broadcast has a cap per person, a contact is reserved for each, or it is capped (`audience/frequency-cap.ts`). */
  readRows(lease: SliceLease, afterPosition: number, limit: number): Promise<readonly Recipient[]>;
  /** Stores the results of rows in one transaction: cursor, counts, retries, attempts, alarms. Rows of retries that are no longer
   *  leased under the token are left out: whoever leases them counts them. Marks subscriptions that are gone and unchanged since they were read (`held-deletions.ts`), and finishes the broadcast when nothing is left. */
  commit(page: PageCommit): Promise<CommitAnswer>;
  /** Stores what push services answered to single messages: subscriptions that are gone are marked, and deleted or held; an
   *  acceptance clears a mark, and opens a push service that was suspended. @returns as `pushServices` does */
  recordAnswers(commit: AnswerCommit): Promise<readonly PushServiceState[]>;
  /** The push services that are suspended, or have been. All others are open. */
  pushServices(): Promise<readonly PushServiceState[]>;
}
