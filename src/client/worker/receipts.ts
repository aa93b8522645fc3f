// Reports to the service what became of notifications, where their messages ask for that.
import type { PushMessage } from '../push-message.ts';
import { requestService } from '../request-service.ts';
import { jsonType } from '../service-api.ts';
import { serviceUrl, tryLater, worker } from './scope.ts';

/** Name of the lock, of the sync and of the cache of what is still to be reported. */
export const receiptsName = 'deskbell-receipts';
/** What comes within this time is reported together, so many at most. */
const receiptDelayMs = 1000;
const maxReceipts = 50;

/** Tells the service what became of a notification, where its message asks for that. */
export async function report({ receipt }: PushMessage, event: string, action?: string): Promise<void> {
  if (!/^[\w-]{38}$/.test(String(receipt))) return;
  try {
    // Kept until it has been told: browsers close a service worker when they like.
    const kept = JSON.stringify({ token: receipt, event, action });
    const url = `${worker.registration.scope}?${encodeURIComponent(kept)}`;
    await (await caches.open(receiptsName)).put(url, new Response(kept));
    await new Promise((resolve) => setTimeout(resolve, receiptDelayMs));
    await sendReceipts();
  } catch {
    await tryLater(receiptsName).catch(() => undefined);
  }
}

/** Fails where the service cannot be reached or is too busy. */
export function sendReceipts(): Promise<void> {
  return navigator.locks.request(receiptsName, async () => {
    const cache = await caches.open(receiptsName);
    const kept = (await cache.keys()).slice(0, maxReceipts);
    if (kept.length === 0) return;
    const receipts = await Promise.all(kept.map(async (key) => (await cache.match(key))?.json()));
    const { status } = await requestService(new URL('webPush/receipts', serviceUrl), {
      method: 'POST',
      keepalive: true,
      headers: jsonType,
      body: JSON.stringify({ receipts }),
    });
    if (status === 429 || status >= 500) throw new Error(`The service answered with ${status}.`);
    // Taken, or never to be taken.
    for (const key of kept) await cache.delete(key);
  });
}
