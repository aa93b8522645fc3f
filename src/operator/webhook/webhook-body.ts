// The body of a webhook: `{type, timestamp, data}`.
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { escapeControls } from '../../errors/untrusted-text.ts';
import type { BroadcastStore } from '../../store/broadcasts.ts';
import type { WebhookEvent } from '../../store/webhook-outbox.ts';
import { broadcastToJson } from '../../operations/broadcast.ts';

export async function webhookBody(
  event: WebhookEvent,
  broadcasts: Pick<BroadcastStore, 'find'>,
): Promise<string> {
  const { type, atMs } = event;
  return escapeControls(
    JSON.stringify({ type, timestamp: isoTime(atMs), data: await dataOf(event, broadcasts) }),
  );
}

async function dataOf(event: WebhookEvent, broadcasts: Pick<BroadcastStore, 'find'>): Promise<object> {
  switch (event.type) {
    case 'subscription.gone':
      return { id: event.subscriptionId, user: event.user };
    case 'broadcast.done': {
      const broadcast = await broadcasts.find(event.broadcastId);
      return broadcast === undefined ? { id: event.broadcastId } : broadcastToJson(broadcast);
    }
    case 'alarm': {
      const { broadcastId, origin, reason, detail, rows } = event;
      return { broadcastId, origin, reason, detail, rows };
    }
  }
}
