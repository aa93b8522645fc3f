// Builds the sets that a commit stores. Each answer is stored once per broadcast. Rows without a stored subscription
// have no id, so they are in no set, and only their answers are counted.
import { createHash } from 'node:crypto';
import type { Answer, AttemptOutcome } from './attempts.ts';
import { isSettlement } from './broadcasts.ts';
import { encodeIds } from './id-set.ts';
import { countedAs, type RowResult } from './ledger.ts';

/** Maximum number of response texts that a process stores per broadcast. Later responses are stored without text. */
export const maxWordsPerBroadcast = 500;
/** Number of broadcasts whose responses are remembered. */
const maxBroadcasts = 100;

/** Maximum rows per set. An attempt's id has room for this many positions (`attempt-reader.ts`). */
export const maxSetRows = 2 ** 16;

interface StoredAnswer extends Answer {
  /** Hash of the answer's members, so that the answer need not be looked up. */
  readonly id: number;
  /** How many rows of the commit got this response. It is 0 for acceptances. */
  readonly rows: number;
}

interface AttemptSet {
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

/** @returns a function that groups the rows of one commit by answer, and returns the answers and groups to store */
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
    // most rows have the answer of their push service's previous row, so try its group first: making a key is expensive
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

/** Returns `undefined` if the row has no result yet. */
export function outcomeOf(row: RowResult): AttemptOutcome | undefined {
  const { attempts, retry } = row;
  const result = retry?.isOutside === true && attempts > 0 ? 'dormant' : countedAs(row);
  if (isSettlement(result)) return result;
  return attempts > 0 && (result === 'retry' || result === 'refused') ? 'retry' : undefined;
}

/** Sorts by id, so that commits take locks in the same order and cannot deadlock. */
function toAnswers(groups: readonly Group[]): readonly StoredAnswer[] {
  const answers = new Map<number, StoredAnswer>();
  for (const { answer, answerId: id, rows } of groups) {
    const counted = (answers.get(id)?.rows ?? 0) + (answer.outcome === 'accepted' ? 0 : rows);
    answers.set(id, { ...answer, id, rows: counted });
  }
  return [...answers.values()].sort((one, other) => one.id - other.id);
}

/** 48 bits of the hash of the answer. */
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
