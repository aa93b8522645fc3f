// The outbox of the operator's webhook in PostgreSQL. Triggers of the schema fill it, whatever changes the tables.
import type { WebhookEvent, WebhookOutbox } from '../webhook-outbox.ts';
import type { PostgresDatabase } from './postgres-database.ts';

const keptMs = 3 * 24 * 60 * 60 * 1000;

interface EventRow {
  readonly id: string;
  readonly type: WebhookEvent['type'];
  readonly at_ms: number;
  readonly attempts: number;
  readonly broadcast_id: number | null;
  readonly subscription_id: number | null;
  readonly user_name: string | null;
  readonly origin: string | null;
  readonly reason: string | null;
  readonly detail: string | null;
  readonly rows: number | null;
}

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
        `delete from deskbell.webhook_events where at_ms < ${functions}.clock($1) - ${keptMs}`,
        [database.now()],
      );
    },

    lease: async ({ limit, leaseMs }) => {
      const rows = await database.query<EventRow>(
        `with now as (select ${functions}.clock($1) as ms)
         update deskbell.webhook_events e set due_at_ms = now.ms + $2, attempts = e.attempts + 1
         from now
         where e.id in (
           select d.id from deskbell.webhook_events d, now where d.due_at_ms <= now.ms
           order by d.due_at_ms limit $3 for update of d skip locked)
         returning e.id, e.type, e.at_ms, e.attempts - 1 as attempts, e.broadcast_id, e.subscription_id, e.user_name,
                   e.origin, e.reason, e.detail, e.rows`,
        [database.now(), leaseMs, limit],
      );
      return rows.toSorted((one, other) => one.at_ms - other.at_ms).map(toEvent);
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

function toEvent(row: EventRow): WebhookEvent {
  const { id, type, attempts } = row;
  const common = { id, atMs: row.at_ms, attempts };
  const broadcastId = row.broadcast_id ?? 0;
  if (type === 'subscription.gone') {
    return { ...common, type, subscriptionId: row.subscription_id ?? 0, user: row.user_name ?? undefined };
  }
  if (type === 'broadcast.done') return { ...common, type, broadcastId };
  const { origin, reason, detail, rows } = row;
  return {
    ...common,
    type,
    broadcastId,
    origin: origin ?? '',
    reason: reason ?? '',
    detail: detail ?? '',
    rows: rows ?? 0,
  };
}
