// The service worker: shows every push message as a notification, also when no page is open, and passes it to the
// pages that are. A classic script without imports or exports, so that every browser with Web Push can run it and
// `importScripts()` can pull it into a service worker that a site has already.
/// <reference lib="webworker" />

const worker = self as unknown as ServiceWorkerGlobalScope;

const scriptUrl = new URL(worker.location.href);
/** The Deskbell service; the page library names it in the script's URL where it is not this script's own folder. */
const service = new URL(scriptUrl.searchParams.get('service') ?? './', scriptUrl);
/** What a click on a notification opens; named likewise where this script is not beside the page. */
const pageUrl = new URL(scriptUrl.searchParams.get('page') ?? './', scriptUrl).href;

/** Waiting times before a failed renewal is tried again, while the browser keeps this worker alive. */
const retryDelaysMs = [2_000, 8_000, 20_000];

/** Name of the lock that pages and this worker share, of the sync, and of the cache. */
const ownName = 'deskbell';
/** The same of what is still to be told to the service. */
const receiptsName = 'deskbell-receipts';
/** What comes within this time is told together, so many at most. */
const receiptDelayMs = 1000;
const maxReceipts = 50;
/** The receipt token of the notification that was clicked last. */
let clicked: string | undefined;
const jsonType = { 'content-type': 'application/json' };

/** The title of a notification whose payload has none, or nothing to show at all. */
const defaultTitle = 'New message';

/** What a page receives under the member `deskbell` of a `message` event's data; see push-message.ts. */
type ShownMessage = import('./push-message.ts').PushMessage;
type Hooks = import('./service-worker-hooks.ts').ServiceWorkerHooks;

const hookTimeoutMs = 10_000;

/** The members of a payload that are options of a notification by the same name; the further ones are URLs. */
const optionNames = ['tag', 'renotify', 'requireInteraction', 'silent', 'timestamp', 'lang', 'dir'] as const;
const pictureNames = ['icon', 'image', 'badge'] as const;
const linkScheme = /^https?:/;
const pictureScheme = /^(https?|data):/;

worker.addEventListener('install', () => worker.skipWaiting());

worker.addEventListener('push', (event) => {
  event.waitUntil(receive({ ...readPush(event), receivedAtMs: Date.now() }));
});

worker.addEventListener('notificationclick', (event) => {
  const message = messageOf(event.notification);
  if (!message) return;
  clicked = message.receipt;
  event.notification.close();
  event.waitUntil(actOnClick(message, event.action));
  event.waitUntil(report(message, 'clicked', event.action || undefined));
});

worker.addEventListener('notificationclose', (event) => {
  const message = messageOf(event.notification);
  if (message) event.waitUntil(reportDismissal(message, event.notification.tag));
});

worker.addEventListener('pushsubscriptionchange', (event) => {
  const { oldSubscription } = event as PushSubscriptionChangeEvent;
  (event as ExtendableEvent).waitUntil(renewWithRetries(oldSubscription));
});

// Background Sync, where the browser has it. A rejection makes the browser try again later.
worker.addEventListener('sync', (event) => {
  const { tag } = event as ExtendableEvent & { tag: string };
  if (tag === ownName) (event as ExtendableEvent).waitUntil(renew());
  if (tag === receiptsName) (event as ExtendableEvent).waitUntil(sendReceipts());
});

/** What a browser that shows the declarative form by itself gives to the service worker in the place of a payload. */
interface DeclarativePushEvent extends PushEvent {
  readonly notification?: Record<string, unknown> | null;
  readonly appBadge?: number | null;
}

function readPush(event: DeclarativePushEvent): { title: string; message: string } {
  const { notification, appBadge, data } = event;
  if (!notification) return readPayload(data);
  return readMembers(fromDeclarativeForm({ notification, app_badge: appBadge }));
}

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
  if (!isObject(payload)) {
    return { title: defaultTitle, message: text };
  }
  const isDeclarative = payload['web_push'] === 8030 && isObject(payload['notification']);
  return readMembers(isDeclarative ? fromDeclarativeForm(payload) : payload);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members of a message, from the Push API's declarative form. */
function fromDeclarativeForm(form: Record<string, unknown>): Record<string, unknown> {
  const notification = form['notification'] as Record<string, unknown>;
  const { title, body: message, navigate: url, data, actions } = notification;
  const members: Record<string, unknown> = {
    title,
    message,
    id: form['id'],
    receipt: form['receipt'],
    url,
    data,
    appBadge: form['app_badge'],
  };
  for (const name of [...optionNames, ...pictureNames]) members[name] = notification[name];
  if (Array.isArray(actions)) {
    members['actions'] = actions.map((action) => ({ ...action, url: action?.navigate, navigate: undefined }));
  }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => (value ?? '') !== ''));
}

