// Reads broadcasts with their counts per origin, retries, alarms and receipts in one statement.
import {
  type Alarm,
  type Broadcast,
  type BroadcastState,
  type BroadcastStore,
  type KeyedBroadcast,
  type OpenBroadcasts,
  type OriginCounts,
  readCreator,
  readSourceColumns,
  settlements,
  type SourceColumns,
} from './broadcasts.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { readOptionRow, type StoredOptions } from './delivery-options.ts';
import { decodeIds } from './id-set.ts';
import { noOutcomes, outcomeColumns, sumColumns } from './statistics.ts';
import type { PortableDatabase, PortableValues } from './portable-sql.ts';
import { sumReceiptCounts, type ReceiptCount } from './receipts.ts';
import { reasonOf } from './split-audience.ts';

/** Number of broadcasts that one statement reads by id. */
const readTogether = 50;

type Control = 'create' | 'pause' | 'resume' | 'cancel';
type Preparation = 'openAudience' | 'addToAudience' | 'addIds' | 'prepare' | 'findUnprepared';

export type BroadcastReader = Omit<BroadcastStore, Control | Preparation> & {
  /** Like `get`, but without details that are only displayed and require reading each slice. */
  getForWork(id: number): Promise<Broadcast>;
};

/** The row also has the columns of the delivery options. */
interface BroadcastRow extends SourceColumns {
  readonly id: number;
  readonly idempotency_key: string | null;
  readonly content_hash: Uint8Array;
  readonly state: Exclude<BroadcastState, 'preparing'>;
  readonly is_preparing: number;
  readonly payload: Uint8Array;
  readonly audience: number;
  readonly skip_inactive: number | null;
  readonly inactive: number;
  readonly created_at_ms: number;
  readonly start_at_ms: number;
  readonly expires_at_ms: number;
  readonly finished_at_ms: number | null;
  readonly removed: number;
  /** Not null if receipts are requested. */
  readonly receipt_actions: string | null;
  readonly waiting: number;
  readonly to_retry: number;
  /** JSON; null if there is none. */
  readonly later: unknown;
  readonly next_try_at_ms: number | null;
  /** JSON, like `alarms`. */
  readonly origins: unknown;
  readonly alarms: unknown;
  readonly held_back: unknown;
  readonly receipts: unknown;
  /** Null if there are none. */
  readonly texts: unknown;
  readonly has_placeholders: number;
}

