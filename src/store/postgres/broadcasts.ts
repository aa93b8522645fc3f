// Audiences of broadcasts in PostgreSQL. Each set of members has ids from one partition, so that its rows are found in a
// single index. But if a search finds few members, its set has ids from any partition.
import type { AudienceExpression } from '../../audience/user-and-tags.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hashEndpoint, normalizeEndpoint } from '../../protocol/endpoint.ts';
import {
  type BroadcastWriter,
  type FrozenSubscriptions,
  numbered,
  type SlicedRows,
} from '../broadcast-control.ts';
import {
  countMembers,
  cutSet,
  cutSlices,
  type Extent,
  joinIds,
  maxSlices,
  type MemberSet,
  type Slice,
} from '../slices.ts';
import type { PostgresDatabase, Value } from './database.ts';
import { partitions } from './migrations.ts';

// Determines the rows of a broadcast and its slices. Ids are assigned before their rows are committed. So the highest
// id is read while no registration is open: no lower id can be added later. Rows deleted later count as removed.
interface ExtentRow {
  readonly first: number | null;
  readonly last: number | null;
}

/** Divides the audience of a broadcast to all subscriptions into slices. */
async function sliceAll(
  database: PostgresDatabase,
  { rows, lastId }: FrozenSubscriptions,
  sliceRows: number,
): Promise<SlicedRows> {
  const found = await database.query<ExtentRow>(selectExtents, [lastId]);
  if (rows < partitions * sliceRows) {
    // slices of a single partition would be short, so each slice reads from all partitions
    const slices = cutFrozen(toExtent(join(found), lastId, rows), lastId, sliceRows);
    return { rowsIn: 'all', slices: numbered(slices) };
  }
  const max = Math.floor(maxSlices / partitions);
  const extents = found.map((row) => toExtent(row, lastId, Math.ceil(rows / partitions)));
  const slices = extents.flatMap((extent, partition) =>
    cutFrozen(extent, lastId, sliceRows, max).map((slice, index) => ({
      ...slice,
      number: index * partitions + partition,
    })),
  );
  return { rowsIn: 'partition', slices };
}

/** Reads only the ends of indexes. Subscriptions are spread evenly over the partitions, so counting is unnecessary. */
const selectExtents = Array.from(
  { length: partitions },
  (_, number) =>
    `select ${number} as number, min(id) as first, max(id) as last
     from deskbell.subscriptions_${number} where id <= $1::bigint`,
)
  .join(' union all ')
  .concat(' order by number');

/** If there are no frozen rows, the extent begins and ends at `lastId`. */
const toExtent = ({ first, last }: ExtentRow, lastId: number, rows: number): Extent => ({
  rows,
  firstPosition: first ?? lastId,
  lastPosition: last ?? lastId,
});

function join(rows: readonly ExtentRow[]): ExtentRow {
  const firsts = rows.flatMap(({ first }) => first ?? []);
  const lasts = rows.flatMap(({ last }) => last ?? []);
  return firsts.length === 0
    ? { first: null, last: null }
    : { first: Math.min(...firsts), last: Math.max(...lasts) };
}

/** Every frozen row belongs to a slice and is counted there, even if it has been removed since. */
const cutFrozen = (extent: Extent, lastId: number, sliceRows: number, max?: number): readonly Slice[] =>
  cutSlices(extent, sliceRows, max).map((slice, index, { length }) => ({
    afterPosition: index === 0 ? 0 : slice.afterPosition,
    throughPosition: index === length - 1 ? lastId : slice.throughPosition,
  }));

/**
 * Converts an expression of users and tags to SQL.
 *
 * @param first number of the first free parameter
 * @returns a condition for subscriptions `s`
 */
export function audienceCondition(
  { user, tags: { all = [], any = [], none = [] } = {} }: AudienceExpression,
  first: number,
): { readonly condition: string; readonly values: readonly Value[] } {
  const values: Value[] = [];
  const parameter = (value: Value): string => `$${first - 1 + values.push(value)}`;
  const parts = ['true'];
  if (user !== undefined) parts.push(`s.user_name = ${parameter(user)}`);
  if (all.length > 0) parts.push(`s.tags @> ${parameter(all)}::text[]`);
  if (any.length > 0) parts.push(`s.tags && ${parameter(any)}::text[]`);
  if (none.length > 0) parts.push(`coalesce(not s.tags && ${parameter(none)}::text[], true)`);
  return { condition: parts.join(' and '), values };
}

/** Ids of one partition, separated by commas. */
interface PartitionRow {
  readonly partition: number;
  readonly ids: string;
}

/** Slices with fewer rows are not worth leasing, because looking up their ids in all partitions costs about as much. */
const minRowsOfPartition = 128;
const isForPartitions = (rows: number, sliceRows: number): boolean =>
  rows >= partitions * Math.min(sliceRows / 2, minRowsOfPartition);

