// The background side: shows every push message as a notification, also when no page is open, and passes it to the
// pages that are. A classic script without imports or exports, so that every browser with Web Push can run it and
// `importScripts()` can pull it into a service worker that a site has already.
/// <reference lib="webworker" />

const worker = self as unknown as ServiceWorkerGlobalScope;

/** The Deskbell service; the page library names it in the script's URL where it is not this script's own folder. */
const service = new URL(
  new URL(worker.location.href).searchParams.get('service') ?? './',
  worker.location.href,
);

/** The title of a notification whose payload has none. */
const defaultTitle = 'New message';

/** What a page receives under the member `deskbell` of a `message` event's data. */
interface ShownMessage {
  title: string;
  message: string;
  receivedAtMs: number;
}

worker.addEventListener('install', () => worker.skipWaiting());

worker.addEventListener('push', (event) => {
  const message = { ...readPayload(event.data), receivedAtMs: Date.now() };
  const { title, message: text, receivedAtMs } = message;
  event.waitUntil(
    // A browser cannot keep every member that a payload may have: some are nested too deeply.
    showAndPassOn(message).catch(() => showAndPassOn({ title, message: text, receivedAtMs })),
  );
});

worker.addEventListener('notificationclick', (event) => {
  const message = (event.notification.data as { deskbell?: ShownMessage } | null)?.deskbell;
  // A site that imports this script may show notifications of its own.
  if (!message) return;
  event.notification.close();
  event.waitUntil(openPage(message));
});

worker.addEventListener('pushsubscriptionchange', (event) => {
  const { oldSubscription } = event as PushSubscriptionChangeEvent;
  (event as ExtendableEvent).waitUntil(
    navigator.locks.request('deskbell', () => resubscribe(oldSubscription)),
  );
});

/**
 * Reads any payload, and never throws: browsers revoke a subscription whose messages show nothing. What is not a JSON
 * object is the text of the notification.
 */
function readPayload(data: PushMessageData | null): { title: string; message: string } {
  // Chromium keeps a byte order mark.
  const text = (data?.text() ?? '').replace(/^\uFEFF/, '');
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    payload = undefined;
  }
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
    return { title: defaultTitle, message: text };
  }
  const { title, message } = payload as Record<string, unknown>;
  const titleText = toText(title);
  return { ...payload, title: titleText.trim() ? titleText : defaultTitle, message: toText(message) };
}

/** Any value that JSON can hold, as text. String() would call a member named `toString`. */
function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function showAndPassOn(message: ShownMessage): Promise<void> {
  await show(message);
  await passOn(message);
}

async function show(message: ShownMessage): Promise<void> {
  const options: NotificationOptions & { renotify: boolean } = {
    body: message.message,
    tag: 'deskbell',
    requireInteraction: true,
    renotify: false,
    data: { deskbell: message },
  };
  await worker.registration.showNotification(message.title, options);
}

function openPages(): Promise<readonly WindowClient[]> {
  return worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
}

async function passOn(message: ShownMessage): Promise<void> {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Client has no such parameter
  for (const page of await openPages()) page.postMessage({ deskbell: message });
}

/** Brings a page of this scope to the front, or opens one and hands it the message that it was not there to see. */
async function openPage(message: ShownMessage): Promise<void> {
  const { scope } = worker.registration;
  const page = (await openPages()).find(({ url }) => url.startsWith(scope));
  if (page) await page.focus();
  else (await worker.clients.openWindow(scope))?.postMessage({ deskbell: message });
}

/** The push service gave the subscription up: make a new one and tell the service (Push API §8.2). */
async function resubscribe(former: PushSubscription | null): Promise<void> {
  const applicationServerKey = (await (await fetch(new URL('vapidKey', service))).json()) as string;
  const { pushManager } = worker.registration;
  await tellService('POST', await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey }));
  if (former) await tellService('DELETE', former);
}

async function tellService(method: 'POST' | 'DELETE', subscription: PushSubscription): Promise<void> {
  const base64 = (name: PushEncryptionKeyName) =>
    btoa(String.fromCharCode(...new Uint8Array(subscription.getKey(name)!)));
  const response = await fetch(new URL('webPush', service), {
    method,
    credentials: 'omit',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      endpoint: subscription.endpoint,
      p256dh: base64('p256dh'),
      auth: base64('auth'),
    }),
  });
  if (!response.ok) console.error(`Deskbell: ${method} webPush was refused with ${response.status}`);
}
