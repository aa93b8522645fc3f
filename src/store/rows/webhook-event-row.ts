// A row of the webhook's outbox, as every database gives it, and how long it stays.
import type { WebhookEvent } from '../webhook-outbox.ts';

/** What could not be delivered for so long is dropped. */
export const webhookEventKeptMs = 3 * 24 * 60 * 60 * 1000;

export interface WebhookEventRow {
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

export function toWebhookEvent(row: WebhookEventRow): WebhookEvent {
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
