import { DeskbellError } from '../errors/deskbell-error.ts';
import type { BroadcastReader } from './broadcast-reader.ts';
import {
  isPrepared,
  repeatBroadcast,
  toSourceColumns,
  type Broadcast,
  type BroadcastState,
  type BroadcastStore,
  type NewBroadcast,
} from './broadcasts.ts';
import { toOptionRow } from './delivery-options.ts';
import { judgeBroadcast } from './finish-broadcast.ts';
import {
  changeRows,
  changesAny,
  run,
  type PortableDatabase,
  type PortableValues,
  type Work,
} from './portable-sql.ts';
import { createPreparations, type MemberFinder } from './preparations.ts';
import { receiptWindowMs } from './receipts.ts';
import { cutSlices, maxSlices, type Slice } from './slices.ts';

/** The subscriptions at one moment. Ids up to `lastId` are never added later. Rows deleted later count as removed. */
export interface FrozenSubscriptions {
  readonly rows: number;
  readonly lastId: number;
  readonly removalsAfter: number;
}

/** The slices of an audience. There are none if the audience is stored as sets. */
export interface SlicedRows {
  /** The value for the column `rows_in` of broadcasts: `all` if the rows are in sets. */
  readonly rowsIn: 'list' | 'partition' | 'all';
  readonly slices: readonly (Slice & { readonly number: number })[];
}

/** Functions that each database implements itself. */
export interface BroadcastWriter extends Pick<BroadcastStore, 'addToAudience'>, MemberFinder {
  freeze(): Promise<FrozenSubscriptions>;
  sliceAll(frozen: FrozenSubscriptions, sliceRows: number): Promise<SlicedRows>;
}

export const numbered = (slices: readonly Slice[]): SlicedRows['slices'] =>
  slices.map((slice, number) => ({ ...slice, number }));

export function createBroadcasts(
  database: PortableDatabase,
  reader: BroadcastReader,
  { freeze, sliceAll, addToAudience, ...finder }: BroadcastWriter,
): BroadcastStore {
  /** @throws {DeskbellError} ERR_IDEMPOTENCY_KEY */
  const findExisting = async ({ idempotencyKey, contentHash }: NewBroadcast) => {
    const stored = idempotencyKey === undefined ? undefined : await reader.findByKey(idempotencyKey);
    return stored && repeatBroadcast(stored, contentHash);
  };

  const slice = async ({ audienceId, matching, split, sliceRows }: NewBroadcast): Promise<SlicedAudience> => {
    if (matching === undefined && (audienceId !== undefined || split !== undefined))
      return sliceList(database, audienceId, sliceRows);
    const frozen = await freeze();
    if (matching === undefined) return { ...frozen, ...(await sliceAll(frozen, sliceRows)) };
    return {
      ...frozen,
      rowsIn: 'all',
      slices: [],
      preparedRows: Math.max(sliceRows, Math.ceil(frozen.rows / maxSlices)),
    };
  };

  const create = async (draft: NewBroadcast): ReturnType<BroadcastStore['create']> => {
    const existing = await findExisting(draft);
    if (existing !== undefined) return existing;
    const audience = await slice(draft);
    const id = await database.transaction(() => insertBroadcast(database, draft, audience));
    if (id !== undefined) return { broadcast: await reader.get(id), isNew: true };
    // another process has just stored a broadcast with this key
    const other = await findExisting(draft);
    if (other === undefined) throw new Error('The broadcast was not stored.');
    return other;
  };

  const change = async (
    id: number,
    to: BroadcastState,
    from: readonly BroadcastState[],
  ): Promise<Broadcast> => {
    const changed = await database.transaction(function* () {
      // first, as `prepare` does, to prevent deadlocks
      if (to === 'cancelled')
        yield* run('delete from deskbell.preparations where broadcast_id = :id', { id });
      return yield* changeRows(
        `update deskbell.broadcasts set state = :to,
           finished_at_ms = case when :to = 'cancelled' then :nowMs else finished_at_ms end
         where id = :id and finished_at_ms is null and state in (${from.map((state) => `'${state}'`).join(', ')})`,
        { id, to, nowMs: database.now() },
      );
    });
    const broadcast = await reader.get(id);
    if (changed > 0 || broadcast.state === to) return broadcast;
    throw new DeskbellError(
      'ERR_BROADCAST_STATE',
      `Broadcast ${id} is ${broadcast.state}; only one that is ${from.join(' or ')} can become ${to}.`,
    );
  };

  /** @returns false if the broadcast's audience is complete */
  const pausePreparation = (id: number, isPaused: number): Promise<boolean> =>
    changesAny(
      database,
      `update deskbell.preparations set is_paused = :isPaused where broadcast_id = :id
         and exists (select 1 from deskbell.broadcasts b where b.id = :id and b.state = 'paused')`,
      { id, isPaused },
    );

  return {
    openAudience: async () => {
      const [row] = await database.writeOnce<{ readonly id: number }>(
        'insert into deskbell.audiences (created_at_ms) values (:nowMs) returning id',
        { nowMs: database.now() },
      );
      return row!.id;
    },
    addToAudience,
    ...createPreparations(database, finder),
    ...reader,
    create,
    pause: async (id) =>
      (await pausePreparation(id, 1)) ? reader.get(id) : change(id, 'paused', ['running']),
    resume: async (id) =>
      (await pausePreparation(id, 0)) ? reader.get(id) : change(id, 'running', ['paused']),
    cancel: async (id) => {
      await change(id, 'cancelled', ['running', 'paused']);
      // if the process ends before the rest is done, retention deletes the remaining rows
      await database.background(() => judgeBroadcast(database, id));
      // leave the rows that workers currently hold: the workers settle them
      for (const [table, key] of [
        ['retries', 'position'],
        ['slices', 'number'],
      ]) {
        await database.writeInBatches(
          `delete from deskbell.${table} where broadcast_id = :id and ${key} in (
             select ${key} from deskbell.${table} where broadcast_id = :id and token is null limit :batchRows)`,
          { id },
        );
      }
      return reader.get(id);
    },
  };
}

