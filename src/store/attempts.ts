// What came of each row of a broadcast. A commit stores its rows in sets with the same outcome, answer and number of the attempt. The newest set that has a row says what came of it last, all that have it are its history.
// Kept for every row until retention drops them.
import { createHash } from 'node:crypto';
import { isSettlement, type NewestFirst, settlements } from './broadcasts.ts';
import { encodeIds } from './id-set.ts';
import type { RowResult } from './ledger.ts';
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

/** One attempt, or the decision not to make one. Without endpoint, keys and payload. */
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

/** Those of a row that is not settled by an attempt. */
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
  /** `pushService`: it refuses our token or key, and is probed. `retry`: the time after an attempt. `localTime`: the time of its
   *  reader, or the end of their quiet hours. `turn`: nothing was sent yet, since its push service cannot be reached, a rate limit is
   *  used up or another sender has to send it. */
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
  /** Of a row that is `inactive`: over how many broadcasts. */
  readonly skipInactive?: number | undefined;
  /** Of one that is `notInAudience`: it was registered after the broadcast was made. */
  readonly isLater?: true | undefined;
  /** Of a row that is `waiting`. */
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
   * What came of subscriptions in the newest broadcasts that one of them was in the audience of; a hundred broadcasts are looked
   * through at most.
   *
   * @param range of broadcasts
   * @returns the newest broadcast first, each with those of the subscriptions that were in its audience; `next`: the next `beforeId`
   */
  outcomesTo(subscriptionIds: readonly number[], range: NewestFirst): Promise<RowOutcomes>;
}

// What a commit stores: these sets, and each answer once for its broadcast. Rows that are no stored subscriptions have no id: they are
// in no set, and only their answers are counted.

/** Different answers that one process stores in words; others lose their words. */
export const maxWordsPerBroadcast = 500;
/** Broadcasts whose words are remembered. */
const maxBroadcasts = 100;

/** Of one set, so that the number of an attempt fits in its id (`attempt-reader.ts`). */
export const maxSetRows = 2 ** 16;

export interface StoredAnswer extends Answer {
  /** Made of its members, so that nobody needs to look it up. */
  readonly id: number;
  /** How many rows of the commit got it; 0 for acceptances. */
  readonly rows: number;
}

export interface AttemptSet {
  readonly answerId: number;
  readonly outcome: AttemptOutcome;
  readonly attempt: number;
  /** When the first attempt was made; absent if nothing was sent. */
  readonly sinceMs: number | undefined;
  readonly firstId: number;
  readonly lastId: number;
  readonly rows: number;
  readonly ids: Uint8Array;
}

export interface GatheredAttempts {
  readonly answers: readonly StoredAnswer[];
  readonly sets: readonly AttemptSet[];
}

interface Group {
  readonly answerId: number;
  readonly answer: Answer;
  readonly attempt: number;
  sinceMs: number | undefined;
  rows: number;
  readonly ids: number[];
}

/** @returns a function that gathers what is stored of rows of one commit */
export function createAttemptGatherer(): (
  broadcastId: number,
  rows: readonly RowResult[],
) => GatheredAttempts {
  const words = new Map<number, Set<string>>();

  const mayStore = (broadcastId: number, detail: string): boolean => {
    let known = words.get(broadcastId);
    if (known === undefined) {
      if (words.size >= maxBroadcasts) words.clear();
      words.set(broadcastId, (known = new Set()));
    }
    if (known.size < maxWordsPerBroadcast) known.add(detail);
    return known.has(detail);
  };

  return (broadcastId, rows) => {
    const groups = new Map<string, Group>();
    // a key costs more than all else, and most rows have that of the row before at their push service
    const latest = new Map<string, Group>();
    for (const row of rows) {
      const outcome = outcomeOf(row);
      if (outcome === undefined) continue;
      const { origin, recipient, attempts, record } = row;
      const { attempt = attempts, atMs, status, reason } = record ?? {};
      const detail =
        record?.detail !== undefined && mayStore(broadcastId, record.detail) ? record.detail : undefined;
      const answer = { origin, outcome, status, reason, detail };
      let group = latest.get(origin);
      if (group === undefined || group.attempt !== attempt || !isSame(group.answer, answer)) {
        const key = `${outcome} ${attempt} ${status} ${reason} ${origin} ${detail}`;
        group = groups.get(key) ?? newGroup(answer, attempt, atMs);
        groups.set(key, group);
        latest.set(origin, group);
      }
      if (atMs !== undefined && group.sinceMs !== undefined && atMs < group.sinceMs) group.sinceMs = atMs;
      group.rows += 1;
      if (recipient.subscriptionId !== undefined) group.ids.push(recipient.subscriptionId);
    }
    return { answers: toAnswers([...groups.values()]), sets: [...groups.values()].flatMap(toSets) };
  };
}

const newGroup = (answer: Answer, attempt: number, sinceMs: number | undefined): Group => ({
  answer,
  answerId: idOf(answer),
  attempt,
  sinceMs,
  rows: 0,
  ids: [],
});

const isSame = (one: Answer, other: Answer): boolean =>
  one.outcome === other.outcome &&
  one.status === other.status &&
  one.reason === other.reason &&
  one.detail === other.detail;

/** `undefined` if the row has no result yet. */
export function outcomeOf({ result, attempts }: RowResult): AttemptOutcome | undefined {
  if (isSettlement(result)) return result;
  return attempts > 0 && (result === 'retry' || result === 'refused') ? 'retry' : undefined;
}

/** In the order of their ids, so that commits do not wait for each other in a circle. */
function toAnswers(groups: readonly Group[]): readonly StoredAnswer[] {
  const answers = new Map<number, StoredAnswer>();
  for (const { answer, answerId: id, rows } of groups) {
    const counted = (answers.get(id)?.rows ?? 0) + (answer.outcome === 'accepted' ? 0 : rows);
    answers.set(id, { ...answer, id, rows: counted });
  }
  return [...answers.values()].sort((one, other) => one.id - other.id);
}

/** 48 bits of a hash. */
function idOf({ origin, outcome, status, reason, detail }: Answer): number {
  const text = JSON.stringify([origin, outcome, status ?? null, reason ?? null, detail ?? null]);
  return createHash('sha256').update(text).digest().readUIntBE(0, 6);
}

function toSets({ answer, answerId, attempt, sinceMs, ids }: Group): readonly AttemptSet[] {
  if (ids.some((id, index) => index > 0 && id <= ids[index - 1]!)) ids.sort((one, other) => one - other);
  const sets: AttemptSet[] = [];
  for (let start = 0; start < ids.length; start += maxSetRows) {
    const part = ids.length > maxSetRows ? ids.slice(start, start + maxSetRows) : ids;
    sets.push({
      answerId,
      outcome: answer.outcome,
      attempt,
      sinceMs,
      firstId: part[0]!,
      lastId: part.at(-1)!,
      rows: part.length,
      ids: encodeIds(part),
    });
  }
  return sets;
}
