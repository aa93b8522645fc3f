// Creates broadcasts in PostgreSQL, with their audiences.
import { randomUUID } from 'node:crypto';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hashEndpoint, normalizeEndpoint } from '../../protocol/endpoint.ts';
import type { BroadcastWriter } from '../broadcast-control.ts';
import { isPrepared, type NewBroadcast, toSourceColumns } from '../broadcasts.ts';
import { toOptionRow } from '../delivery-options.ts';
import { cutSlices, type Extent, maxSlices, type Slice } from '../slices.ts';
import { callFunction, type PostgresDatabase } from './database.ts';
import { createMemberFinder } from './member-finder.ts';
import { partitions } from './migrations.ts';

// Which rows a broadcast is for, and in which slices. Ids are given out before their rows are committed, so the highest id is read
// when no registration is open: no row up to it appears later, and what is deleted later counts as removed.
export interface SlicedAudience {
  readonly rows: number;
  /** The column of the broadcasts table. Rows of sets are in "all". */
  readonly rowsIn: 'list' | 'partition' | 'all';
  /** The slices, without those of sets. */
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
async function sliceAudience(
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

/** If nothing is left by now of what was frozen, its end stands for it. */
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

/** Every frozen row has a place in a slice, also one that was removed since: it is counted there. */
const cutFrozen = (extent: Extent, lastId: number, sliceRows: number, max?: number): readonly Slice[] =>
  cutSlices(extent, sliceRows, max).map((slice, index, { length }) => ({
    afterPosition: index === 0 ? 0 : slice.afterPosition,
    throughPosition: index === length - 1 ? lastId : slice.throughPosition,
  }));

const numbered = (slices: readonly Slice[]) => slices.map((slice, number) => ({ ...slice, number }));

/** @param functions the schema of the database's functions */
export function createPostgresBroadcasts(database: PostgresDatabase, functions: string): BroadcastWriter {
  const insert: BroadcastWriter['insert'] = async (draft) => {
    const { rows, rowsIn, slices, preparation, removalsAfter } = await sliceAudience(
      database,
      functions,
      draft,
    );
    const source = toSourceColumns(draft);
    const { call, values } = callFunction(`${functions}.create_broadcast`, {
      p_now_ms: database.now(),
      p_creation: randomUUID(),
      p_key: draft.idempotencyKey ?? null,
      p_hash: Buffer.from(draft.contentHash),
      p_payload: Buffer.from(draft.payload),
      p_options: JSON.stringify(toOptionRow(draft)),
      p_audience_id: draft.audienceId ?? null,
      p_user: draft.user ?? null,
      p_receipt_actions: draft.receiptActions === undefined ? null : JSON.stringify(draft.receiptActions),
      p_rows_in: rowsIn,
      p_audience: rows,
      p_start: Math.trunc(draft.startAtMs),
      p_expiry: Math.trunc(draft.expiresAtMs),
      numbers: slices.map(({ number }) => number),
      cursors: slices.map(({ afterPosition }) => afterPosition),
      throughs: slices.map(({ throughPosition }) => throughPosition),
      p_expression: isPrepared(draft) ? JSON.stringify(draft.matching ?? null) : null,
      p_split: draft.split === undefined ? null : JSON.stringify(draft.split),
      p_slice_rows: preparation?.sliceRows ?? null,
      p_through: preparation?.throughId ?? null,
      p_removals_after: removalsAfter ?? null,
      p_asked_audience: source.asked_audience,
      p_created_by: source.created_by,
      languages: [...(draft.texts?.keys() ?? [])],
      texts: [...(draft.texts?.values() ?? [])].map((text) => Buffer.from(text)),
      p_has_placeholders: Number(draft.hasPlaceholders ?? false),
    });
    const made = await database.first<{ readonly id: number; readonly is_new: boolean }>(
      `select * from ${call}`,
      values,
    );
    if (made === undefined) throw new Error('The broadcast was not stored.');
    return made.is_new ? made.id : undefined;
  };

  return {
    ...createMemberFinder(database),

    addToAudience: async (audienceId, members) => {
      const isKnown = await database.first<{ readonly is_known: boolean }>(
        `select ${functions}.add_members($1, $2, $3, $4, $5) as is_known`,
        [
          audienceId,
          members.map(({ endpoint }) => hashEndpoint(endpoint)),
          members.map(({ endpoint }) => normalizeEndpoint(endpoint)),
          members.map(({ p256dh }) => Buffer.from(p256dh)),
          members.map(({ auth }) => Buffer.from(auth)),
        ],
      );
      if (isKnown?.is_known === true) return;
      throw new DeskbellError('ERR_FIELD_VALUE', `There is no list of recipients ${audienceId}.`);
    },

    insert,
  };
}