function readMembers(members: Record<string, unknown>): { title: string; message: string } {
  const { title, message } = members;
  const [titleText, messageText] = [toText(title ?? defaultTitle), toText(message)];
  // A title may be empty, a whole notification not.
  const isBlank = (titleText + messageText).trim() === '';
  return { ...members, title: isBlank ? defaultTitle : titleText, message: messageText };
}

/** Any value that JSON can hold, as text. String() would call a member named `toString`. */
function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function receive(received: ShownMessage): Promise<void> {
  const message = await callBeforeShow(received);
  const { title, message: text, receivedAtMs, receipt } = message;
  // A browser cannot keep every member that a payload may have: some are nested too deeply.
  await showAndPassOn(message).catch(() => showAndPassOn({ title, message: text, receivedAtMs, receipt }));
  await report(message, 'shown');
}

/** Undefined for a notification of the site's own: it may have imported this script. */
function messageOf({ data }: Notification): ShownMessage | undefined {
  return (data as { deskbell?: ShownMessage } | null)?.deskbell;
}

/** Tells the service what became of a notification, where its message asks for that. */
async function report({ receipt }: ShownMessage, event: string, action?: string): Promise<void> {
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

/** Firefox tells of a click, and of a later notification with the same tag, as if the user had closed the notification. */
async function reportDismissal(message: ShownMessage, tag: string): Promise<void> {
  const isReplaced = (await worker.registration.getNotifications({ tag })).length > 0;
  if (!isReplaced && message.receipt !== clicked) await report(message, 'dismissed');
}

/** Fails where the service cannot be reached or is too busy. */
function sendReceipts(): Promise<void> {
  return navigator.locks.request(receiptsName, async () => {
    const cache = await caches.open(receiptsName);
    const kept = (await cache.keys()).slice(0, maxReceipts);
    if (kept.length === 0) return;
    const receipts = await Promise.all(kept.map(async (key) => (await cache.match(key))?.json()));
    const { status } = await fetch(new URL('webPush/receipts', service), {
      method: 'POST',
      credentials: 'omit',
      keepalive: true,
      headers: jsonType,
      body: JSON.stringify({ receipts }),
    });
    if (status === 429 || status >= 500) throw new Error(`The service answered with ${status}.`);
    // Taken, or never to be taken.
    for (const key of kept) await cache.delete(key);
  });
}

/** The message as the site's own hook wants it shown. Whatever the hook does, there is one to show. */
async function callBeforeShow(message: ShownMessage): Promise<ShownMessage> {
  try {
    const changes = await withTimeLimit(hooks().beforeShow?.(message));
    return changes ? { ...message, ...readMembers({ ...message, ...changes }) } : message;
  } catch (error) {
    console.error('Deskbell: beforeShow failed, so the message is shown as it came.', error);
    return message;
  }
}

async function actOnClick(message: ShownMessage, actionName: string): Promise<void> {
  try {
    if (await hooks().onClick?.(message, actionName)) return;
  } catch (error) {
    console.error('Deskbell: onClick failed, so the page is opened.', error);
  }
  const action = message.actions?.find((candidate) => candidate.action === actionName);
  await openPage(message, toUrl(action?.url ?? message.url, linkScheme));
}

/** What the site's own service worker has set, before or after it has imported this script. */
function hooks(): Hooks {
  return (worker as { deskbell?: Hooks }).deskbell ?? {};
}

/** Browsers end a service worker that takes too long, and then nothing is shown. */
function withTimeLimit<Result>(work: Result | Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No result within ${hookTimeoutMs} ms.`)), hookTimeoutMs);
    Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

async function showAndPassOn(message: ShownMessage): Promise<void> {
  await show(message);
  await passOn(message);
}

async function show(message: ShownMessage): Promise<void> {
  const options: Record<string, unknown> = {
    body: message.message,
    tag: 'deskbell',
    requireInteraction: true,
    renotify: false,
    ...givenOptions(message),
    data: { deskbell: message },
  };
  if (options['renotify']) options['renotify'] = !(await isOnScreen(message));
  await worker.registration.showNotification(message.title, options);
  await showBadge(message.appBadge);
}

/** What the payload says of the notification. A browser leaves out what it does not support. */
function givenOptions(message: ShownMessage): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const name of optionNames) options[name] = message[name];
  for (const name of pictureNames) options[name] = toUrl(message[name], pictureScheme);
  options['actions'] = message.actions?.map((action) => ({
    ...action,
    icon: toUrl(action.icon, pictureScheme),
  }));
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null),
  );
}

/** An absolute URL of what is absolute or relative to the scope; undefined where it is none of these schemes. */
function toUrl(address: unknown, schemes: RegExp): string | undefined {
  if (typeof address !== 'string') return undefined;
  try {
    const { href } = new URL(address, worker.registration.scope);
    return schemes.test(href) ? href : undefined;
  } catch {
    return undefined;
  }
}

/** Whether this very message is shown already: it was delivered again. */
async function isOnScreen({ id, tag }: ShownMessage): Promise<boolean> {
  const notifications = await worker.registration.getNotifications({ tag: tag ?? 'deskbell' });
  return notifications.some(({ data }) => id !== undefined && data?.deskbell?.id === id);
}

/** The number on the icon of an installed web app, where the browser has that. */
async function showBadge(count: number | undefined): Promise<void> {
  if (count === undefined) return;
  await navigator.setAppBadge?.(count).catch(() => undefined);
}

function openPages(): Promise<readonly WindowClient[]> {
  return worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
}

async function passOn(message: ShownMessage): Promise<void> {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Client has no such parameter
  for (const page of await openPages()) page.postMessage({ deskbell: message });
}

/**
 * Brings a page to the front, the one that is at `url` where that is given. Where there is none, it opens one and passes
 * it the message.
 */
async function openPage(message: ShownMessage, url: string | undefined): Promise<void> {
  const isIt = (page: WindowClient) => (url ? page.url === url : page.url.startsWith(pageUrl));
  const page = (await openPages()).find(isIt);
  if (page) await page.focus();
  else (await worker.clients.openWindow(url ?? pageUrl))?.postMessage({ deskbell: message });
}

/** The push service dropped the subscription: makes a new one and stores it at the service (Push API §8.2). */
async function renewWithRetries(former: PushSubscription | null): Promise<void> {
  if ((await readCopy()) === undefined) await writeCopy(former ? subscriptionBody(former) : '');
  for (const delayMs of [0, ...retryDelaysMs]) {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    try {
      return await renew();
    } catch {
      // renew() has reported it.
    }
  }
  // Elsewhere the page library tries again when a page is loaded.
  await tryLater(ownName);
}

async function tryLater(tag: string): Promise<void> {
  const { sync } = worker.registration as { sync?: { register(tag: string): Promise<void> } };
  await sync?.register(tag);
}

/** Subscribes anew and puts the new subscription in the place of the former one; failures are on the console. */
async function renew(): Promise<void> {
  try {
    await navigator.locks.request(ownName, resubscribe);
  } catch (error) {
    console.error('Deskbell: this browser could not be subscribed anew.', error);
    throw error;
  }
}

async function resubscribe(): Promise<void> {
  const former = await readCopy();
  // Unsubscribed, or notifications were blocked, in the meantime.
  if (former === undefined || Notification.permission !== 'granted') return;
  const body = await subscribeAndStore(former).catch(async (error: { readonly status?: number }) => {
    // The service has another key by now, or knows the endpoint with other keys: only a new subscription can be stored.
    if (error.status !== 409) throw error;
    await (await worker.registration.pushManager.getSubscription())?.unsubscribe();
    return subscribeAndStore(former);
  });
  if (former && former !== body) {
    await askService('webPush', { method: 'DELETE', headers: jsonType, body: former });
  }
  await writeCopy(body);
}

/** @returns what is stored */
async function subscribeAndStore(former: string): Promise<string> {
  const vapidKey: unknown = await (await askService('vapidKey', {})).json();
  if (typeof vapidKey !== 'string') throw new Error(`${service.href}vapidKey did not answer with a key.`);
  const body = subscriptionBody(await subscribe(vapidKey));
  await askService('webPush', {
    method: 'POST',
    headers: {
      ...jsonType,
      'deskbell-vapid-key': vapidKey,
      // There is no token here: user and tags move over.
      ...(former && { 'deskbell-former-subscription': former }),
    },
    body,
  });
  return body;
}

async function subscribe(applicationServerKey: string): Promise<PushSubscription> {
  const { pushManager } = worker.registration;
  const options = { userVisibleOnly: true, applicationServerKey };
  try {
    return await pushManager.subscribe(options);
  } catch (error) {
    // There is one already, made with another key.
    if ((error as Error).name !== 'InvalidStateError') throw error;
    await (await pushManager.getSubscription())?.unsubscribe();
    return pushManager.subscribe(options);
  }
}

async function askService(path: string, init: RequestInit): Promise<Response> {
  const url = new URL(path, service);
  const response = await fetch(url, { credentials: 'omit', ...init });
  if (response.ok) return response;
  const { status } = response;
  throw Object.assign(new Error(`${init.method ?? 'GET'} ${url.href} was answered with ${status}.`), {
    status,
  });
}

function subscriptionBody(subscription: PushSubscription): string {
  const base64 = (name: PushEncryptionKeyName) =>
    btoa(String.fromCharCode(...new Uint8Array(subscription.getKey(name)!)));
  return JSON.stringify({
    endpoint: subscription.endpoint,
    p256dh: base64('p256dh'),
    auth: base64('auth'),
  });
}

/** What the service has stored for this browser; see stored-copy.ts, which keeps the same entry. Empty: not known. */
async function readCopy(): Promise<string | undefined> {
  return (await (await caches.open(ownName)).match(copyUrl()))?.text();
}

async function writeCopy(body: string): Promise<void> {
  await (await caches.open(ownName)).put(copyUrl(), new Response(body));
}

function copyUrl(): string {
  return `${worker.registration.scope}deskbell-subscription`;
}
