// Which rows a broadcast is for, and in which slices. Ids are given out before their rows are committed; so the highest id
// is taken at a moment when no registration is open. From then on nothing appears up to it, and what is counted is what is
// sent to, however long it takes to cut it into slices. What is deleted from then on counts as removed.
import type { NewBroadcast } from '../broadcasts.ts';
import { cutSlices, maxSlices, type Extent, type Slice } from '../slices.ts';
import { partitions } from './migrations.ts';
import type { PostgresDatabase } from './database.ts';

export interface SlicedAudience {
  readonly rows: number;
  /** As in the table of broadcasts. Rows of sets are in "all". */
  readonly rowsIn: 'list' | 'partition' | 'all';
  /** Those of sets are not among them. */
  readonly slices: readonly (Slice & { readonly number: number })[];
  /** The last removal of a subscription that is not in it; absent if its members are known by themselves. */
  readonly removalsAfter?: number | undefined;
  readonly preparation?: { readonly sliceRows: number; readonly throughId?: number } | undefined;
}

interface FrozenRow {
  readonly last_id: number;
  readonly removals_after: number;
  readonly rows: number;
}

interface ExtentRow {
  readonly first: number | null;
  readonly last: number | null;
}

/** @param functions the schema of the database's functions */
export async function sliceAudience(
  database: PostgresDatabase,
  functions: string,
  { audienceId, matching, split, sliceRows }: NewBroadcast,
): Promise<SlicedAudience> {
  if (matching === undefined && split !== undefined)
    return { rows: 0, rowsIn: 'all', slices: [], preparation: { sliceRows } };
  if (audienceId !== undefined && matching === undefined) return sliceList(database, audienceId, sliceRows);
  const frozen = await database.first<FrozenRow>(`select * from ${functions}.freeze_subscriptions()`);
  const { last_id: lastId = 0, rows = 0, removals_after: removalsAfter = 0 } = frozen ?? {};
  if (matching !== undefined) {
    const preparation = { sliceRows: Math.max(sliceRows, Math.ceil(rows / maxSlices)), throughId: lastId };
    return { rows: 0, rowsIn: 'all', slices: [], preparation, removalsAfter };
  }
  const found = await database.query<ExtentRow>(selectExtents, [lastId]);
  if (rows < partitions * sliceRows) {
    // so few that a slice of one partition would be short: each reads from all of them
    const slices = numbered(cutFrozen(toExtent(join(found), lastId, rows), lastId, sliceRows));
    return { rows, rowsIn: 'all', slices, removalsAfter };
  }
  const max = Math.floor(maxSlices / partitions);
  const extents = found.map((row) => toExtent(row, lastId, Math.ceil(rows / partitions)));
  const slices = extents.flatMap((extent, partition) =>
    cutFrozen(extent, lastId, sliceRows, max).map((slice, index) => ({
      ...slice,
      number: index * partitions + partition,
    })),
  );
  return { rows, rowsIn: 'partition', slices, removalsAfter };
}

async function sliceList(
  database: PostgresDatabase,
  audienceId: number,
  sliceRows: number,
): Promise<SlicedAudience> {
  const list = await database.first<{ readonly members: number; readonly has_sets: boolean }>(
    `select members, exists (select from deskbell.audience_sets s where s.audience_id = a.id) as has_sets
     from deskbell.audiences a where id = $1`,
    [audienceId],
  );
  const { members: rows = 0, has_sets: hasSets = false } = list ?? {};
  if (hasSets) return { rows, rowsIn: 'all', slices: [] };
  const extent = { rows, firstPosition: 1, lastPosition: rows };
  return { rows, rowsIn: 'list', slices: numbered(cutSlices(extent, sliceRows)) };
}

/** Ends of indexes: subscriptions are spread evenly, so that nobody needs to count them. */
const selectExtents = Array.from(
  { length: partitions },
  (_, number) =>
    `select ${number} as number, min(id) as first, max(id) as last
     from deskbell.subscriptions_${number} where id <= $1::bigint`,
)
  .join(' union all ')
  .concat(' order by number');

/** Where nothing is left by now of what was frozen, its end stands for it. */
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

/** Of what was frozen, all has a place in a slice, also what is removed by now: it is counted there. */
const cutFrozen = (extent: Extent, lastId: number, sliceRows: number, max?: number): readonly Slice[] =>
  cutSlices(extent, sliceRows, max).map((slice, index, { length }) => ({
    afterPosition: index === 0 ? 0 : slice.afterPosition,
    throughPosition: index === length - 1 ? lastId : slice.throughPosition,
  }));

const numbered = (slices: readonly Slice[]) => slices.map((slice, number) => ({ ...slice, number }));