export function createBroadcastReader(database: PortableDatabase): BroadcastReader {
  const selectBroadcasts = selectOf(database, true);
  const selectForWork = selectOf(database, false);

  const toBroadcast = (row: BroadcastRow): Broadcast => {
    // PostgreSQL returns null if there are no rows
    const nowMs = database.now();
    const origins = database.readJson<readonly OriginCounts[] | null>(row.origins) ?? [];
    const receipts = database.readJson<readonly ReceiptCount[] | null>(row.receipts) ?? [];
    return {
      id: row.id,
      idempotencyKey: row.idempotency_key ?? undefined,
      ...stateOf(row, nowMs),
      payload: row.payload,
      ...(readOptionRow(row) as Pick<Broadcast, keyof StoredOptions>),
      createdAtMs: row.created_at_ms,
      startAtMs: row.start_at_ms,
      expiresAtMs: row.expires_at_ms,
      finishedAtMs: row.finished_at_ms ?? undefined,
      ...readSourceColumns(row),
      texts: row.texts === null ? undefined : database.readJson<Broadcast['texts']>(row.texts),
      hasPlaceholders: row.has_placeholders === 1 || undefined,
      recipients: row.audience,
      inactive: row.skip_inactive === null ? undefined : row.inactive,
      counts: countRows(row, origins),
      waiting: row.waiting,
      toRetry: row.to_retry,
      later: row.later === null ? undefined : toLater(database.readJson<Later>(row.later)),
      nextTryAtMs: (row.next_try_at_ms ?? 0) > nowMs ? row.next_try_at_ms! : undefined,
      heldBack: database.readJson<Broadcast['heldBack'] | null>(row.held_back) ?? [],
      origins,
      alarms: database.readJson<readonly Alarm[] | null>(row.alarms) ?? [],
      receipts: row.receipt_actions === null ? undefined : sumReceiptCounts(receipts),
    };
  };

  const read = (condition: string, values: PortableValues) =>
    database.read<BroadcastRow>(`${selectBroadcasts} where ${condition}`, {
      nowMs: database.now(),
      ...values,
    });

  const find = async (id: number): Promise<Broadcast | undefined> => {
    const [row] = await read('b.id = :id', { id });
    return row && toBroadcast(row);
  };

  return {
    texts: async (id) => {
      const rows = await database.read<{ readonly language: string; readonly payload: Uint8Array }>(
        'select language, payload from deskbell.broadcast_texts where broadcast_id = :id',
        { id },
      );
      return new Map(rows.map(({ language, payload }) => [language, payload]));
    },
    leftOut: async (id) => {
      const rows = await database.read<{ readonly code: number; readonly rows: number }>(
        `select s.left_out as code, sum(s.rows) as rows
         from deskbell.broadcasts b join deskbell.audience_sets s on s.audience_id = b.audience_id
         where b.id = :id and s.left_out > 0 group by 1 order by 1`,
        { id },
      );
      return Object.fromEntries(rows.map(({ code, rows: count }) => [reasonOf(code), Number(count)]));
    },
    timesToCome: async (id) => {
      const rows = await database.read<{
        readonly at_ms: number;
        readonly recipients: number;
        readonly time_zone: string;
      }>(
        `select s.lease_until_ms as at_ms, sum(a.rows) as recipients,
           coalesce(a.time_zone, b.time_zone, 'UTC') as time_zone
         from deskbell.slices s
         join deskbell.broadcasts b on b.id = s.broadcast_id
         join deskbell.audience_sets a on a.audience_id = b.audience_id and a.number = s.number
         where s.broadcast_id = :id and s.token is null and s.lease_until_ms > :nowMs
         group by 1, 3 order by 1, 3`,
        { id, nowMs: database.now() },
      );
      return [...Map.groupBy(rows, ({ at_ms }) => at_ms)].map(([atMs, zones]) => ({
        atMs,
        recipients: zones.reduce((sum, { recipients }) => sum + Number(recipients), 0),
        timeZones: zones.map(({ time_zone }) => time_zone),
      }));
    },
    find,
    findAll: async (ids) => {
      const found: Broadcast[] = [];
      const newestFirst = [...new Set(ids)].sort((one, other) => other - one);
      for (let first = 0; first < newestFirst.length; first += readTogether) {
        const some = newestFirst.slice(first, first + readTogether);
        const rows = await read(`${database.isOneOf('b.id', 'some')} order by b.id desc`, { some });
        found.push(...rows.map(toBroadcast));
      }
      return found;
    },
    get: async (id) => (await find(id)) ?? notFound(id),
    getForWork: async (id) => {
      const [row] = await database.read<BroadcastRow>(`${selectForWork} where b.id = :id`, { id });
      return row === undefined ? notFound(id) : toBroadcast(row);
    },
    findByKey: async (idempotencyKey): Promise<KeyedBroadcast | undefined> => {
      const [row] = await read('b.idempotency_key = :idempotencyKey', { idempotencyKey });
      return row && { broadcast: toBroadcast(row), contentHash: row.content_hash };
    },
    list: async ({ beforeId = Number.MAX_SAFE_INTEGER, limit }) => {
      const rows = await read('b.id < :beforeId order by b.id desc limit :limit', { beforeId, limit });
      return rows.map(toBroadcast);
    },
    listedIds: async (id, limit) => {
      const sets = await database.read<{ readonly ids: Uint8Array }>(
        `select s.ids from deskbell.broadcasts b join deskbell.audiences a on a.id = b.audience_id
         join deskbell.audience_sets s on s.audience_id = a.id
         where b.id = :id and a.members <= :limit and s.rows > 0`,
        { id, limit },
      );
      const ids = sets.flatMap((set) => decodeIds(set.ids));
      return ids.length === 0 ? undefined : ids.toSorted((one, other) => one - other);
    },
    countOpen: async () => {
      // write the condition exactly as in the index
      const [row] = await database.read<OpenBroadcasts>(
        `select (select count(*) from deskbell.preparations where is_paused = 0) as preparing,
           count(*) filter (where state = 'running' and finished_at_ms is null and start_at_ms <= :nowMs) as running,
           count(*) filter (where state = 'running' and start_at_ms > :nowMs) as scheduled,
           count(*) filter (where state = 'paused' and finished_at_ms is null) as paused
         from deskbell.broadcasts where state = 'running' or state = 'paused'`,
        { nowMs: database.now() },
      );
      if (row === undefined) throw new Error('Open broadcasts were not counted.');
      // a broadcast that is being prepared is stored as paused
      return { ...row, paused: row.paused - row.preparing };
    },
    listOpen: async (limit) => {
      const rows = await read(`${isOpen} order by b.id desc limit :limit`, { limit });
      return rows.map(toBroadcast);
    },
    summaries: async ({ beforeId = Number.MAX_SAFE_INTEGER, limit, operatorId }) => {
      const isOwn = `and exists (select 1 from deskbell.operator_broadcasts o
        where o.broadcast_id = b.id and o.operator_id = :operatorId)`;
      const rows = await database.read<
        Pick<
          BroadcastRow,
          'id' | 'state' | 'finished_at_ms' | 'is_preparing' | 'start_at_ms' | 'payload' | 'created_by'
        >
      >(
        `select id, state, finished_at_ms, start_at_ms, payload, created_by, ${isPreparing} from deskbell.broadcasts b
         where id < :beforeId ${operatorId === undefined ? '' : isOwn} order by id desc limit :limit`,
        { beforeId, limit, ...(operatorId !== undefined && { operatorId }) },
      );
      return rows.map((row) => ({
        id: row.id,
        ...stateOf(row, database.now()),
        startAtMs: row.start_at_ms,
        payload: row.payload,
        createdBy: readCreator(row.created_by),
      }));
    },
  };
}

