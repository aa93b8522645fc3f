// Puts a broadcast together from its row, its counts per origin, its retries and its alarms.
import type { DatabaseSync } from 'node:sqlite';
import type { Selectable } from 'kysely';
import type { Alarm, Broadcast, OriginCounts } from '../broadcast-store.ts';
import type { AlarmsTable, BroadcastOriginsTable, BroadcastsTable } from './schema.ts';
import { parameter, prepare, queries } from './statement.ts';

export interface BroadcastReader {
  find(id: number): Broadcast | undefined;
  findByKey(
    idempotencyKey: string,
  ): { readonly broadcast: Broadcast; readonly contentHash: Uint8Array } | undefined;
  /** Newest first, with `id < beforeId`. */
  list(beforeId: number, limit: number): readonly Broadcast[];
}

export function createBroadcastReader(database: DatabaseSync): BroadcastReader {
  const select = queries.selectFrom('broadcasts').selectAll();
  const ofBroadcast = parameter<number>('broadcastId');
  const byId = prepare(database, select.where('id', '=', ofBroadcast));
  const byKey = prepare(database, select.where('idempotency_key', '=', parameter<string>('key')));
  const newest = prepare(
    database,
    select
      .where('id', '<', parameter<number>('beforeId'))
      .orderBy('id', 'desc')
      .limit(parameter<number>('limit')),
  );
  const origins = prepare(
    database,
    queries.selectFrom('broadcast_origins').selectAll().where('broadcast_id', '=', ofBroadcast),
  );
  const alarms = prepare(
    database,
    queries.selectFrom('alarms').selectAll().where('broadcast_id', '=', ofBroadcast).orderBy('first_at_ms'),
  );
  const waiting = prepare(
    database,
    queries
      .selectFrom('retries')
      .select((row) => row.fn.countAll<number>().as('rows'))
      .where('broadcast_id', '=', ofBroadcast),
  );

  const assemble = (row: Selectable<BroadcastsTable>): Broadcast => {
    const isOver = row.state === 'done' || row.state === 'cancelled';
    return toBroadcast(
      row,
      origins.all({ broadcastId: row.id }).map(toOriginCounts),
      alarms.all({ broadcastId: row.id }).map(toAlarm),
      isOver ? 0 : (waiting.first({ broadcastId: row.id })?.rows ?? 0),
    );
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
  };
}

function toBroadcast(
  row: Selectable<BroadcastsTable>,
  origins: readonly OriginCounts[],
  alarms: readonly Alarm[],
  waiting: number,
): Broadcast {
  const settled = { accepted: 0, gone: 0, rejected: 0, expired: row.expired_unread, exhausted: 0 };
  for (const origin of origins) {
    settled.accepted += origin.accepted;
    settled.gone += origin.gone;
    settled.rejected += origin.rejected;
    settled.expired += origin.expired;
    settled.exhausted += origin.exhausted;
  }
  const rest =
    row.audience - (settled.accepted + settled.gone + settled.rejected + settled.expired + settled.exhausted);
  return {
    id: row.id,
    ...(row.idempotency_key === null ? {} : { idempotencyKey: row.idempotency_key }),
    state: row.state,
    payload: row.payload,
    ttlSeconds: row.ttl_seconds,
    urgency: row.urgency,
    ...(row.topic === null ? {} : { topic: row.topic }),
    createdAtMs: row.created_at_ms,
    startAtMs: row.start_at_ms,
    expiresAtMs: row.expires_at_ms,
    ...(row.finished_at_ms === null ? {} : { finishedAtMs: row.finished_at_ms }),
    audience: row.audience,
    counts: {
      ...settled,
      pending: row.state === 'running' || row.state === 'paused' ? rest : 0,
      removed: row.state === 'done' ? rest : 0,
      cancelled: row.state === 'cancelled' ? rest : 0,
    },
    waiting,
    origins,
    alarms,
  };
}

function toOriginCounts(row: BroadcastOriginsTable): OriginCounts {
  const { origin, attempts, accepted, gone, rejected, expired, exhausted } = row;
  return { origin, attempts, accepted, gone, rejected, expired, exhausted };
}

function toAlarm({ origin, reason, detail, first_at_ms, rows }: AlarmsTable): Alarm {
  return { origin, reason, detail, firstAtMs: first_at_ms, rows };
}
