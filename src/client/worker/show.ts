// Shows a message as a notification, after the site's own hook, and passes it to open pages.
import { addToHistory, defaultHistoryLimit } from '../history.ts';
import type { PushMessage } from '../push-message.ts';
import { hookTimeoutMs, withTimeLimit } from '../time-limit.ts';
import { optionNames, pictureNames, readMembers } from './read-push.ts';
import { report } from './receipts.ts';
import { hooks, linkScheme, messageOf, openPages, passOn, readOwnState, toUrl, worker } from './scope.ts';

const pictureScheme = /^(https?|data):/;

export async function receive(received: PushMessage): Promise<void> {
  const message = await callBeforeShow(received);
  const { title, message: text, receivedAtMs, receipt } = message;
  // Browsers cannot store every payload: some are nested too deeply.
  await showAndPassOn(message).catch(() => showAndPassOn({ title, message: text, receivedAtMs, receipt }));
  await report(message, 'shown');
}

/** Applies the site's own hook. Whatever the hook does, there is a message to show. */
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
  // before the pages get the message, so that they find it there
  const { url, ...rest } = message;
  const absoluteUrl = toUrl(url, pageUrl, linkScheme);
  await addToHistory(scope, historyLimit, {
    ...rest,
    ...(absoluteUrl !== undefined && { url: absoluteUrl }),
  });
  await showBadge(message.appBadge);
  for (const page of await openPages()) passOn(message, page);
}

/** The notification's options from the payload. Browsers ignore those that they do not support. */
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

/** The number on an installed web app's icon, in browsers that support it. */
export async function showBadge(count: number | undefined): Promise<void> {
  if (count === undefined) return;
  await navigator.setAppBadge?.(count).catch(() => undefined);
}