/**
 * The range of ids to search doubles while few members are found, up to this many times the number of wanted members.
 * Searching the longest range takes a second.
 */
const maxGrowth = 32;
/** Number of ids to look up in one statement, which may read the whole table for them. */
const lookUpAtOnce = 500_000;

const partitionsOf = `select substring(tableoid::regclass::text from '\\d+$')::int as partition,
  string_agg(id::text, ',' order by id) as ids`;

export function createPostgresBroadcasts(database: PostgresDatabase): BroadcastWriter {
  return {
    // one slice is enough, because each search covers all partitions
    slicesToSplit: 1,

    joinSets: (sets, sliceRows) => {
      const byPartition = Map.groupBy(sets, ({ partition }) => partition);
      const joined = [...byPartition].map(([partition, some]) => ({ partition, ids: joinIds(some) }));
      return cut(joined, sliceRows);
    },

    findMatching: async (expression, { afterId, throughId: lastId, width: given, sliceRows }) => {
      const wanted = partitions * sliceRows;
      const width = Math.max(given, sliceRows);
      // a person has few subscriptions, which an index finds
      const throughId = expression.user === undefined ? Math.min(lastId, afterId + width) : lastId;
      const { condition, values } = audienceCondition(expression, 3);
      const rows = await database.query<PartitionRow>(
        `${partitionsOf} from (
           select s.tableoid, s.id from deskbell.subscriptions s where s.id > $1 and s.id <= $2 and ${condition}) s
         group by tableoid`,
        [afterId, throughId, ...values],
      );
      const sets = cut(rows.map(toSet), sliceRows);
      return { sets, throughId, width: nextWidth(width, sets, wanted) };
    },

    cutSets: async (ids, sliceRows) => {
      if (!isForPartitions(ids.length, sliceRows)) return cutSet({ ids }, sliceRows);
      const sets: MemberSet[] = [];
      for (let first = 0; first < ids.length; first += lookUpAtOnce) {
        const some = ids.slice(first, first + lookUpAtOnce);
        const rows = await database.query<PartitionRow>(
          `${partitionsOf} from (
             select s.tableoid, s.id from unnest($1::bigint[]) as given (id) join deskbell.subscriptions s using (id)) s
           group by tableoid`,
          [`{${some.join(',')}}`],
        );
        const stored = new Set(rows.flatMap((row) => row.ids.split(',').map(Number)));
        // ids that are not stored count as removed, so any partition will do
        const others = { partition: 0, ids: some.filter((id) => !stored.has(id)) };
        sets.push(...cut(rows.map(toSet), sliceRows), ...cutSet(others, sliceRows));
      }
      return sets;
    },

    addToAudience: async (audienceId, members) => {
      const [isKnown] = await database.call<{ readonly result: boolean }>('add_members', [
        audienceId,
        members.map(({ endpoint }) => hashEndpoint(endpoint)),
        members.map(({ endpoint }) => normalizeEndpoint(endpoint)),
        members.map(({ p256dh }) => Buffer.from(p256dh)),
        members.map(({ auth }) => Buffer.from(auth)),
      ]);
      if (isKnown?.result === true) return;
      throw new DeskbellError('ERR_FIELD_VALUE', `There is no list of recipients ${audienceId}.`);
    },

    freeze: async () => {
      const frozen = await database.first<FrozenSubscriptions>(
        `select rows, last_id as "lastId", removals_after as "removalsAfter"
         from ${database.functions}.freeze_subscriptions()`,
      );
      return frozen!;
    },

    sliceAll: (frozen, sliceRows) => sliceAll(database, frozen, sliceRows),
  };
}

const toSet = ({ partition, ids }: PartitionRow): MemberSet => ({
  partition,
  ids: ids.split(',').map(Number),
});

/**
 * @param byPartition one set for each partition
 * @returns sets of one partition each or, if few members were found, sets that mix partitions
 */
const cut = (byPartition: readonly MemberSet[], sliceRows: number): readonly MemberSet[] => {
  const isOfPartitions = byPartition.every(({ partition }) => partition !== undefined);
  return isOfPartitions && isForPartitions(countMembers(byPartition), sliceRows)
    ? byPartition.flatMap((set) => cutSet(set, sliceRows))
    : cutSet({ ids: joinIds(byPartition) }, sliceRows);
};

/** @param wanted how many members to find at once */
function nextWidth(width: number, sets: readonly MemberSet[], wanted: number): number {
  const found = countMembers(sets);
  if (found < wanted / 2) return Math.min(2 * width, maxGrowth * wanted);
  return found > 2 * wanted ? Math.ceil((width * wanted) / found) : width;
}