interface SlicedAudience extends SlicedRows, Omit<FrozenSubscriptions, 'lastId'> {
  /** The last subscription id to search during preparation. Absent if preparation only splits a list's stored sets. */
  readonly lastId?: number;
  /** Default: the broadcast's `sliceRows`. */
  readonly preparedRows?: number;
}

/** Cuts a list into slices. Also reads the id of the latest removal: the broadcast does not need older removals. */
async function sliceList(
  database: PortableDatabase,
  audienceId: number | undefined,
  sliceRows: number,
): Promise<SlicedAudience> {
  const [list] = await database.read<{
    readonly members: number | null;
    readonly has_sets: number | boolean;
    readonly removals_after: number;
  }>(
    `select (select members from deskbell.audiences where id = :audienceId) as members,
       exists (select 1 from deskbell.audience_sets where audience_id = :audienceId) as has_sets,
       (select coalesce(max(id), 0) from deskbell.removals) as removals_after`,
    { audienceId },
  );
  const { members, has_sets: hasSets, removals_after: removalsAfter } = list!;
  const rows = members ?? 0;
  if (hasSets) return { rows, rowsIn: 'all', slices: [], removalsAfter };
  const slices = cutSlices({ rows, firstPosition: 1, lastPosition: rows }, sliceRows);
  return { rows, rowsIn: 'list', slices: numbered(slices), removalsAfter };
}

/** @returns the broadcast's id; undefined if another broadcast has the key */
function* insertBroadcast(
  database: PortableDatabase,
  draft: NewBroadcast,
  { rows, rowsIn, slices, removalsAfter, lastId, preparedRows = draft.sliceRows }: SlicedAudience,
): Work<number | undefined> {
  const nowMs = database.now();
  const startAtMs = Math.trunc(draft.startAtMs);
  const isToPrepare = isPrepared(draft);
  const isOver = !isToPrepare && rows === 0;
  const columns: PortableValues = {
    idempotency_key: draft.idempotencyKey,
    content_hash: draft.contentHash,
    payload: draft.payload,
    ...toOptionRow(draft),
    // a broadcast without recipients is done at once; one that must be prepared waits
    state: isToPrepare ? 'paused' : isOver ? 'done' : 'running',
    finished_at_ms: isOver ? nowMs : null,
    audience_id: draft.audienceId,
    user_name: draft.user,
    ...toSourceColumns(draft),
    rows_in: isToPrepare ? 'all' : rowsIn,
    audience: isToPrepare ? 0 : rows,
    removals_after: removalsAfter,
    created_at_ms: nowMs,
    start_at_ms: startAtMs,
    expires_at_ms: Math.trunc(draft.expiresAtMs),
    receipt_actions: draft.receiptActions && JSON.stringify(draft.receiptActions),
    has_texts: Number(draft.texts !== undefined),
    has_placeholders: Number(draft.hasPlaceholders ?? false),
  };
  const names = Object.keys(columns);
  const [made] = yield* run<{ readonly id: number }>(
    `insert into deskbell.broadcasts (${names.join(', ')}) values (${names.map((name) => `:${name}`).join(', ')})
     on conflict (idempotency_key) do nothing returning id`,
    columns,
  );
  if (made === undefined) return undefined;
  const { id } = made;
  for (const [language, payload] of draft.texts ?? []) {
    yield* run(
      'insert into deskbell.broadcast_texts (broadcast_id, language, payload) values (:id, :language, :payload)',
      { id, language, payload },
    );
  }
  if (draft.receiptActions !== undefined) {
    yield* run('insert into deskbell.receipt_windows (broadcast_id, ends_at_ms) values (:id, :endsAtMs)', {
      id,
      endsAtMs: Math.max(startAtMs, nowMs) + receiptWindowMs,
    });
  }
  const { audienceId } = draft;
  if (isToPrepare) {
    yield* run(
      `insert into deskbell.preparations (broadcast_id, expression, split, slice_rows, through_id, width, next_number)
       select :id, :expression, :split, :preparedRows, coalesce(cast(:lastId as bigint), s.next), :width, s.next
       from (select coalesce(max(number) + 1, 0) as next from deskbell.audience_sets where audience_id = :audienceId) s`,
      {
        id,
        expression: JSON.stringify(draft.matching ?? null),
        split: draft.split && JSON.stringify(draft.split),
        preparedRows,
        lastId,
        width: preparedRows * firstLook,
        audienceId,
      },
    );
    return id;
  }
  // insert sorted by number, so that slices that are leased one after another share database pages
  yield* run(
    `insert into deskbell.slices (broadcast_id, number, cursor, through_position)
     select cast(:id as bigint), cast(value ->> 0 as int), cast(value ->> 1 as bigint), cast(value ->> 2 as bigint)
     from ${database.elementsOf('slices')}
     union all
     select cast(:id as bigint), number, first_id - 1, last_id from deskbell.audience_sets where audience_id = :audienceId
     order by 2`,
    {
      id,
      slices: JSON.stringify(
        slices.map(({ number, afterPosition, throughPosition }) => [number, afterPosition, throughPosition]),
      ),
      audienceId,
    },
  );
  return id;
}

/** The first range to search is this many times as long as a slice. */
const firstLook = 32;