/** Whether broadcast `b` is being prepared. */
const isPreparing = `case when b.state = 'paused' and exists (
  select 1 from deskbell.preparations p where p.broadcast_id = b.id and p.is_paused = 0) then 1 else 0 end as is_preparing`;

/** True if broadcast `b` is open. An ended broadcast with `dormant` rows is stored as running or paused. */
const isOpen = "(b.state in ('running', 'paused') and b.finished_at_ms is null)";

function stateOf(
  row: Pick<BroadcastRow, 'state' | 'finished_at_ms' | 'is_preparing' | 'start_at_ms'>,
  nowMs: number,
): Pick<Broadcast, 'state' | 'isScheduled'> {
  if (row.finished_at_ms !== null && row.state !== 'cancelled') return { state: 'done' };
  const isScheduled = row.state === 'running' && row.start_at_ms > nowMs;
  return {
    state: row.is_preparing === 1 ? 'preparing' : row.state,
    ...(isScheduled && { isScheduled }),
  };
}

function notFound(id: number): never {
  throw new DeskbellError('ERR_BROADCAST_NOT_FOUND', `There is no broadcast ${id}.`);
}

interface Later {
  readonly rows: number | null;
  readonly atMs: number | null;
}

const toLater = ({ rows, atMs }: Later): Broadcast['later'] =>
  rows === null || atMs === null ? undefined : { rows, atMs };

/** Reads details, such as receipts, only if the broadcast can have any. */
function selectOf({ jsonArray, jsonObject }: PortableDatabase, withLater: boolean): string {
  const jsonOf = (members: readonly string[], orderedRows: string): string => {
    const pairs = members.map((name) => `'${name}', d."${name}"`).join(', ');
    return `(select ${jsonArray}(${jsonObject}(${pairs})) from (${orderedRows}) d)`;
  };
  const origins = jsonOf(
    ['origin', ...outcomeColumns],
    `select origin, ${sumColumns} from deskbell.origin_counts
     where broadcast_id = b.id group by origin order by origin`,
  );
  const alarms = jsonOf(
    ['origin', 'reason', 'detail', 'firstAtMs', 'rows'],
    `select origin, reason, detail, first_at_ms as "firstAtMs", rows
     from deskbell.alarms where broadcast_id = b.id order by first_at_ms, origin, reason`,
  );
  const heldBack = jsonOf(
    ['origin', 'rows'],
    `select p.origin, sum(w.rows) as rows
     from deskbell.waiting_rows w join deskbell.push_services p on p.id = w.push_service_id
     where w.broadcast_id = b.id group by p.origin having sum(w.rows) > 0 order by p.origin`,
  );
  const receipts = jsonOf(
    ['origin', 'event', 'action', 'count'],
    `select origin, event, action, sum(count) as count
     from deskbell.receipt_counts where broadcast_id = b.id group by origin, event, action
     order by origin`,
  );
  const texts = jsonOf(
    ['language', 'recipients'],
    'select language, recipients from deskbell.broadcast_texts where broadcast_id = b.id order by language',
  );
  const waiting =
    'select coalesce(sum(rows), 0) from deskbell.waiting_rows where broadcast_id = b.id and push_service_id > -2';
  const toRetry = `${waiting} and push_service_id = 0`;
  const removed = 'select coalesce(sum(rows), 0) from deskbell.removed_rows where broadcast_id = b.id';
  const later = `select ${jsonObject}('rows', sum(a.rows), 'atMs', min(s.lease_until_ms))
    from deskbell.slices s join deskbell.audience_sets a on a.audience_id = b.audience_id and a.number = s.number
    where s.broadcast_id = b.id and s.token is null and s.lease_until_ms > :nowMs`;
  const nextTry = 'select retries_at_ms from deskbell.work where broadcast_id = b.id';
  return `
    select b.*, ${isPreparing}, ${origins} as origins, ${alarms} as alarms, (${removed}) as removed,
      case when ${isOpen} then (${waiting}) else 0 end as waiting,
      case when ${isOpen} then (${toRetry}) else 0 end as to_retry,
      ${withLater ? `case when ${isOpen} and coalesce(b.local_time, b.quiet_hours) is not null then (${later}) end` : 'null'} as later,
      case when ${isOpen} then (${nextTry}) end as next_try_at_ms,
      case when ${isOpen} then ${heldBack} end as held_back,
      case when b.receipt_actions is not null then ${receipts} end as receipts,
      case when b.has_texts = 1 then ${texts} end as texts
    from deskbell.broadcasts b`;
}

function countRows(row: BroadcastRow, origins: Broadcast['origins']): Broadcast['counts'] {
  const { attempts: _, ...settled } = { ...noOutcomes };
  for (const origin of origins) for (const name of settlements) settled[name] += origin[name];
  const { removed } = row;
  const left = settlements.reduce((rest, name) => rest - settled[name], row.audience - removed);
  return {
    ...settled,
    pending: row.finished_at_ms === null ? left : 0,
    removed,
    cancelled: row.state === 'cancelled' ? left : 0,
    unaccounted: row.finished_at_ms !== null && row.state !== 'cancelled' ? left : 0,
  };
}
