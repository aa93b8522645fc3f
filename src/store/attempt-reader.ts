// Reads the results of rows from the sets that commits have stored.
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Answer,
  type AnswerCount,
  type AttemptOutcome,
  attemptOutcomes,
  type AttemptRecord,
  type AttemptStore,
} from './attempts.ts';
import { maxSetRows } from './attempt-sets.ts';
import { decodeIds, indexOfId } from './id-set.ts';
import { nullsToUndefined, type PortableDatabase } from './portable-sql.ts';

export interface AttemptReader extends Pick<AttemptStore, 'list' | 'countAnswers'> {
  /** Returns all attempts to send these broadcasts to subscriptions in the range, newest first. */
  histories(broadcastIds: readonly number[], idRange: IdRange): Promise<readonly AttemptRecord[]>;
}

/** A range of ids, both ends included. */
export interface IdRange {
  readonly firstId: number;
  readonly lastId: number;
}

/** Maximum number of broadcasts to search for a subscription. */
const maxBroadcasts = 100;
/** Number of attempt sets to search at once. */
const setBatch = 20;
/** Number of attempt sets to read by id at once. */
const knownSetBatch = 50;

/** Attempts of several subscriptions: their ids, and the facts that all of these attempts share. */
interface SetRow extends Omit<AttemptRecord, 'subscriptionId'> {
  readonly ids: Uint8Array;
}

const setColumns =
  's.id, s.broadcast_id as "broadcastId", s.at_ms as "atMs", s.since_ms as "sinceMs", s.attempt, s.ids';
const answerColumns = 'a.origin, a.outcome, a.status, a.reason, a.detail';

const selectSets = `
  select ${setColumns}, ${answerColumns} from deskbell.attempt_sets s
  join deskbell.answers a on a.broadcast_id = s.broadcast_id and a.id = s.answer_id`;

/** For each outcome, selects the newest sets of a broadcast in the order of the index. */
const newestSets = (wanted: readonly AttemptOutcome[]): string =>
  wanted
    .map(
      (outcome) => `
        select * from (${selectSets} where s.broadcast_id = :broadcastId and s.outcome = '${outcome}' and s.id <= :maxId
                       order by s.id desc limit :limit) of_${outcome}`,
    )
    .join(' union all ')
    .concat(' order by id desc limit :limit');

/** Selects broadcasts that have attempts, newest first. It skips other broadcasts without reading them. */
export const broadcastsWithAttempts = `
  with recursive found (id, number) as (
    select max(broadcast_id), 1 from deskbell.attempt_sets where broadcast_id <= :maxId
    union all
    select (select max(s.broadcast_id) from deskbell.attempt_sets s where s.broadcast_id < found.id), number + 1
    from found where found.id is not null and number < :limit
  )
  select id from found where id is not null order by number`;

