// Sends receipts to the service if a message asks for them, even while no page is open.
import { inStore, resultOf } from '../database.ts';
import type { PushMessage } from '../push-message.ts';
import { jsonType, requestService } from '../service-api.ts';
import { defaultTimeoutMs } from '../time-limit.ts';
import { readOwnState, tryLater, worker } from './scope.ts';

export const receiptsName = 'deskbell-receipts';
const receiptDelayMs = 1000;
const maxReceipts = 50;

export async function report({ receipt }: PushMessage, event: string, action?: string): Promise<void> {
  if (!/^[\w-]{38}$/.test(String(receipt))) return;
  try {
    // A report is stored until it is sent: browsers may end a service worker at any time.
    const kept = JSON.stringify({ token: receipt, event, action });
    await inStore('readwrite', async (store) => void store.put(kept, [...keyPrefix(), kept]));
    await new Promise((resolve) => setTimeout(resolve, receiptDelayMs));
    await sendReceipts();
  } catch {
    await tryLater(receiptsName).catch(() => undefined);
  }
}

/** Rejects if the service cannot be reached or is too busy. */
export function sendReceipts(): Promise<void> {
  return navigator.locks.request(receiptsName, async () => {
    const { serviceUrl } = await readOwnState();
    // IndexedDB sorts arrays after text, so this range has all keys with the prefix.
    const all = IDBKeyRange.bound(keyPrefix(), [...keyPrefix(), []]);
    const kept = await inStore('readonly', (store) => resultOf(store.getAll(all, maxReceipts)));
    if (!serviceUrl || !kept?.length) return;
    const { status } = await requestService(new URL('webPush/receipts', serviceUrl), {
      method: 'POST',
      keepalive: true,
      signal: AbortSignal.timeout(defaultTimeoutMs),
      headers: jsonType,
      body: `{"receipts":[${kept.join()}]}`,
    });
    const isOver = status === 204 || (status >= 400 && status < 500 && status !== 429);
    // Any other success comes from a page in front of the service, such as a login.
    if (!isOver) throw new Error('Not taken yet.');
    await inStore('readwrite', async (store) => {
      for (const key of kept) void store.delete([...keyPrefix(), key]);
    });
  });
}

const keyPrefix = (): string[] => [worker.registration.scope, 'receipt'];
