// What the service worker sends to the service, even while no page is open: receipts if a message asks for them, and a
// new subscription if the push service dropped the old one (Push API §8.2).
import { inStore, resultOf } from '../database.ts';
import type { PushMessage } from '../push-message.ts';
import { jsonType, requestService, ServiceApi, subscriptionBody } from '../service-api.ts';
import { ownName, reconcile } from '../subscription.ts';
import { readOwnState, tryLater, updateOwnState, worker } from './scope.ts';

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

const retryDelaysMs = [2_000, 8_000, 20_000];

/** @param former the old subscription; null if the browser forgot it, for example while notifications were blocked */
export async function renewWithRetries(former: PushSubscription | null): Promise<void> {
  const { serviceUrl, storedBody } = await readOwnState();
  // The state is empty if the site subscribed without the page library.
  if (!serviceUrl) return;
  if (storedBody === undefined && former) await updateOwnState({ storedBody: subscriptionBody(former) });
  for (const delayMs of [0, ...retryDelaysMs]) {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    try {
      return await renew();
    } catch {
      // try again; renew() has already reported the error
    }
  }
  // in browsers without Background Sync, the page library tries again when a page is loaded
  await tryLater(ownName);
}

/** Turns a channel off at the service. Sends the subscription first, in case the service has lost it. */
export async function turnOff(channel: string): Promise<void> {
  await updateOwnState(({ choices }) => ({ choices: { ...choices, [channel]: false } }));
  await renewWithRetries(null);
}

/** Subscribes again and replaces the old subscription. Failures are reported on the console. */
export async function renew(): Promise<void> {
  try {
    await navigator.locks.request(ownName, async () => {
      const { serviceUrl, storedBody } = await readOwnState();
      // in the meantime, the browser was unsubscribed or notifications were blocked
      if (storedBody === undefined || Notification.permission !== 'granted') return;
      // No subscriber token is needed: the service moves the user and tags to the new subscription.
      await reconcile(async () => worker.registration, new ServiceApi(new URL(serviceUrl!)));
    });
  } catch (error) {
    console.error('Deskbell: this browser could not be subscribed anew.', error);
    throw error;
  }
}
