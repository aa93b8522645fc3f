// Puts a broadcast together from its row, its counts per origin, its retries and its alarms.
import {
  isOver,
  type Alarm,
  type Broadcast,
  type BroadcastSummary,
  type OriginCounts,
  type KeyedBroadcast,
} from '../broadcasts.ts';
import type { ReceiptCount } from '../receipts.ts';
import { toBroadcast, toBroadcastSummary, type BroadcastRow } from '../rows/broadcast-row.ts';
import type { SqliteDatabase } from './database.ts';

export interface BroadcastReader {
  find(id: number): Broadcast | undefined;
  findByKey(idempotencyKey: string): KeyedBroadcast | undefined;
  /** Newest first, with `id < beforeId`. */
  list(beforeId: number, limit: number): readonly Broadcast[];
  /** Newest first. */
  listOpen(limit: number): readonly Broadcast[];
  summaries(beforeId: number, limit: number): readonly BroadcastSummary[];
}

/** With what only finding by key needs. */
interface KeyedRow extends BroadcastRow {
  readonly content_hash: Uint8Array;
}

interface AlarmRow {
  readonly origin: string;
  readonly reason: string;
  readonly detail: string;
  readonly first_at_ms: number;
  readonly rows: number;
}

export function createBroadcastReader(database: SqliteDatabase): BroadcastReader {
  const byId = database.prepare<{ broadcastId: number }, BroadcastRow>(
    'select * from broadcasts where id = :broadcastId',
  );
  const byKey = database.prepare<{ key: string }, KeyedRow>(
    'select * from broadcasts where idempotency_key = :key',
  );
  const newest = database.prepare<{ beforeId: number; limit: number }, BroadcastRow>(
    'select * from broadcasts where id < :beforeId order by id desc limit :limit',
  );
  const open = database.prepare<{ limit: number }, BroadcastRow>(`
    select * from broadcasts where state in ('running', 'paused') order by id desc limit :limit
  `);
  const summaries = database.prepare<
    { beforeId: number; limit: number },
    Pick<BroadcastRow, 'id' | 'state' | 'start_at_ms' | 'payload'>
  >(`
    select id, state, start_at_ms, payload from broadcasts
    where id < :beforeId order by id desc limit :limit
  `);
  const origins = database.prepare<{ broadcastId: number }, OriginCounts>(
    'select * from broadcast_origins where broadcast_id = :broadcastId',
  );
  const alarms = database.prepare<{ broadcastId: number }, AlarmRow>(
    'select * from alarms where broadcast_id = :broadcastId order by first_at_ms',
  );
  const waiting = database.prepare<{ broadcastId: number }, { rows: number }>(
    'select coalesce(sum(rows), 0) as rows from waiting_rows where broadcast_id = :broadcastId',
  );
  const heldBack = database.prepare<{ broadcastId: number }, { origin: string; rows: number }>(`
    select p.origin, sum(w.rows) as rows
    from waiting_rows w join push_services p on p.id = w.push_service_id
    where w.broadcast_id = :broadcastId and w.rows > 0
    group by p.origin
  `);

  const receipts = database.prepare<{ broadcastId: number }, ReceiptCount>(
    'select origin, event, action, count from receipt_counts where broadcast_id = :broadcastId',
  );

  const assemble = (row: BroadcastRow): Broadcast => {
    const { id: broadcastId } = row;
    const isOpen = !isOver(row);
    return toBroadcast(row, {
      origins: origins.all({ broadcastId }).map(toOriginCounts),
      alarms: alarms.all({ broadcastId }).map(toAlarm),
      waiting: isOpen ? (waiting.first({ broadcastId })?.rows ?? 0) : 0,
      heldBack: isOpen ? heldBack.all({ broadcastId }).map(({ origin, rows }) => ({ origin, rows })) : [],
      receipts: row.receipt_actions === null ? [] : receipts.all({ broadcastId }),
    });
  };

  return {
    find: (broadcastId) => {
      const row = byId.first({ broadcastId });
      return row && assemble(row);
    },
    findByKey: (key) => {
      const row = byKey.first({ key });
      return row && { broadcast: assemble(row), contentHash: row.content_hash };
    },
    list: (beforeId, limit) => newest.all({ beforeId, limit }).map(assemble),
    listOpen: (limit) => open.all({ limit }).map(assemble),
    summaries: (beforeId, limit) => summaries.all({ beforeId, limit }).map(toBroadcastSummary),
  };
}

function toOriginCounts(row: OriginCounts): OriginCounts {
  const { origin, attempts, accepted, gone, rejected, expired, exhausted, capped } = row;
  return { origin, attempts, accepted, gone, rejected, expired, exhausted, capped };
}

function toAlarm({ origin, reason, detail, first_at_ms, rows }: AlarmRow): Alarm {
  return { origin, reason, detail, firstAtMs: first_at_ms, rows };
}
