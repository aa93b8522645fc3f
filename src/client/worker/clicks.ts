import { markAsRead } from '../database.ts';
import type { PushMessage } from '../push-message.ts';
import { report, turnOff } from './receipts.ts';
import { hooks, linkScheme, openPages, passOn, readPageUrl, toUrl, worker } from './scope.ts';

let clicked: string | undefined;

export function click(event: NotificationEvent, message: PushMessage): void {
  clicked = message.receipt;
  event.notification.close();
  event.waitUntil(actOnClick(message, event.action));
  event.waitUntil(report(message, 'clicked', event.action || undefined));
  event.waitUntil(markAsRead(worker.registration.scope, message.receivedAtMs));
}

/** Firefox reports a click, and a replacement by the same tag, as if the user had closed the notification. */
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

/** Focuses the page at `link`, or one in the folder common to the page that subscribed and the scope, or opens it. */
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
