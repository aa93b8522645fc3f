// Prepares audiences: stores the ids of their members as sets, range by range in short transactions, so that any
// process can continue. Nothing is sent before the last range is stored. If an audience's readers get different texts,
// or get them at different times, the audience is split (`split-audience.ts`).
import type { AudienceExpression } from '../audience/user-and-tags.ts';
import type { BroadcastStore, LookedUpAudience, OutcomeAudience } from './broadcasts.ts';
import { decodeIds, encodeIds } from './id-set.ts';
import { nullsToUndefined, run, type PortableDatabase, type Work } from './portable-sql.ts';
import { leftOutCode, receiptWindowMs } from './receipts.ts';
import { createAttempts } from './row-outcomes.ts';
import { countMembers, type MemberSet } from './slices.ts';
import {
  leftOutCodes,
  splitSets,
  type AudienceSplit,
  type ReaderFinder,
  type ReaderGroup,
  type ReadersOfSet,
} from './split-audience.ts';

export interface SearchedRange {
  readonly afterId: number;
  readonly throughId: number;
  /** Approximate number of ids to search. */
  readonly width: number;
  /** Approximate number of ids per set. */
  readonly sliceRows: number;
}

interface FoundSets {
  readonly sets: readonly MemberSet[];
  /** The last id that the search covered. */
  readonly throughId: number;
  /** The width of the next range, in ids. */
  readonly width: number;
}

/** Functions that each database implements itself. */
export interface MemberFinder extends Pick<ReaderFinder, 'joinSets'> {
  /**
   * Number of slices that one search covers if the audience is split into groups of readers. After a search of a single
   * slice, the set of each group would be too small.
   */
  readonly slicesToSplit: number;
  /**
   * Finds the subscriptions that currently match an expression. Searches only a part of the ids: about `range.width`
   * ids after `range.afterId`.
   */
  findMatching(expression: AudienceExpression, range: SearchedRange): Promise<FoundSets>;
  /** @param ids ascending, without duplicates; they need not be stored */
  cutSets(ids: readonly number[], sliceRows: number): Promise<readonly MemberSet[]>;
}

export type Preparations = Pick<BroadcastStore, 'addIds' | 'prepare' | 'findUnprepared'>;

/** Maximum number of sets per transaction. A set takes a few kilobytes. */
const setsOfTransaction = 100;
/** How long a lease lasts. A range takes a fraction of this time. */
const leaseMs = 10_000;
/** A lease that ends after `latestMs` was taken while the clock was ahead. */
const isFree = '(lease_until_ms <= :nowMs or lease_until_ms > :latestMs)';
const freeAt = (nowMs: number) => ({ nowMs, latestMs: nowMs + 2 * leaseMs });
/** If the audience is a list of ids: number of its sets to split at a time. */
const listedSets = 32;

/** If the audience depends on the outcomes of another broadcast: number of ids whose outcomes are read together. */
const outcomeIds = 5000;
const maxLooks = 10;

interface PreparationRow {
  /** What to look up, as JSON. Null if the sets of an id list are split instead. */
  readonly expression: string;
  /** JSON. */
  readonly split: string | null;
  readonly slice_rows: number;
  readonly done_through: number;
  readonly through_id: number;
  readonly width: number;
}

