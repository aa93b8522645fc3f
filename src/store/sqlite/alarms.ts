// Alarms of broadcasts: one row per broadcast, origin and reason, which counts the subscriptions it is about.
import type { Alarm } from '../broadcasts.ts';
import { heldDeletionsDetail, heldDeletionsReason } from '../held-deletions.ts';
import type { SqliteDatabase } from './database.ts';

export type RaisedAlarm = Omit<Alarm, 'firstAtMs'>;

/** @returns raises an alarm, inside a transaction, and says whether the broadcast had no such alarm yet */
export function createAlarms(database: SqliteDatabase): (broadcastId: number, alarm: RaisedAlarm) => boolean {
  const add = database.prepare<RaisedAlarm & { broadcastId: number; nowMs: number }, { rows: number }>(`
    insert into alarms (broadcast_id, origin, reason, detail, first_at_ms, rows)
    values (:broadcastId, :origin, :reason, :detail, :nowMs, :rows)
    on conflict (broadcast_id, origin, reason) do update set rows = alarms.rows + excluded.rows
    returning rows
  `);

  return (broadcastId, { origin, reason, detail, rows }) =>
    add.first({ broadcastId, origin, reason, detail, nowMs: database.now(), rows })?.rows === rows;
}

export const heldDeletionsAlarm = (origin: string, rows: number): RaisedAlarm => ({
  origin,
  reason: heldDeletionsReason,
  detail: heldDeletionsDetail(origin),
  rows,
});
