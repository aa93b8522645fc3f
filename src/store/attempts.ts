// What came of each row of a broadcast. A commit stores its rows in sets with the same outcome, answer and number of the attempt
// (`attempt-sets.ts`). The newest set that has a row says what came of it last, all that have it are its history.
// Kept for every row until retention drops them.
import { type NewestFirst, type OutcomeAudience, settlements } from './broadcasts.ts';
import type { ReceiptEvent } from './receipts.ts';

/** Final outcomes, and `retry`: the row is tried again. */
export const attemptOutcomes = [...settlements, 'retry'] as const;
/** What comes of an attempt. */
export type AttemptOutcome = (typeof attemptOutcomes)[number];

/** What a push service answered, or why nothing was sent. */
export interface Answer {
  readonly origin: string;
  readonly outcome: AttemptOutcome;
  /** HTTP status, absent if there was no answer. */
  readonly status?: number | undefined;
  /** As in `Outcome`. */
  readonly reason?: string | undefined;
  /** The push service's own words. */
  readonly detail?: string | undefined;
}

/** One attempt, or the decision not to make one. It has no endpoint, keys or payload. */
export interface AttemptRecord extends Answer {
  /** Later ones of a broadcast have higher ids. */
  readonly id: number;
  readonly broadcastId: number;
  readonly subscriptionId: number;
  /** When it was stored. */
  readonly atMs: number;
  /** When the first attempt of its set was made. */
  readonly sinceMs: number;
  /** From 1; if nothing was sent, how many there were before. */
  readonly attempt: number;
}

/** How often an answer was given, other than an acceptance. */
export interface AnswerCount extends Answer {
  readonly broadcastId: number;
  readonly rows: number;
  readonly lastAtMs: number;
}

/** The states of a row that no attempt has settled. */
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

/** Every state of a row. */
export const rowStates = [...settlements, ...unsettledStates] as const;

/**
 * `notInAudience`; `inactive`, `channelOff`, `timePassed`: left out, for `skipInactive`, the channel, or a local time that was over; `preparing`: the audience is not complete, and it is not in it so far; `pending`: its turn is still to come; `inFlight`: sent, or about to be; `waiting`: stored to be tried again;
 * the outcomes of `Settlement`; `removed`: deleted from the store before its turn, or before there was the broadcast;
 * `cancelled`: not sent, since the broadcast was cancelled; `notTracked`: the broadcast is to a list of subscriptions that need not
 * be stored, of which only sums are kept; `noLongerKept`.
 */
export type RowState = (typeof rowStates)[number];

/** What a row waits for. */
export interface RowWait {
  /** `pushService`: until probes find that the push service no longer refuses our token or key. `retry`: for the next attempt.
   *  `localTime`: for the reader's local time, or the end of their quiet hours. `turn`: nothing was sent yet, because the push service
   *  cannot be reached, a rate limit is used up, or another sender has to send it. */
  readonly for: 'pushService' | 'retry' | 'localTime' | 'turn';
  /** When that is; absent if it depends on the push service. */
  readonly untilMs?: number | undefined;
  /** When it expires. */
  readonly expiresAtMs: number;
  readonly attempts: number;
}

/** What came of a subscription in a broadcast. */
export interface RowOutcome {
  readonly broadcastId: number;
  readonly subscriptionId: number;
  readonly state: RowState;
  /** Absent if neither an attempt nor the store has it. */
  readonly origin?: string | undefined;
  /** Absent if it is anonymous or has left the store. */
  readonly user?: string | undefined;
  /** For `inactive`: over how many broadcasts. */
  readonly skipInactive?: number | undefined;
  /** For `notInAudience`: the subscription was registered after the broadcast was made. */
  readonly isLater?: true | undefined;
  /** For `waiting`: what it waits for. */
  readonly wait?: RowWait | undefined;
  /** Newest first. */
  readonly attempts: readonly AttemptRecord[];
  /** What its browser has reported of the notification. Absent if the broadcast asks for no receipts. */
  readonly receipts?: readonly ReceiptEvent[] | 'noLongerKept' | undefined;
  /** Since when its push service calls it gone and an operator has to decide. */
  readonly heldSinceMs?: number | undefined;
}

/** Some of what came of broadcasts. */
export interface RowOutcomes {
  readonly outcomes: readonly RowOutcome[];
  /** Where to continue; absent if nothing is left. */
  readonly next?: number | undefined;
}

/** What came of rows, for operators to see. */
export interface AttemptStore {
  /**
   * The newest first, of a broadcast, of a subscription, or both. Of a subscription alone, the broadcasts are looked through from
   * the newest on, at most a hundred that have attempts from the one of `beforeId` on.
   */
  list(
    filter: {
      readonly broadcastId?: number | undefined;
      readonly subscriptionId?: number | undefined;
      readonly outcome?: AttemptOutcome | undefined;
    } & NewestFirst,
  ): Promise<readonly AttemptRecord[]>;
  /** What push services answered to these broadcasts other than acceptances, the most frequent first. */
  countAnswers(broadcastIds: readonly number[]): Promise<readonly AnswerCount[]>;
  /**
   * What came of subscriptions in a broadcast.
   *
   * @returns in the order of the ids
   * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND
   */
  outcomesOf(broadcastId: number, subscriptionIds: readonly number[]): Promise<readonly RowOutcome[]>;
  /**
   * What came of those in the audience of a broadcast whose ids are the next after `afterId`. Left out are rows that are not
   * tracked or no longer kept, and, of a broadcast to all, those that were removed before their turn.
   *
   * @param range `ids`: how many ids to look at; there may be fewer rows, or none
   * @returns in the order of ids; `next`: the next `afterId`
   * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND
   */
  outcomesAfter(
    broadcastId: number,
    range: { readonly afterId: number; readonly ids: number },
  ): Promise<RowOutcomes>;
  /**
   * Of those in the audience of a broadcast whose ids are the next after `afterId`: the stored ones with an outcome.
   *
   * @param range as of `outcomesAfter`
   * @returns ascending ids; `next`: the next `afterId`
   * @throws {DeskbellError} ERR_FIELD_VALUE if there is no such broadcast, or it is not known who they are
   */
  idsAfter(
    audience: OutcomeAudience,
    range: { readonly afterId: number; readonly ids: number },
  ): Promise<{ readonly ids: readonly number[]; readonly next?: number | undefined }>;
  /**
   * What came of subscriptions in the newest broadcasts that one of them was in the audience of; a hundred broadcasts are looked
   * through at most.
   *
   * @param range of broadcasts
   * @returns the newest broadcast first, each with those of the subscriptions that were in its audience; `next`: the next `beforeId`
   */
  outcomesTo(subscriptionIds: readonly number[], range: NewestFirst): Promise<RowOutcomes>;
}