export function createAttemptReader(database: PortableDatabase): AttemptReader {
  // looks up each response by primary key: otherwise, PostgreSQL would read the stored responses of all broadcasts
  const selectKnownSets = `
    select ${setColumns},
           (select ${database.jsonObject}('origin', a.origin, 'outcome', a.outcome, 'status', a.status,
                                          'reason', a.reason, 'detail', a.detail)
            from deskbell.answers a where a.broadcast_id = s.broadcast_id and a.id = s.answer_id) as answer
    from deskbell.attempt_sets s where ${database.isOneOf('s.id', 'ids')} order by s.id desc`;
  const readKnownSets = async (ids: readonly number[]): Promise<readonly SetRow[]> => {
    const rows = await database.read<Omit<SetRow, keyof Answer> & { readonly answer: unknown }>(
      selectKnownSets,
      { ids },
    );
    return rows.map(({ answer, ...set }) =>
      nullsToUndefined({ ...set, ...database.readJson<Answer>(answer) }),
    );
  };

  const histories: AttemptReader['histories'] = async (broadcastIds, { firstId, lastId }) => {
    // do not read the sets themselves: there may be thousands
    const found = await database.read<{ readonly id: number }>(
      `select s.id from deskbell.attempt_sets s
       where ${database.isOneOf('s.broadcast_id', 'broadcastIds')}
         and s.first_id <= :lastId and s.last_id >= :firstId`,
      { broadcastIds, firstId, lastId },
    );
    const setIds = found.map(({ id }) => id).sort((one, other) => other - one);
    const attempts: AttemptRecord[] = [];
    for (let first = 0; first < setIds.length; first += knownSetBatch) {
      const some = setIds.slice(first, first + knownSetBatch);
      for (const { ids: encoded, ...set } of await readKnownSets(some)) {
        const ids = firstId === lastId ? [firstId] : decodeIds(encoded);
        for (const [index, id] of ids.entries()) {
          if (id < firstId || id > lastId) continue;
          const place = firstId === lastId ? indexOfId(encoded, id) : index;
          if (place >= 0) attempts.push(toAttempt(set, place, id));
        }
      }
      // decoding takes CPU time, so let other work run meanwhile
      if (first > 0) await nextTurn();
    }
    return attempts;
  };

  const historyOf = (broadcastId: number, subscriptionId: number) =>
    histories([broadcastId], { firstId: subscriptionId, lastId: subscriptionId });

  const listBroadcast = async (
    broadcastId: number,
    wanted: readonly AttemptOutcome[],
    beforeId: number,
    limit: number,
  ): Promise<readonly AttemptRecord[]> => {
    const attempts: AttemptRecord[] = [];
    for (let maxId = setOf(beforeId); ;) {
      const sets = await database.read<SetRow>(newestSets(wanted), { broadcastId, maxId, limit: setBatch });
      for (const { ids: encoded, ...set } of sets.map(nullsToUndefined)) {
        const ids = decodeIds(encoded);
        for (let index = ids.length - 1; index >= 0; index -= 1) {
          const attempt = toAttempt(set, index, ids[index]!);
          if (attempt.id >= beforeId) continue;
          attempts.push(attempt);
          if (attempts.length === limit) return attempts;
        }
      }
      const last = sets.at(-1);
      if (last === undefined || sets.length < setBatch) return attempts;
      maxId = last.id - 1;
    }
  };

  const listSubscription = async (
    subscriptionId: number,
    isWanted: (attempt: AttemptRecord) => boolean,
    beforeId: number,
    limit: number,
  ): Promise<readonly AttemptRecord[]> => {
    const [from] = await database.read<{ readonly broadcast_id: number }>(
      'select broadcast_id from deskbell.attempt_sets where id = :id',
      { id: setOf(beforeId) },
    );
    const broadcasts = await database.read<{ readonly id: number }>(broadcastsWithAttempts, {
      maxId: from?.broadcast_id ?? Number.MAX_SAFE_INTEGER,
      limit: maxBroadcasts,
    });
    const attempts: AttemptRecord[] = [];
    for (const { id } of broadcasts) {
      const history = await historyOf(id, subscriptionId);
      // once the set is dropped, nothing says which broadcast it belonged to, so only ids can be compared
      const isLater = from !== undefined && id !== from.broadcast_id;
      const isBefore = (attempt: AttemptRecord) => isLater || attempt.id < beforeId;
      attempts.push(...history.filter((attempt) => isWanted(attempt) && isBefore(attempt)));
      if (attempts.length >= limit) break;
    }
    return attempts.slice(0, limit);
  };

  return {
    histories,

    list: async ({ broadcastId, subscriptionId, outcome, beforeId = Number.MAX_SAFE_INTEGER, limit }) => {
      const isWanted = (attempt: AttemptRecord) => outcome === undefined || attempt.outcome === outcome;
      if (broadcastId !== undefined && subscriptionId !== undefined) {
        const history = await historyOf(broadcastId, subscriptionId);
        return history.filter((attempt) => attempt.id < beforeId && isWanted(attempt)).slice(0, limit);
      }
      if (subscriptionId !== undefined) return listSubscription(subscriptionId, isWanted, beforeId, limit);
      if (broadcastId === undefined) throw new TypeError('Attempts are of a broadcast or a subscription.');
      return listBroadcast(broadcastId, outcome === undefined ? attemptOutcomes : [outcome], beforeId, limit);
    },

    countAnswers: async (broadcastIds) => {
      if (broadcastIds.length === 0) return [];
      // PostgreSQL does not infer the second condition from the first. Without the second, it would read all answers.
      const rows = await database.read<AnswerCount>(
        `select c.broadcast_id as "broadcastId", ${answerColumns}, sum(c.rows) as rows, max(c.last_at_ms) as "lastAtMs"
         from deskbell.answer_counts c
         join deskbell.answers a on a.broadcast_id = c.broadcast_id and a.id = c.answer_id
         where ${database.isOneOf('c.broadcast_id', 'broadcastIds')} and ${database.isOneOf('a.broadcast_id', 'broadcastIds')}
         group by c.broadcast_id, c.answer_id, ${answerColumns}
         order by sum(c.rows) desc, c.broadcast_id desc, c.answer_id`,
        { broadcastIds },
      );
      return rows.map(nullsToUndefined);
    },
  };
}

/** An attempt's id consists of its set's id and its position in that set. */
const setOf = (attemptId: number): number => Math.floor(attemptId / maxSetRows);

const toAttempt = (set: Omit<SetRow, 'ids'>, index: number, subscriptionId: number): AttemptRecord => ({
  ...set,
  id: set.id * maxSetRows + index,
  subscriptionId,
  // `sinceMs` is a time of the sender's clock
  sinceMs: Math.min(set.sinceMs, set.atMs),
});
