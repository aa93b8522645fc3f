// The results of each row of a broadcast. A commit stores rows with the same outcome, answer and attempt number as one
// set (`attempt-sets.ts`). The newest set with a row has the row's last result, and all sets with the row are its
// history. Retention deletes old sets.
import { type NewestFirst, type OutcomeAudience, settlements } from './broadcasts.ts';
import type { ReceiptEvent } from './receipts.ts';

/** Final outcomes, and `retry`: the row will be tried again. */
export const attemptOutcomes = [...settlements, 'retry'] as const;
/** The result of an attempt. */
export type AttemptOutcome = (typeof attemptOutcomes)[number];

/** What a push service responded, or why nothing was sent. */
export interface Answer {
  readonly origin: string;
  readonly outcome: AttemptOutcome;
  /** HTTP status; absent if there was no response. */
  readonly status?: number | undefined;
  /** See `Outcome`. */
  readonly reason?: string | undefined;
  /** The push service's explanation. */
  readonly detail?: string | undefined;
}

/** One attempt, or the decision not to make an attempt. The record contains no endpoint, keys or payload. */
export interface AttemptRecord extends Answer {
  /** Later attempts of a broadcast have higher ids. */
  readonly id: number;
  readonly broadcastId: number;
  readonly subscriptionId: number;
  /** When the result was stored. */
  readonly atMs: number;
  /** When the first attempt of the set was made. */
  readonly sinceMs: number;
  /** The number of the attempt, from 1. If nothing was sent, the number of earlier attempts. */
  readonly attempt: number;
}

/** The number of times that a response was received. Acceptances are not counted. */
export interface AnswerCount extends Answer {
  readonly broadcastId: number;
  readonly rows: number;
  readonly lastAtMs: number;
}

/** States of a row that has no final outcome from an attempt. */
const unsettledStates = [
  'notInAudience',
  'inactive',
  'channelOff',
  'timePassed',
  'preparing',
  'pending',
  'inFlight',
  'waiting',
  'removed',
  'cancelled',
  'notTracked',
  'noLongerKept',
] as const;

export const rowStates = [...settlements, ...unsettledStates] as const;

/**
 * The state of a subscription in a broadcast.
 *
 * - `inactive`, `channelOff`, `timePassed`: the subscription was left out because of `skipInactive`, the channel, or a
 *   local time that had passed.
 * - `preparing`: the audience is not complete yet, and the subscription has not been added to it.
 * - `pending`: the subscription's turn has not come.
 * - `inFlight`: the message was sent, or is about to be sent.
 * - `waiting`: the message is stored and will be retried.
 * - `removed`: the subscription was deleted from the store before its turn, or before the broadcast was created.
 * - `cancelled`: the message was not sent because the broadcast was cancelled.
 * - `notTracked`: the broadcast is to a list of subscriptions that need not be in the store, so the store knows only
 *   the broadcast's counts.
 */
export type RowState = (typeof rowStates)[number];

/** Why a message is waiting, and until when. */
export interface RowWait {
  /**
   * What the message waits for. `pushService`: the push service refuses our token or key; probes find out when it
   * accepts messages again. `retry`: the next attempt. `localTime`: the reader's local time, or the end of their quiet
   * hours. `turn`: its turn; nothing was sent yet, because the push service cannot be reached, a rate limit is used up,
   * or another sender must send it.
   */
  readonly for: 'pushService' | 'retry' | 'localTime' | 'turn';
  /** When the wait ends; absent if the end of the wait depends on the push service. */
  readonly untilMs?: number | undefined;
  readonly expiresAtMs: number;
  readonly attempts: number;
}

/** The outcome of a subscription in a broadcast. */
export interface RowOutcome {
  readonly broadcastId: number;
  readonly subscriptionId: number;
  readonly state: RowState;
  /** Absent if there was no attempt and the subscription is not stored. */
  readonly origin?: string | undefined;
  /** Absent if the subscription is anonymous or has left the store. */
  readonly user?: string | undefined;
  /** For `inactive`: the number of broadcasts without a click. */
  readonly skipInactive?: number | undefined;
  /** For `notInAudience`: the subscription was registered after the broadcast was created. */
  readonly isLater?: true | undefined;
  /** What the row waits for. Set only in the `waiting` state. */
  readonly wait?: RowWait | undefined;
  /** All attempts, newest first. */
  readonly attempts: readonly AttemptRecord[];
  /** What the reader's browser reported about the notification. Absent if the broadcast does not request receipts. */
  readonly receipts?: readonly ReceiptEvent[] | 'noLongerKept' | undefined;
  /** When the push service first reported the subscription as gone. Only set if an operator must decide what to do. */
  readonly heldSinceMs?: number | undefined;
}

export interface RowOutcomes {
  readonly outcomes: readonly RowOutcome[];
  /** Where to continue; absent if nothing is left. */
  readonly next?: number | undefined;
}

/** Reads what happened to each message of a broadcast, for operators. */
export interface AttemptStore {
  /**
   * Lists attempts of a broadcast, a subscription or both, newest first. If only a subscription is given, searches at
   * most a hundred broadcasts that have attempts. The search begins at the broadcast of the attempt `beforeId`, or at
   * the newest broadcast.
   */
  list(
    filter: {
      readonly broadcastId?: number | undefined;
      readonly subscriptionId?: number | undefined;
      readonly outcome?: AttemptOutcome | undefined;
    } & NewestFirst,
  ): Promise<readonly AttemptRecord[]>;
  /** Counts the responses to these broadcasts, the most frequent first. Omits acceptances. */
  countAnswers(broadcastIds: readonly number[]): Promise<readonly AnswerCount[]>;
  /**
   * Returns the results of subscriptions in a broadcast.
   *
   * @returns the results in the order of the ids
   * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND
   */
  outcomesOf(broadcastId: number, subscriptionIds: readonly number[]): Promise<readonly RowOutcome[]>;
  /**
   * Returns the results of a broadcast for the next subscriptions of its audience, whose ids are above `afterId`.
   * Omits rows that are not tracked or no longer kept. For a broadcast to all, also omits rows that were removed before
   * their turn.
   *
   * @param range `ids`: how many ids to read; there may be fewer rows, or none
   * @returns results ordered by id; `next`: the next `afterId`
   * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND
   */
  outcomesAfter(
    broadcastId: number,
    range: { readonly afterId: number; readonly ids: number },
  ): Promise<RowOutcomes>;
  /**
   * Searches the next ids of the earlier broadcast's audience after `afterId`, and returns the stored subscriptions
   * that belong to the group.
   *
   * @param range as in `outcomesAfter`
   * @returns ascending ids; `next`: the next `afterId`
   * @throws {DeskbellError} ERR_FIELD_VALUE if there is no such broadcast, or its recipients are unknown
   */
  idsAfter(
    audience: OutcomeAudience,
    range: { readonly afterId: number; readonly ids: number },
  ): Promise<{ readonly ids: readonly number[]; readonly next?: number | undefined }>;
  /**
   * Returns these subscriptions' results in the newest broadcasts whose audience contained at least one of them.
   * Searches at most 100 broadcasts.
   *
   * @param range which broadcasts to return
   * @returns newest broadcast first, each with its results for these subscriptions; `next`: the next `beforeId`
   */
  outcomesTo(subscriptionIds: readonly number[], range: NewestFirst): Promise<RowOutcomes>;
}
