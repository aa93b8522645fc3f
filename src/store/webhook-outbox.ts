// Events that wait to be posted to the operator's webhook. Triggers store an event in the same transaction as its
// cause, but only if somebody has asked for deliveries in the last few days.
import type { Alarm } from './broadcasts.ts';
import {
  changeRows,
  nullsToUndefined,
  run,
  type PortableDatabase,
  type PortableValues,
  type Work,
} from './portable-sql.ts';
import { isNotPaused } from './sending.ts';

interface Common {
  /** 32 hexadecimal digits, the same at each attempt. */
  readonly id: string;
  readonly atMs: number;
  /** Number of attempts so far. */
  readonly attempts: number;
}

export type WebhookEvent = Common &
  (
    | {
        /** A subscription left the store because its push service called it gone. */
        readonly type: 'subscription.gone';
        readonly subscriptionId: number;
        readonly user?: string | undefined;
      }
    | { readonly type: 'broadcast.done'; readonly broadcastId: number }
    | {
        /** A message or a broadcast to one person has ended without reaching any of their devices. */
        readonly type: 'person.unreached';
        readonly user: string;
        readonly broadcastId?: number | undefined;
      }
    | ({ readonly type: 'alarm'; readonly broadcastId: number } & Pick<
        Alarm,
        'origin' | 'reason' | 'detail' | 'rows'
      >)
  );

export interface WebhookBacklog {
  /** Number of events that are not delivered yet. */
  readonly waiting: number;
  /** When the oldest of these events happened; absent if there are none. */
  readonly oldestAtMs: number | undefined;
  /** Total number of events that were never delivered. */
  readonly dropped: number;
}

export type WebhookOutbox = ReturnType<typeof createWebhookOutbox>;

/** How long events are stored after the last request for deliveries. The triggers contain the same number. */
const watchedForMs = 7 * 24 * 60 * 60 * 1000;
/** Events that could not be delivered for this long are dropped. */
const webhookEventRetentionMs = 3 * 24 * 60 * 60 * 1000;

export function createWebhookOutbox(database: PortableDatabase) {
  const selectDue = `
    select d.id from deskbell.webhook_events d where d.due_at_ms <= :nowMs and ${isNotPaused}
    order by d.due_at_ms limit :limit`;

  return {
    /** Stores an event: a single message has reached none of the person's devices. */
    tellUnreached: async (user: string): Promise<void> => {
      const nowMs = database.now();
      await database.write(
        `insert into deskbell.webhook_events (type, at_ms, user_name)
         select 'person.unreached', cast(:nowMs as bigint), :user from deskbell.webhook_watch where seen_at_ms > :sinceMs`,
        { nowMs, user, sinceMs: nowMs - watchedForMs },
      );
    },

    /** Makes the database store new events for the next few days. Drops events that could not be delivered for days. */
    watch: () =>
      database.transaction(function* () {
        const nowMs = database.now();
        yield* run(
          `insert into deskbell.webhook_watch (id, seen_at_ms) values (1, :nowMs)
           on conflict (id) do update set seen_at_ms = excluded.seen_at_ms`,
          { nowMs },
        );
        yield* dropOldWebhookEvents(nowMs);
      }),

    /** Returns due events, oldest first. No other process gets them for `leaseMs`. */
    lease: async ({ limit, leaseMs }: { readonly limit: number; readonly leaseMs: number }) => {
      const nowMs = database.now();
      // this is called often and rarely finds events, so first look without a transaction
      if ((await database.read(selectDue, { nowMs, limit: 1 })).length === 0) return [];
      const rows = await database.writeOnce<WebhookEvent>(
        `update deskbell.webhook_events set due_at_ms = :untilMs, attempts = attempts + 1
         where id in (${selectDue} ${database.skipLocked})
         returning id, type, at_ms as "atMs", attempts - 1 as attempts, broadcast_id as "broadcastId",
           subscription_id as "subscriptionId", user_name as "user", origin, reason, detail, rows`,
        { nowMs, limit, untilMs: nowMs + leaseMs },
      );
      return rows.toSorted((one, other) => one.atMs - other.atMs).map(withoutNulls);
    },

    /** Makes the event due again after `delayMs`. */
    postpone: (id: string, delayMs: number) =>
      database.write('update deskbell.webhook_events set due_at_ms = :dueAtMs where id = :id', {
        id,
        dueAtMs: database.now() + delayMs,
      }),

    /** Removes an event that was delivered. */
    remove: (id: string) => database.write('delete from deskbell.webhook_events where id = :id', { id }),

    /** Gives up on an event, and counts it. */
    drop: (id: string) => database.transaction(() => drop('id = :id', { id })),

    backlog: async (): Promise<WebhookBacklog> => {
      const [row] = await database.read<WebhookBacklog>(
        `select count(*) as waiting, min(at_ms) as "oldestAtMs",
           (select coalesce(sum(dropped), 0) from deskbell.webhook_watch) as dropped
         from deskbell.webhook_events`,
      );
      return nullsToUndefined(row!);
    },
  };
}

/** Deletes events that are days old, within a transaction. */
export const dropOldWebhookEvents = (nowMs: number): Work<void> =>
  drop('at_ms < :beforeMs', { beforeMs: nowMs - webhookEventRetentionMs });

/** Removes events that will not be delivered, and counts them. */
function* drop(condition: string, values: PortableValues): Work<void> {
  const count = yield* changeRows(`delete from deskbell.webhook_events where ${condition}`, values);
  if (count > 0) yield* run('update deskbell.webhook_watch set dropped = dropped + :count', { count });
}

/** Removes columns that are null because they belong to other types of events. */
const withoutNulls = (event: WebhookEvent): WebhookEvent =>
  Object.fromEntries(Object.entries(event).filter(([, value]) => value !== null)) as unknown as WebhookEvent;
