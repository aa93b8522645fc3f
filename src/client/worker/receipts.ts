// Reports to the service what became of notifications, where their messages ask for that.
import { inStore, resultOf } from '../database.ts';
import type { PushMessage } from '../push-message.ts';
import { requestService } from '../request-service.ts';
import { jsonType } from '../service-api.ts';
import { readOwnState, tryLater, worker } from './scope.ts';

/** Name of the lock and of the sync. */
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
    await inStore('readwrite', async (store) => void store.put(kept, [...keyPrefix(), kept]));
    await new Promise((resolve) => setTimeout(resolve, receiptDelayMs));
    await sendReceipts();
  } catch {
    await tryLater(receiptsName).catch(() => undefined);
  }
}

/** Fails where the service cannot be reached or is too busy. */
export function sendReceipts(): Promise<void> {
  return navigator.locks.request(receiptsName, async () => {
    const { serviceUrl } = await readOwnState();
    // An array is greater than any text, so these are all keys with this prefix.
    const all = IDBKeyRange.bound(keyPrefix(), [...keyPrefix(), []]);
    const kept = await inStore('readonly', (store) => resultOf(store.getAll(all, maxReceipts)));
    if (!serviceUrl || !kept?.length) return;
    const { status } = await requestService(new URL('webPush/receipts', serviceUrl), {
      method: 'POST',
      keepalive: true,
      headers: jsonType,
      body: `{"receipts":[${kept.join()}]}`,
    });
    const isOver = status === 204 || (status >= 400 && status < 500 && status !== 429);
    // Any other success is that of a page in front of the service, such as a login.
    if (!isOver) throw new Error('Not taken yet.');
    // Taken, or never to be taken.
    await inStore('readwrite', async (store) => {
      for (const key of kept) void store.delete([...keyPrefix(), key]);
    });
  });
}

const keyPrefix = (): string[] => [worker.registration.scope, 'receipt'];