export function createPreparations(database: PortableDatabase, finder: MemberFinder): Preparations {
  const attempts = createAttempts(database);

  /**
   * Reads members from the sets of an id list. Here, a position is the number of a set. The list's own sets have
   * numbers below `end`; the sets made by splitting them have higher numbers.
   */
  const findListed = async (broadcastId: number, from: number, end: number): Promise<FoundSets> => {
    const throughId = Math.min(from + listedSets, end);
    const rows = await database.read<{ readonly in_partition: number | null; readonly ids: Uint8Array }>(
      `select in_partition, ids from deskbell.audience_sets
       where audience_id = (select audience_id from deskbell.broadcasts where id = :broadcastId)
         and number >= :from and number < :throughId order by number`,
      { broadcastId, from, throughId },
    );
    const sets = rows.map(({ in_partition, ids }) => ({
      partition: in_partition ?? undefined,
      ids: decodeIds(ids),
    }));
    return { sets, throughId, width: listedSets };
  };

  const findOfBroadcast = async (
    audience: OutcomeAudience,
    { done_through: afterId, through_id: lastId, width, slice_rows: sliceRows }: PreparationRow,
  ): Promise<FoundSets> => {
    const ids: number[] = [];
    let throughId = afterId;
    for (let look = 0; look < maxLooks && ids.length < sliceRows && throughId < lastId; look += 1) {
      const found = await attempts.idsAfter(audience, { afterId: throughId, ids: outcomeIds });
      ids.push(...found.ids.filter((id) => id <= lastId));
      throughId = Math.min(found.next ?? lastId, lastId);
    }
    return { sets: ids.length === 0 ? [] : await finder.cutSets(ids, sliceRows), throughId, width };
  };

  const find = (broadcastId: number, row: PreparationRow, isSplit: boolean): Promise<FoundSets> => {
    const { done_through: afterId, through_id: lastId, width, slice_rows } = row;
    const expression = JSON.parse(row.expression) as LookedUpAudience | null;
    if (expression === null) return findListed(broadcastId, afterId, lastId);
    if ('broadcast' in expression) return findOfBroadcast(expression, row);
    const sliceRows = isSplit ? slice_rows * finder.slicesToSplit : slice_rows;
    return finder.findMatching(expression, { afterId, throughId: lastId, width, sliceRows });
  };

  const readersOf = async (
    { partition, ids }: MemberSet,
    { channel, skipInactive }: AudienceSplit,
  ): Promise<readonly ReadersOfSet[]> => {
    const choices = ['p.channels', 's.channels'].map(database.choiceOf).join(', ');
    const isOn = `cast(:channel as text) is null or coalesce(${choices}, :isOn)`;
    const rows = await database.read<Omit<ReadersOfSet, 'ids'> & { readonly ids: unknown }>(
      `select coalesce(p.language, s.language) as language, coalesce(p.time_zone, s.time_zone) as "timeZone",
         ${leftOutCode(skipInactive, isOn)} as "leftOut", ${database.jsonArray}(s.id) as ids
       from deskbell.subscriptions${partition === undefined ? '' : `_${partition}`} s
       left join deskbell.people p on p.user_name = s.user_name
       where ${database.isOneOf('s.id', 'ids')}
       group by 1, 2, 3`,
      { ids, channel: channel?.name, isOn: channel?.isOnByDefault ?? true },
    );
    return rows.map((row) => ({ ...nullsToUndefined(row), ids: database.readJson<number[]>(row.ids) }));
  };

  return {
    addIds: async (audienceId, ids, sliceRows) => {
      const sets = await finder.cutSets(ids, sliceRows);
      for (let first = 0; first < sets.length; first += setsOfTransaction) {
        const some = sets.slice(first, first + setsOfTransaction);
        await database.transaction(() => insertSets(audienceId, first, some));
      }
      await database.write('update deskbell.audiences set members = :members where id = :audienceId', {
        audienceId,
        members: ids.length,
      });
    },

    prepare: async (broadcastId, holder) => {
      const leasedAtMs = database.now();
      const [row] = await database.writeOnce<PreparationRow>(
        `update deskbell.preparations set token = :token, lease_until_ms = :untilMs
         where broadcast_id = :broadcastId and is_paused = 0 and (token = :token or ${isFree})
         returning expression, split, slice_rows, done_through, through_id, width`,
        { broadcastId, token: holder, ...freeAt(leasedAtMs), untilMs: leasedAtMs + leaseMs },
      );
      if (row === undefined) return false;
      const { done_through: afterId, through_id: lastId } = row;
      const split = row.split === null ? undefined : (JSON.parse(row.split) as AudienceSplit);
      const isSplit = split !== undefined;
      const { sets: found, throughId, width } = await find(broadcastId, row, isSplit);
      const sets = isSplit ? await splitSets({ ...finder, readersOf }, split, found, row.slice_rows) : found;
      const isLast = throughId >= lastId;
      const nowMs = database.now();
      const range = { broadcastId, afterId, throughId, width, isLast, isSplit, sets, nowMs };
      return database.transaction(() => addRange(range, database));
    },

    findUnprepared: async () => {
      const [row] = await database.read<{ readonly id: number }>(
        `select broadcast_id as id from deskbell.preparations where is_paused = 0 and ${isFree}
         order by lease_until_ms, broadcast_id limit 1`,
        freeAt(database.now()),
      );
      return row?.id;
    },
  };
}

type PreparedSet = MemberSet & ReaderGroup;

interface FoundRange extends Omit<SearchedRange, 'sliceRows'> {
  readonly nowMs: number;
  readonly broadcastId: number;
  readonly sets: readonly PreparedSet[];
  readonly isLast: boolean;
  readonly isSplit: boolean;
}

/**
 * Stores a range. If several holders found the same ids, the first one to store them wins, even if its lease has ended.
 *
 * @returns whether the holder should continue
 */
