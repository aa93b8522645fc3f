// Audiences of broadcasts in PostgreSQL.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hashEndpoint, normalizeEndpoint } from '../../protocol/endpoint.ts';
import {
  type BroadcastWriter,
  type FrozenSubscriptions,
  numbered,
  type SlicedRows,
} from '../broadcast-control.ts';
import { cutSlices, type Extent, maxSlices, type Slice } from '../slices.ts';
import type { PostgresDatabase } from './database.ts';
import { createMemberFinder } from './member-finder.ts';
import { partitions } from './migrations.ts';

// Determines the rows of a broadcast and its slices. Ids are assigned before their rows are committed. So the highest
// id is read while no registration is open: no lower id can be added later. Rows deleted later count as removed.
interface ExtentRow {
  readonly first: number | null;
  readonly last: number | null;
}

/** @returns slices of all frozen rows */
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

/** Without frozen rows, the extent is empty and lies at the end of the frozen range. */
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

export function createPostgresBroadcasts(database: PostgresDatabase): BroadcastWriter {
  return {
    ...createMemberFinder(database),

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
