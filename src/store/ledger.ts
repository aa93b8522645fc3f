// The ledger stores the results of an audience's rows. Each row is settled and counted once, in the transaction that
// moves the cursor of its slice or deletes its retry. Contains types, the definition of an answer, and the counts of a
// page of rows.
//
//   a row in a slice → settled
//   a row in a slice → stored as a retry → settled
import type { Subscription } from '../protocol/subscription.ts';
import type { Answer } from './attempts.ts';
import {
  type Alarm,
  type BroadcastState,
  isSettlement,
  type OriginCounts,
  type Recipient,
  type Settlement,
} from './broadcasts.ts';
import { noOutcomes } from './statistics.ts';
import type { PushServiceAnswers, PushServiceState } from './push-services.ts';
import type { Lease, RowReader, SliceLease } from './leases.ts';

/** When a row will be retried, and how many times it was tried. */
export interface StoredRetry {
  readonly delayMs: number;
  readonly attempts: number;
  /** How many times the row was deferred without being sent. */
  readonly deferrals: number;
  readonly expiresAtMs: number;
  /**
   * How often the push service has refused our token or key for this row. Refusals do not count as attempts. Default:
   * 0.
   */
  readonly refusals?: number | undefined;
  /** Number of attempts without a response; their messages may have arrived. Default: 0. */
  readonly doubts?: number | undefined;
  /** True if the broadcast may end without this row. The row counts as `dormant` until it has a final outcome. */
  readonly isOutside?: boolean | undefined;
  /** The reader's settings, which are stored with the row's slice. */
  readonly reader?: RowReader | undefined;
}

/** Determines when a row becomes a probe. Stored with the row if its push service is, or may become, suspended. */
export interface Suspension {
  /** The VAPID key that would sign the message's token. */
  readonly vapidPublicKey: string;
  /** A random integer below `drawOrderEnd`. Rows with the lowest numbers become probes first. */
  readonly drawOrder: number;
}

export interface RowRecord extends Pick<Answer, 'status' | 'reason' | 'detail'> {
  /** When the message was sent; absent if nothing was sent. */
  readonly atMs?: number | undefined;
  /** See `AttemptRecord`. */
  readonly attempt: number;
}

/** The result of one attempt to send to a row, or of the decision not to send. */
export interface RowResult {
  readonly recipient: Recipient;
  readonly origin: string;
  /** Number of POST requests. */
  readonly attempts: 0 | 1;
  /**
   * `detached`: no response has come yet, so the row stays leased under the token until it is due. `heldBack`: not
   * sent, because the push service was suspended. If the push service is open again, the row is due at once. `refused`:
   * the push service has refused our token or key for the row (`push-services.ts`). If the push service is now
   * suspended, the row is suspended with it. Otherwise, the row is retried.
   */
  readonly result: Settlement | 'retry' | 'detached' | 'heldBack' | 'refused';
  /** Set if the result is not final. */
  readonly retry?: StoredRetry | undefined;
  /** True if the broadcast could already end without this row before this attempt. */
  readonly wasOutside?: boolean | undefined;
  /** Set for `heldBack` and `refused`. */
  readonly suspension?: Suspension | undefined;
  /** Further facts to store about the attempt (`attempts.ts`). */
  readonly record?: RowRecord | undefined;
  /**
   * The alarm to raise. It concerns the row's push service. If `origin` is empty, the alarm concerns no push service.
   */
  readonly alarm?: { readonly origin?: ''; readonly reason: string; readonly detail: string } | undefined;
}

/** The outcome that the row counts as. It is `dormant` if, from now on, the broadcast may end without the row. */
export const countedAs = ({ result, retry, wasOutside }: RowResult): RowResult['result'] =>
  retry?.isOutside === true && wasOutside !== true ? 'dormant' : result;

/** True if the row was counted as `dormant` before but no longer is. */
const isWoken = ({ retry, wasOutside }: RowResult): boolean =>
  wasOutside === true && retry?.isOutside !== true;

/**
 * True if the result shows how a push service responds to messages, which the deletion guard needs to know. A refusal
 * of our token or key says nothing about subscriptions.
 */
export function isAnswer({ attempts, result, record }: RowResult): boolean {
  const status = record?.status;
  const isAboutMessage = status !== undefined && status !== 401 && status !== 403;
  return attempts > 0 && (result === 'accepted' || result === 'gone' || isAboutMessage);
}

/** What a page of rows adds to the broadcast's counts for one push service. */
type OriginTally = { -readonly [Name in keyof OriginCounts]: OriginCounts[Name] } & {
  /** Number of responses from the push service itself, including those that mean "later". */
  answers: number;
  /** Number of rows that were counted as `dormant` and now have another outcome. */
  woken: number;
  readonly goneRows: Recipient[];
  readonly acceptedBy: Recipient[];
};

export interface PageCounts {
  readonly tallies: readonly OriginTally[];
  readonly alarms: readonly Omit<Alarm, 'firstAtMs'>[];
}

