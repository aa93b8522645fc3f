// Shows a message as a notification, after the site's own hook, and passes it to open pages.
import { addToHistory, defaultHistoryLimit, markAsRead } from '../database.ts';
import { optionNames, pictureNames, type PushMessage } from '../push-message.ts';
import { hookTimeoutMs, withTimeLimit } from '../time-limit.ts';
import { report } from './receipts.ts';
import { turnOff } from './renew.ts';
import {
  hooks,
  linkScheme,
  messageOf,
  openPages,
  passOn,
  readOwnState,
  readPageUrl,
  toUrl,
  worker,
} from './scope.ts';

const pictureScheme = /^(https?|data):/;

export async function receive(received: PushMessage): Promise<void> {
  const message = await callBeforeShow(received);
  const { title, message: text, receivedAtMs, receipt } = message;
  // Browsers cannot store every payload: some are nested too deeply.
  await showAndPassOn(message).catch(() => showAndPassOn({ title, message: text, receivedAtMs, receipt }));
  await report(message, 'shown');
}

/** Applies the site's own hook. Always returns a message to show, whatever the hook does. */
export async function callBeforeShow(message: PushMessage): Promise<PushMessage> {
  try {
    const changes = await withTimeLimit(hookTimeoutMs, hooks().beforeShow?.(message));
    return changes ? { ...message, ...readMembers({ ...message, ...changes }) } : message;
  } catch (error) {
    console.error('Deskbell: beforeShow failed, so the message is shown as it came.', error);
    return message;
  }
}

async function showAndPassOn(message: PushMessage): Promise<void> {
  const { scope } = worker.registration;
  const { pageUrl = scope, historyLimit = defaultHistoryLimit } = await readOwnState();
  const options: Record<string, unknown> = {
    body: message.message,
    tag: 'deskbell',
    requireInteraction: true,
    renotify: false,
    ...givenOptions(message, pageUrl),
    data: { deskbell: message },
  };
  if (options['renotify']) options['renotify'] = !(await isOnScreen(message));
  await worker.registration.showNotification(message.title, options);
  // add the message to the history before pages get it, so that they find it there
  const { url, ...rest } = message;
  const absoluteUrl = toUrl(url, pageUrl, linkScheme);
  await addToHistory(scope, historyLimit, {
    ...rest,
    ...(absoluteUrl !== undefined && { url: absoluteUrl }),
  });
  await showBadge(message.appBadge);
  for (const page of await openPages()) passOn(message, page);
}

/** The notification's options from the payload. Browsers ignore options that they do not support. */
function givenOptions(message: PushMessage, pageUrl: string): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const name of optionNames) options[name] = message[name];
  for (const name of pictureNames) options[name] = toUrl(message[name], pageUrl, pictureScheme);
  options['actions'] = message.actions?.map((action) => ({
    ...action,
    icon: toUrl(action.icon, pageUrl, pictureScheme),
  }));
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null),
  );
}

async function isOnScreen({ id, tag }: PushMessage): Promise<boolean> {
  const notifications = await worker.registration.getNotifications({ tag: tag ?? 'deskbell' });
  return notifications.some((shown) => id !== undefined && messageOf(shown)?.id === id);
}

export async function showBadge(count: number | undefined): Promise<void> {
  if (count === undefined) return;
  await navigator.setAppBadge?.(count).catch(() => undefined);
}

const defaultTitle = 'New message';

interface Texts {
  readonly title: string;
  readonly message: string;
}

/** Browsers that support declarative messages pass these members instead of a payload. */
interface DeclarativePushEvent extends PushEvent {
  readonly notification?: Record<string, unknown> | null;
  readonly appBadge?: number | null;
}

export function readPush(event: DeclarativePushEvent): Texts {
  const { notification, appBadge, data } = event;
  if (!notification) return readPayload(data);
  return readMembers(fromDeclarativeForm({ notification, app_badge: appBadge }));
}

/**
 * Never throws: browsers revoke subscriptions whose messages show nothing. Anything but a JSON object counts as text.
 */
export function readPayload(data: PushMessageData | null): Texts {
  // Remove a byte order mark, which Chromium keeps.
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

/** Converts the Push API's declarative form to a message's members. */
function fromDeclarativeForm(form: Record<string, unknown>): Record<string, unknown> {
  const notification = form['notification'] as Record<string, unknown>;
  const { title, body: message, navigate: url, data, actions } = notification;
  const members: Record<string, unknown> = {
    title,
    message,
    id: form['id'],
    receipt: form['receipt'],
    channel: form['channel'],
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

function readMembers(members: Record<string, unknown>): Texts {
  const { title, message } = members;
  const [titleText, messageText] = [toText(title ?? defaultTitle), toText(message)];
  // A title may be empty, but not the whole notification.
  const isBlank = (titleText + messageText).trim() === '';
  return { ...members, title: isBlank ? defaultTitle : titleText, message: messageText };
}

/** Converts any JSON value to text. String() would call a member named `toString`. */
function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

let clicked: string | undefined;

export function click(event: NotificationEvent, message: PushMessage): void {
  clicked = message.receipt;
  event.notification.close();
  event.waitUntil(actOnClick(message, event.action));
  event.waitUntil(report(message, 'clicked', event.action || undefined));
  event.waitUntil(markAsRead(worker.registration.scope, message.receivedAtMs));
}

/** Firefox also reports a dismissal if the user clicks the notification, or if one with the same tag replaces it. */
export async function reportDismissal(message: PushMessage, tag: string): Promise<void> {
  const isReplaced = (await worker.registration.getNotifications({ tag })).length > 0;
  if (!isReplaced && message.receipt !== clicked) await report(message, 'dismissed');
}

async function actOnClick(message: PushMessage, actionName: string): Promise<void> {
  try {
    if (await hooks().onClick?.(message, actionName)) return;
  } catch (error) {
    console.error('Deskbell: onClick failed, so the page is opened.', error);
  }
  if (message.channel && actionName === 'turn-off-channel') return turnOff(message.channel);
  const action = message.actions?.find((candidate) => candidate.action === actionName);
  await openPage(message, action?.url ?? message.url);
}

/** Focuses or opens the page at `link`. Default: the folder that contains both the subscribing page and the scope. */
async function openPage(message: PushMessage, link: string | undefined): Promise<void> {
  const pageUrl = await readPageUrl();
  const url = toUrl(link, pageUrl, linkScheme);
  const folder = commonFolder(pageUrl, worker.registration.scope);
  const isIt = (page: WindowClient) => (url ? page.url === url : page.url.startsWith(folder));
  const page = (await openPages()).find(isIt);
  if (page) {
    await page.focus();
    return;
  }
  const opened = await worker.clients.openWindow(url ?? folder);
  if (opened) passOn(message, opened);
}

function commonFolder(pageUrl: string, scope: string): string {
  let folder = new URL('./', scope).href;
  while (!pageUrl.startsWith(folder)) folder = new URL('../', folder).href;
  return folder;
}
