// The outbox of the operator's webhook in PostgreSQL. Triggers of the schema fill it, whatever changes the tables.
import { toWebhookEvent, webhookEventKeptMs, type WebhookEventRow } from '../rows/webhook-event-row.ts';
import type { WebhookOutbox } from '../webhook-outbox.ts';
import { isNotPaused } from './postgres-sending.ts';
import type { PostgresDatabase } from './postgres-database.ts';

/** @param functions the schema of the database's functions */
export function createPostgresWebhookOutbox(database: PostgresDatabase, functions: string): WebhookOutbox {
  return {
    watch: async () => {
      await database.run(
        `insert into deskbell.webhook_watch (id, seen_at_ms) values (1, ${functions}.clock($1))
         on conflict (id) do update set seen_at_ms = excluded.seen_at_ms`,
        [database.now()],
      );
      await database.run(
        `delete from deskbell.webhook_events where at_ms < ${functions}.clock($1) - ${webhookEventKeptMs}`,
        [database.now()],
      );
    },

    lease: async ({ limit, leaseMs }) => {
      const rows = await database.query<WebhookEventRow>(
        `with now as (select ${functions}.clock($1) as ms)
         update deskbell.webhook_events e set due_at_ms = now.ms + $2, attempts = e.attempts + 1
         from now
         where e.id in (
           select d.id from deskbell.webhook_events d, now where d.due_at_ms <= now.ms and ${isNotPaused}
           order by d.due_at_ms limit $3 for update of d skip locked)
         returning e.id, e.type, e.at_ms, e.attempts - 1 as attempts, e.broadcast_id, e.subscription_id, e.user_name,
                   e.origin, e.reason, e.detail, e.rows`,
        [database.now(), leaseMs, limit],
      );
      return rows.toSorted((one, other) => one.at_ms - other.at_ms).map(toWebhookEvent);
    },

    postpone: async (id, delayMs) => {
      await database.run(
        `update deskbell.webhook_events set due_at_ms = ${functions}.clock($2) + $3 where id = $1`,
        [id, database.now(), delayMs],
      );
    },

    remove: async (id) => {
      await database.run('delete from deskbell.webhook_events where id = $1', [id]);
    },

    count: async () => {
      const row = await database.first<{ readonly count: number }>(
        'select count(*) as count from deskbell.webhook_events',
      );
      return row?.count ?? 0;
    },
  };
}
