// The outbox of the operator's webhook in SQLite. Triggers of the schema fill it, whatever changes the tables.
import { toWebhookEvent, webhookEventKeptMs, type WebhookEventRow } from '../rows/webhook-event-row.ts';
import type { WebhookOutbox } from '../webhook-outbox.ts';
import { isNotPaused } from './sqlite-sending.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import type { NoValues } from './statement.ts';

export function createSqliteWebhookOutbox(database: SqliteDatabase): WebhookOutbox {
  const watch = database.prepare<{ nowMs: number }>(`
    insert into webhook_watch (id, seen_at_ms) values (1, :nowMs)
    on conflict (id) do update set seen_at_ms = excluded.seen_at_ms
  `);
  const dropOld = database.prepare<{ beforeMs: number }>(
    'delete from webhook_events where at_ms < :beforeMs',
  );
  const hasDue = database.prepare<{ nowMs: number }, { due: number }>(
    `select exists (select 1 from webhook_events where due_at_ms <= :nowMs and ${isNotPaused}) as due`,
  );
  const lease = database.prepare<{ nowMs: number; untilMs: number; limit: number }, WebhookEventRow>(`
    update webhook_events set due_at_ms = :untilMs, attempts = attempts + 1
    where id in (select id from webhook_events where due_at_ms <= :nowMs and ${isNotPaused} order by due_at_ms limit :limit)
    returning id, type, at_ms, attempts - 1 as attempts, broadcast_id, subscription_id, user as user_name,
      origin, reason, detail, rows
  `);
  const postpone = database.prepare<{ id: string; dueAtMs: number }>(
    'update webhook_events set due_at_ms = :dueAtMs where id = :id',
  );
  const remove = database.prepare<{ id: string }>('delete from webhook_events where id = :id');
  const count = database.prepare<NoValues, { count: number }>('select count(*) as count from webhook_events');

  return {
    watch: () =>
      database.write(() => {
        const nowMs = database.now();
        watch.run({ nowMs });
        dropOld.run({ beforeMs: nowMs - webhookEventKeptMs });
      }),
    lease: async ({ limit, leaseMs }) => {
      // Asked often and seldom true: no transaction for that.
      const isDue = await database.read(() => hasDue.first({ nowMs: database.now() })?.due === 1);
      if (!isDue) return [];
      return database.write(() => {
        const nowMs = database.now();
        const rows = lease.all({ nowMs, untilMs: nowMs + leaseMs, limit });
        return rows.toSorted((one, other) => one.at_ms - other.at_ms).map(toWebhookEvent);
      });
    },
    postpone: (id, delayMs) =>
      database.write(() => {
        postpone.run({ id, dueAtMs: database.now() + delayMs });
      }),
    remove: (id) =>
      database.write(() => {
        remove.run({ id });
      }),
    count: () => database.read(() => count.first({})?.count ?? 0),
  };
}
