// A row of a schedule, as every database gives it; what is JSON is already read.
import type { Urgency } from '../../protocol/request.ts';
import type { Schedule } from '../schedules.ts';

export interface ScheduleRow {
  readonly id: number;
  readonly cron: string;
  readonly timezone: string;
  readonly audience: Schedule['audience'];
  readonly message: Schedule['message'];
  readonly ttl_seconds: number | null;
  readonly urgency: Urgency | null;
  readonly topic: string | null;
  readonly receipts: boolean;
  readonly per_person: string | null;
  readonly created_at_ms: number;
  readonly next_at_ms: number;
  readonly last_broadcast_id: number | null;
}

export const toSchedule = (row: ScheduleRow): Schedule => ({
  id: row.id,
  cron: row.cron,
  timezone: row.timezone,
  audience: row.audience,
  message: row.message,
  ttlSeconds: row.ttl_seconds ?? undefined,
  urgency: row.urgency ?? undefined,
  topic: row.topic ?? undefined,
  receipts: row.receipts,
  perPerson: row.per_person ?? undefined,
  createdAtMs: row.created_at_ms,
  nextAtMs: row.next_at_ms,
  lastBroadcastId: row.last_broadcast_id ?? undefined,
});
