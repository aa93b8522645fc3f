// Audiences of broadcasts in SQLite: all subscriptions, lists of subscriptions that need not be stored, or sets of ids.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { normalizeEndpoint } from '../../protocol/endpoint.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import { type BroadcastWriter, type FrozenSubscriptions, numbered } from '../broadcast-control.ts';
import { cutSet, cutSlices, joinIds } from '../slices.ts';
import { createRangeSearch } from './audience-filter.ts';
import type { SqliteDatabase } from './database.ts';

/** Number of candidates to read for each row of a slice. Reading 10,000 candidates takes less than 0.1 s. */
const candidatesOfRow = 5;
const maxCandidates = 10_000;
/** Maximum number of id ranges per search. It is only reached if few of the subscriptions match the expression. */
const maxLooks = 10;

export function createSqliteBroadcasts(database: SqliteDatabase): BroadcastWriter {
  const searchRange = createRangeSearch(database);

  const add = (audienceId: number, members: readonly Subscription[]) => {
    const audience = database.first<{ members: number }>(
      'select members from audiences where id = :audienceId',
      { audienceId },
    );
    if (audience === undefined) {
      throw new DeskbellError('ERR_FIELD_VALUE', `There is no list of recipients ${audienceId}.`);
    }
    let count = audience.members;
    for (const { endpoint, p256dh, auth } of members) {
      count += database.run(
        `insert into audience_members (audience_id, position, endpoint, p256dh, auth)
         values (:audienceId, :position, :endpoint, :p256dh, :auth)
         on conflict do nothing`,
        { audienceId, position: count + 1, endpoint: normalizeEndpoint(endpoint), p256dh, auth },
      );
    }
    database.run('update audiences set members = :count where id = :audienceId', { audienceId, count });
  };

  return {
    addToAudience: (audienceId, members) => database.write(() => add(audienceId, members)),

    freeze: () => database.read(() => database.first<Frozen>(selectFrozen)!),

    sliceAll: async ({ rows, firstId, lastId }: Frozen, sliceRows) => {
      const extent = { rows, firstPosition: firstId ?? 1, lastPosition: lastId };
      return { rowsIn: 'all', slices: numbered(cutSlices(extent, sliceRows)) };
    },

    findMatching: async (expression, { afterId, throughId: lastId, width, sliceRows }) => {
      const ids: number[] = [];
      const candidates = Math.min(maxCandidates, candidatesOfRow * sliceRows);
      let throughId = afterId;
      for (let look = 0; look < maxLooks && ids.length < sliceRows && throughId < lastId; look += 1) {
        const range = await database.read(() => {
          const found = searchRange(expression, throughId, candidates);
          return { throughId: found.throughId ?? lastId, ids: found.ids };
        });
        for (const id of range.ids) if (id <= lastId) ids.push(id);
        throughId = range.throughId;
      }
      return { sets: cutSet({ ids }, sliceRows), throughId, width };
    },
    cutSets: async (ids, sliceRows) => cutSet({ ids }, sliceRows),
    slicesToSplit: 16,
    joinSets: (sets, sliceRows) => cutSet({ ids: joinIds(sets) }, sliceRows),
  };
}

interface Frozen extends FrozenSubscriptions {
  readonly firstId: number | null;
}

const selectFrozen = `
  select (select coalesce(sum(subscriptions), 0) from subscription_counts) as rows,
         (select min(id) from subscriptions) as firstId,
         (select coalesce(max(id), 0) from subscriptions) as lastId,
         (select coalesce(max(seq), 0) from sqlite_sequence where name = 'removals') as removalsAfter`;
