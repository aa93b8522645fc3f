// Posts events from the outbox to the operator's webhook as `{type, timestamp, data}`. Nothing waits for the webhook,
// and events stay in the store until they are posted. An event that is due is leased, and removed after a 2xx response.
// Otherwise the event is tried again after each delay in `delaysMs`, and then dropped.
import { setTimeout as sleep } from 'node:timers/promises';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { escapeControls } from '../../errors/untrusted-text.ts';
import type { Log } from '../../http/log.ts';
import { broadcastToJson } from '../../operations/broadcasts.ts';
import { readRetryAfterMs } from '../../protocol/outcome.ts';
import type { BroadcastStore } from '../../store/broadcasts.ts';
import type { Store } from '../../store/store.ts';
import type { WebhookEvent } from '../../store/webhook-outbox.ts';
import { createTransport } from '../../transport/create-transport.ts';
import type { TransportOptions, TransportResult } from '../../transport/transport.ts';
import { webhookHeaders, type WebhookTarget } from './webhook-target.ts';

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
    case 'person.unreached':
      return { user: event.user, broadcastId: event.broadcastId };
    case 'alarm': {
      const { broadcastId, origin, reason, detail, rows } = event;
      return { broadcastId, origin, reason, detail, rows };
    }
  }
}

export interface WebhookOptions {
  readonly store: Pick<Store, 'webhooks' | 'broadcasts' | 'now'>;
  readonly target: WebhookTarget;
  /** The key with which each post is signed. */
  readonly secret: Uint8Array;
  readonly log: Log;
  readonly transport?: TransportOptions | undefined;
  /** Milliseconds between reads of the outbox. Default: 1000. */
  readonly everyMs?: number | undefined;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** The delays that Standard Webhooks recommends, 28 hours in total. */
export const delaysMs = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  10 * hour,
] as const;
const timeoutMs = 15 * second;
/** How long an event is leased, which must be longer than an attempt can take. */
const leaseMs = minute;
const postBatchSize = 10;
const watchEveryMs = hour;

/** @returns `close`, which stops posting. An event that is being posted during `close` may be posted again later. */
export function startWebhook(options: WebhookOptions): { close(): Promise<void> } {
  const { store, target, secret, log, everyMs = second } = options;
  const { webhooks, broadcasts } = store;
  const transport = createTransport(
    { ...options.transport, pushServices: target.trustedOrigins },
    { hasBreaker: false },
  );
  const stop = new AbortController();

  const post = async (event: WebhookEvent): Promise<TransportResult> => {
    const body = await webhookBody(event, broadcasts);
    const headers = webhookHeaders(secret, `msg_${event.id}`, Math.floor(store.now() / 1000), body);
    const request = { origin: target.origin, path: target.path, headers, body: Buffer.from(body) };
    return new Promise((resolve) => transport.send(request, resolve, timeoutMs));
  };

  const deliver = async (event: WebhookEvent): Promise<void> => {
    const result = await post(event);
    if (stop.signal.aborted) return;
    if (isTaken(result)) return webhooks.remove(event.id);
    const { id, type, attempts } = event;
    const delayMs = delaysMs[attempts];
    const detail = describe(result);
    if (delayMs === undefined) {
      log.error({ event: 'webhook dropped', type, attempts: attempts + 1, detail });
      return webhooks.drop(id);
    }
    await webhooks.postpone(id, Math.max(delayMs, retryAfterMs(result, store.now())));
    log.error({ event: 'webhook not taken', type, attempts: attempts + 1, detail });
  };

  let watchedAtMs = Number.NEGATIVE_INFINITY;
  const round = async (): Promise<boolean> => {
    if (performance.now() - watchedAtMs >= watchEveryMs) {
      await webhooks.watch();
      watchedAtMs = performance.now();
    }
    const events = await webhooks.lease({ limit: postBatchSize, leaseMs });
    await Promise.all(events.map(deliver));
    return events.length === postBatchSize;
  };

  const run = async (): Promise<void> => {
    let isFailing = false;
    while (!stop.signal.aborted) {
      let hasMore = false;
      try {
        hasMore = await round();
        isFailing = false;
      } catch (error) {
        if (!isFailing) log.error({ event: 'fault', error });
        isFailing = true;
      }
      if (!hasMore) await sleep(everyMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  };
  const ended = run();

  return {
    async close() {
      stop.abort();
      await transport.close(0);
      await ended;
    },
  };
}

const isTaken = (result: TransportResult): boolean =>
  result.kind === 'response' && result.response.status >= 200 && result.response.status < 300;

function retryAfterMs(result: TransportResult, nowMs: number): number {
  if (result.kind !== 'response') return 0;
  return readRetryAfterMs(result.response.headers['retry-after'], nowMs) ?? 0;
}

/** Describes a failure without quoting the response. */
function describe(result: TransportResult): string {
  if (result.kind === 'response') return `status ${result.response.status}`;
  return result.kind === 'failure' ? result.error.message : result.detail;
}
