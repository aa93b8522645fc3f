// Schedules in PostgreSQL.
import { randomUUID } from 'node:crypto';
import { toSchedule, type ScheduleRow } from '../rows/schedule-row.ts';
import type { ScheduleStore } from '../schedules.ts';
import { isNotPaused } from './postgres-sending.ts';
import type { PostgresDatabase } from './postgres-database.ts';

/** @param functions the schema of the database's functions */
export function createPostgresSchedules(database: PostgresDatabase, functions: string): ScheduleStore {
  return {
    add: async (draft) => {
      const row = await database.first<ScheduleRow>(
        `insert into deskbell.schedules as s (
           creation, cron, timezone, audience, user_name, message, ttl_seconds, urgency, topic, receipts, per_person,
           next_at_ms, created_at_ms
         ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ${functions}.clock($13))
         on conflict (creation) do update set creation = s.creation
         returning *`,
        [
          randomUUID(),
          draft.cron,
          draft.timezone,
          JSON.stringify(draft.audience),
          draft.audience === 'all' ? null : (draft.audience.user ?? null),
          JSON.stringify(draft.message),
          draft.ttlSeconds ?? null,
          draft.urgency ?? null,
          draft.topic ?? null,
          draft.receipts,
          draft.perPerson ?? null,
          draft.nextAtMs,
          database.now(),
        ],
      );
      if (row === undefined) throw new Error('The schedule was not stored.');
      return toSchedule(row);
    },

    list: async () =>
      (await database.query<ScheduleRow>('select * from deskbell.schedules order by id')).map(toSchedule),

    remove: async (id) => (await database.run('delete from deskbell.schedules where id = $1', [id])) > 0,

    takeDue: async (leaseMs) => {
      const row = await database.first<ScheduleRow & { readonly now_ms: number }>(
        `with now as (select ${functions}.clock($1) as ms)
         update deskbell.schedules s set lease_until_ms = now.ms + $2
         from now
         where s.id = (
           select d.id from deskbell.schedules d, now where d.next_at_ms <= now.ms and d.lease_until_ms <= now.ms
             and ${isNotPaused}
           order by d.next_at_ms, d.id limit 1 for update of d skip locked)
         returning s.*, now.ms as now_ms`,
        [database.now(), leaseMs],
      );
      return row && { ...toSchedule(row), nowMs: row.now_ms };
    },

    advance: async (id, { fromMs, toMs, broadcastId }) => {
      await database.run(
        `update deskbell.schedules set next_at_ms = $3, lease_until_ms = 0,
           last_broadcast_id = coalesce($4, last_broadcast_id)
         where id = $1 and next_at_ms = $2`,
        [id, fromMs, toMs, broadcastId ?? null],
      );
      const row = await database.first('select id from deskbell.schedules where id = $1', [id]);
      return row !== undefined;
    },
  };
}
