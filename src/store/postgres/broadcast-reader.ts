// Puts broadcasts together from their rows, their counts per origin, their retries and their alarms: one statement.
import type { Alarm, Broadcast, BroadcastSummary, OriginCounts } from '../broadcasts.ts';
import type { ReceiptCount } from '../receipts.ts';
import { toBroadcast, toBroadcastSummary, type BroadcastRow } from '../rows/broadcast-row.ts';
import type { PostgresDatabase } from './database.ts';

export interface BroadcastReader {
  find(id: number): Promise<Broadcast | undefined>;
  /** Newest first, with `id < beforeId`. */
  list(beforeId: number, limit: number): Promise<readonly Broadcast[]>;
  /** Newest first. */
  listOpen(limit: number): Promise<readonly Broadcast[]>;
  summaries(beforeId: number, limit: number): Promise<readonly BroadcastSummary[]>;
}

interface DetailedRow extends BroadcastRow {
  readonly origins: readonly OriginCounts[] | null;
  readonly alarms: readonly Alarm[] | null;
  readonly waiting: number;
  readonly held_back: Broadcast['heldBack'] | null;
  readonly receipts: readonly ReceiptCount[] | null;
}

const selectBroadcasts = `
  select b.id, b.idempotency_key, b.state, b.payload, b.ttl_seconds, b.urgency, b.topic, b.audience, b.created_at_ms,
         b.start_at_ms, b.expires_at_ms, b.finished_at_ms, b.expired_unread, b.receipt_actions, b.per_person,
    (select jsonb_agg(o order by o.origin) from (
      select origin, sum(attempts) as attempts, sum(accepted) as accepted, sum(gone) as gone,
             sum(rejected) as rejected, sum(expired) as expired, sum(exhausted) as exhausted,
             sum(capped) as capped
      from deskbell.origin_counts where broadcast_id = b.id group by origin) o) as origins,
    (select jsonb_agg(jsonb_build_object('origin', origin, 'reason', reason, 'detail', detail,
                                         'firstAtMs', first_at_ms, 'rows', rows) order by first_at_ms, origin, reason)
     from deskbell.alarms where broadcast_id = b.id) as alarms,
    case when b.state in ('running', 'paused') then
      (select coalesce(sum(rows), 0) from deskbell.waiting_rows where broadcast_id = b.id) else 0 end as waiting,
    case when b.state in ('running', 'paused') then
      (select jsonb_agg(h order by h.origin) from (
        select p.origin, sum(w.rows) as rows
        from deskbell.waiting_rows w join deskbell.push_services p on p.id = w.push_service_id
        where w.broadcast_id = b.id group by p.origin having sum(w.rows) > 0) h) end as held_back,
    case when b.receipt_actions is not null then
      (select jsonb_agg(c order by c.origin) from (
        select origin, event, action, sum(count) as count
        from deskbell.receipt_counts where broadcast_id = b.id group by origin, event, action) c) end as receipts
  from deskbell.broadcasts b
`;

export function createBroadcastReader(database: PostgresDatabase): BroadcastReader {
  return {
    find: async (id) => {
      const row = await database.first<DetailedRow>(`${selectBroadcasts} where b.id = $1`, [id]);
      return row && assemble(row);
    },
    list: async (beforeId, limit) => {
      const rows = await database.query<DetailedRow>(
        `${selectBroadcasts} where b.id < $1 order by b.id desc limit $2`,
        [beforeId, limit],
      );
      return rows.map(assemble);
    },
    listOpen: async (limit) => {
      const rows = await database.query<DetailedRow>(
        `${selectBroadcasts} where b.state in ('running', 'paused') order by b.id desc limit $1`,
        [limit],
      );
      return rows.map(assemble);
    },
    summaries: async (beforeId, limit) => {
      const rows = await database.query<Pick<BroadcastRow, 'id' | 'state' | 'start_at_ms' | 'payload'>>(
        'select id, state, start_at_ms, payload from deskbell.broadcasts where id < $1 order by id desc limit $2',
        [beforeId, limit],
      );
      return rows.map(toBroadcastSummary);
    },
  };
}

const assemble = (row: DetailedRow): Broadcast =>
  toBroadcast(row, {
    origins: row.origins ?? [],
    alarms: row.alarms ?? [],
    waiting: row.waiting,
    heldBack: row.held_back ?? [],
    receipts: row.receipts ?? [],
  });
