// Schedules in SQLite.
import type { NewSchedule, Schedule, ScheduleStore } from '../schedules.ts';
import { toSchedule, type ScheduleRow } from '../rows/schedule-row.ts';
import { isNotPaused } from './sqlite-sending.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import type { NoValues } from './statement.ts';

interface StoredRow extends Omit<ScheduleRow, 'audience' | 'message' | 'receipts'> {
  /** JSON */
  readonly audience: string;
  /** JSON */
  readonly message: string;
  readonly receipts: number;
}

export function createSqliteSchedules(database: SqliteDatabase): ScheduleStore {
  const statements = prepareStatements(database);

  return {
    add: (draft) =>
      database.write(() => {
        const row = statements.insert.first({ ...toValues(draft), nowMs: database.now() });
        if (row === undefined) throw new Error('The schedule was not stored.');
        return readRow(row);
      }),
    list: () => database.read(() => statements.all.all({}).map(readRow)),
    remove: (id) => database.write(() => statements.remove.run({ id }) > 0),

    takeDue: async (leaseMs) => {
      const isDue = () => statements.due.first({ nowMs: database.now() });
      // a look, before all writers have to wait
      if ((await database.read(isDue)) === undefined) return undefined;
      return database.write(() => {
        const nowMs = database.now();
        const row = isDue();
        if (row === undefined) return undefined;
        statements.lease.run({ id: row.id, untilMs: nowMs + leaseMs });
        return { ...readRow(row), nowMs };
      });
    },

    advance: (id, { fromMs, toMs, broadcastId }) =>
      database.write(() => {
        statements.advance.run({ id, fromMs, toMs, broadcastId: broadcastId ?? null });
        return statements.byId.first({ id }) !== undefined;
      }),
  };
}

const toValues = (draft: NewSchedule) => ({
  cron: draft.cron,
  timezone: draft.timezone,
  audience: JSON.stringify(draft.audience),
  user: draft.audience === 'all' ? null : (draft.audience.user ?? null),
  message: JSON.stringify(draft.message),
  ttlSeconds: draft.ttlSeconds ?? null,
  urgency: draft.urgency ?? null,
  topic: draft.topic ?? null,
  receipts: draft.receipts ? 1 : 0,
  perPerson: draft.perPerson ?? null,
  nextAtMs: draft.nextAtMs,
});

const readRow = (row: StoredRow): Schedule =>
  toSchedule({
    ...row,
    audience: JSON.parse(row.audience) as Schedule['audience'],
    message: JSON.parse(row.message) as Schedule['message'],
    receipts: row.receipts === 1,
  });

function prepareStatements(database: SqliteDatabase) {
  return {
    insert: database.prepare<ReturnType<typeof toValues> & { nowMs: number }, StoredRow>(`
      insert into schedules (
        cron, timezone, audience, user, message, ttl_seconds, urgency, topic, receipts, per_person,
        created_at_ms, next_at_ms
      ) values (
        :cron, :timezone, :audience, :user, :message, :ttlSeconds, :urgency, :topic, :receipts, :perPerson,
        :nowMs, :nextAtMs
      ) returning *
    `),
    all: database.prepare<NoValues, StoredRow>('select * from schedules order by id'),
    byId: database.prepare<{ id: number }, { id: number }>('select id from schedules where id = :id'),
    remove: database.prepare<{ id: number }>('delete from schedules where id = :id'),
    due: database.prepare<{ nowMs: number }, StoredRow>(`
      select * from schedules where next_at_ms <= :nowMs and lease_until_ms <= :nowMs and ${isNotPaused}
      order by next_at_ms, id limit 1
    `),
    lease: database.prepare<{ id: number; untilMs: number }>(
      'update schedules set lease_until_ms = :untilMs where id = :id',
    ),
    advance: database.prepare<{ id: number; fromMs: number; toMs: number; broadcastId: number | null }>(`
      update schedules set next_at_ms = :toMs, lease_until_ms = 0,
        last_broadcast_id = coalesce(:broadcastId, last_broadcast_id)
      where id = :id and next_at_ms = :fromMs
    `),
  };
}