export function countPage(rows: readonly RowResult[]): PageCounts {
  const tallies = new Map<string, OriginTally>();
  const alarms = new Map<string, PageCounts['alarms'][number]>();
  for (const row of rows) {
    const { origin, recipient, alarm } = row;
    const result = countedAs(row);
    const none = { origin, ...noOutcomes, answers: 0, woken: 0, goneRows: [], acceptedBy: [] };
    const tally: OriginTally = tallies.get(origin) ?? none;
    tallies.set(origin, tally);
    tally.attempts += row.attempts;
    if (isSettlement(result)) tally[result] += 1;
    if (isWoken(row)) tally.woken += 1;
    if (isAnswer(row)) tally.answers += 1;
    if (row.result === 'gone') tally.goneRows.push(recipient);
    if (row.result === 'accepted') tally.acceptedBy.push(recipient);
    if (alarm === undefined) continue;
    // replace NUL in a push service's explanation, because the store cannot contain it
    const one = { origin, ...alarm, detail: alarm.detail.replaceAll('\0', '\ufffd'), rows: 0 };
    const key = `${one.origin} ${one.reason}`;
    const known = alarms.get(key) ?? one;
    alarms.set(key, { ...known, rows: known.rows + 1 });
  }
  return { tallies: [...tallies.values()], alarms: [...alarms.values()] };
}

/** A page contains the cursor at which it begins. So a page is refused if the database has lost the page before it. */
export interface PageOfSlice {
  readonly number: number;
  /** The slice's cursor before the page is stored. */
  readonly fromCursor: number;
  /** The slice's cursor after the page is stored. */
  readonly cursor: number;
  /** How many of this page's members were not found. Absent if the slice has no `members`. */
  readonly missing?: number | undefined;
}

export interface PageCommit extends Lease {
  /** The slice that the rows belong to. The commit moves its cursor forward. Absent if the rows are retries. */
  readonly slice?: PageOfSlice | undefined;
  readonly rows: readonly RowResult[];
  /** Responses that push services sent since the worker's last commit. */
  readonly answers?: readonly PushServiceAnswers[] | undefined;
  /** The lease ends this long after the commit. */
  readonly leaseMs: number;
}

export interface CommitAnswer {
  /**
   * True if the commit was not stored and the worker must drop its rows. This happens if another worker has the slice,
   * if the slice's cursor differs because the database lost a commit, or if nothing is leased under the token any more.
   */
  readonly isLeaseLost: boolean;
  readonly state: BroadcastState;
  /** Alarms that this broadcast had not raised before. */
  readonly newAlarms: readonly Alarm[];
  /** In the order of `Ledger.pushServices`. */
  readonly pushServices: readonly PushServiceState[];
}

/** One push service's responses to single messages. */
export interface SingleAnswers {
  readonly origin: string;
  readonly accepted: number;
  readonly gone: number;
  /** How many times the push service refused our token or key. */
  readonly refused: number;
  /** Number of other responses from the push service itself. */
  readonly other: number;
  /**
   * Subscriptions that the push service called gone. The store finds them by endpoint and keys. The list may be
   * incomplete, or contain subscriptions that are not stored.
   */
  readonly goneSubscriptions: readonly Subscription[];
  /** Endpoints at which the push service accepted a message. The list may be incomplete. */
  readonly acceptedEndpoints: readonly string[];
}

/** Converts the counts of a push service's responses to single messages to the counts that the store has for it. */
export function countSingleAnswers({ accepted, gone, refused, other }: SingleAnswers): typeof noOutcomes {
  return { ...noOutcomes, attempts: accepted + gone + refused + other, accepted, gone, rejected: refused };
}

export interface AnswerCommit {
  /** A UUID. Repeating the same commit within minutes changes nothing. */
  readonly id: string;
  /** One for each origin. */
  readonly origins: readonly SingleAnswers[];
  /** Responses of push services since the sender's last commit. */
  readonly answers?: readonly PushServiceAnswers[] | undefined;
}

export interface Ledger {
  /**
   * Returns at most `limit` rows of the slice with `afterPosition < position`, in order; an empty array at the end of
   * the slice. If the broadcast has a cap per person, it reserves a contact for each row, or returns the row as capped
   * (`audience/frequency-cap.ts`).
   */
  readRows(lease: SliceLease, afterPosition: number, limit: number): Promise<readonly Recipient[]>;
  /**
   * Stores the results of rows in one transaction: cursor, counts, retries, attempts, alarms. Skips retries that are no
   * longer leased under the token: their new holder counts them. Marks gone subscriptions that have not changed since
   * they were read (`held-deletions.ts`). Ends the broadcast when nothing is left.
   */
  commit(page: PageCommit): Promise<CommitAnswer>;
  /**
   * Stores responses of push services to single messages. Gone subscriptions are marked, and deleted or held. An
   * acceptance removes the mark of its subscription, and ends the suspension of its push service.
   *
   * @returns the same as `pushServices`
   */
  recordAnswers(commit: AnswerCommit): Promise<readonly PushServiceState[]>;
  /** Returns push services that are suspended or have been. All others are open. */
  pushServices(): Promise<readonly PushServiceState[]>;
}