function* addRange(
  { broadcastId, sets, isLast, isSplit, nowMs, ...range }: FoundRange,
  database: PortableDatabase,
): Work<boolean> {
  const id = { broadcastId };
  const [moved] = yield* run<{ readonly number: number }>(
    `update deskbell.preparations
     set done_through = :throughId, width = :width, next_number = next_number + :sets
     where broadcast_id = :broadcastId and done_through = :afterId and is_paused = 0
     returning next_number - :sets as number`,
    { ...id, ...range, sets: sets.length },
  );
  if (moved === undefined) return false;
  const { number } = moved;
  const rows = countMembers(sets);
  const leftOut = countMembers(sets.filter((set) => set.leftOut !== undefined));
  const inactive = countMembers(sets.filter((set) => set.leftOut === leftOutCodes.inactive));
  const [broadcast] = yield* run<{ readonly audience_id: number }>(
    `update deskbell.broadcasts set audience = audience + :rows, inactive = inactive + :inactive
     where id = :broadcastId and state = 'paused' returning audience_id`,
    { ...id, rows: rows - leftOut, inactive },
  );
  if (broadcast === undefined) return false;
  yield* insertSets(broadcast.audience_id, number, sets);
  yield* run(
    `insert into deskbell.slices (broadcast_id, number, cursor, through_position)
     select :broadcastId, number, first_id - 1, last_id from deskbell.audience_sets
     where audience_id = :audienceId and number >= :number and left_out = 0`,
    { ...id, audienceId: broadcast.audience_id, number },
  );
  if (isSplit) yield* noteGroups(broadcastId, number, sets, database);
  if (!isLast) return true;
  if (isSplit) yield* endSplit(broadcastId, broadcast.audience_id);
  yield* run('delete from deskbell.preparations where broadcast_id = :broadcastId', id);
  // a broadcast without recipients is done at once
  yield* run(
    `update deskbell.broadcasts set
       state = case when audience = 0 then 'done' else 'running' end,
       finished_at_ms = case when audience = 0 then cast(:nowMs as bigint) end
     where id = :broadcastId`,
    { ...id, nowMs },
  );
  return false;
}

/**
 * Stores the result of a split: when each slice may be sent, how many readers get each text, and when the message
 * expires for the last reader.
 */
function* noteGroups(
  broadcastId: number,
  firstNumber: number,
  sets: readonly PreparedSet[],
  database: PortableDatabase,
): Work<void> {
  const recipients = new Map<string, number>();
  const numbers = new Map<number, number[]>();
  let expiresAtMs = 0;
  for (const [index, { language, time, ids }] of sets.entries()) {
    if (language !== undefined) recipients.set(language, (recipients.get(language) ?? 0) + ids.length);
    if (time === undefined) continue;
    expiresAtMs = Math.max(expiresAtMs, time.expiresAtMs);
    numbers.set(time.fromMs, [...(numbers.get(time.fromMs) ?? []), firstNumber + index]);
  }
  for (const [fromMs, some] of numbers) {
    yield* run(
      `update deskbell.slices set lease_until_ms = :fromMs
       where broadcast_id = :broadcastId and ${database.isOneOf('number', 'some')}`,
      { broadcastId, fromMs, some },
    );
  }
  for (const [language, rows] of recipients) {
    yield* run(
      `update deskbell.broadcast_texts set recipients = recipients + :rows
       where broadcast_id = :broadcastId and language = :language`,
      { broadcastId, language, rows },
    );
  }
  yield* run(
    `update deskbell.broadcasts set expires_at_ms = :expiresAtMs
     where id = :broadcastId and expires_at_ms < :expiresAtMs`,
    { broadcastId, expiresAtMs },
  );
}

/** Ends the split of an audience: the broadcast and its receipts begin with the first readers. Deletes the old sets. */
function* endSplit(broadcastId: number, audienceId: number): Work<void> {
  const first = '(select min(lease_until_ms) from deskbell.slices where broadcast_id = :broadcastId)';
  yield* run(
    `update deskbell.broadcasts set start_at_ms = ${first} where id = :broadcastId and start_at_ms < ${first}`,
    { broadcastId },
  );
  yield* run(
    `update deskbell.receipt_windows set ends_at_ms = b.start_at_ms + ${receiptWindowMs}
     from deskbell.broadcasts b where b.id = :broadcastId and receipt_windows.broadcast_id = b.id`,
    { broadcastId },
  );
  yield* run(
    `delete from deskbell.audience_sets where audience_id = :audienceId and left_out = 0 and not exists (
       select 1 from deskbell.slices s where s.broadcast_id = :broadcastId and s.number = audience_sets.number)`,
    { broadcastId, audienceId },
  );
}

/** @param firstNumber the number of the first set; the other numbers follow it. Existing sets are kept. */
function* insertSets(audienceId: number, firstNumber: number, sets: readonly PreparedSet[]): Work<void> {
  for (const [index, set] of sets.entries()) {
    const { partition, ids, language, timeZone, leftOut = 0 } = set;
    yield* run(
      `insert into deskbell.audience_sets
         (audience_id, number, in_partition, first_id, last_id, rows, ids, language, time_zone, left_out)
       values (:audienceId, :number, :partition, :firstId, :lastId, :rows, :ids, :language, :timeZone, :leftOut)
       on conflict do nothing`,
      {
        audienceId,
        number: firstNumber + index,
        partition,
        firstId: ids[0]!,
        lastId: ids.at(-1)!,
        rows: ids.length,
        ids: encodeIds(ids),
        language,
        timeZone,
        leftOut,
      },
    );
  }
}
