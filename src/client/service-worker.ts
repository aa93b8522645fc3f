// The service worker: shows every push message as a notification and passes it to open pages. It is bundled into a
// classic script, so that every browser with Web Push can run it and `importScripts()` can include it in a site's own
// service worker.
import { ownName, question } from './subscription.ts';
import { click, readPush, receive, reportDismissal } from './worker/show.ts';
import { receiptsName, sendReceipts } from './worker/receipts.ts';
import { renew, renewWithRetries } from './worker/renew.ts';
import { messageOf, readOwnState, updateOwnState, worker } from './worker/scope.ts';

const scriptPath = worker.location.pathname;

// A service worker without Deskbell would show no messages, so this script replaces it at once. Later versions of the
// same script wait as usual.
worker.addEventListener('install', (event) => event.waitUntil(takeOver()));
async function takeOver(): Promise<void> {
  if ((await readOwnState()).scriptPath !== scriptPath) await worker.skipWaiting();
}

worker.addEventListener('activate', (event) => event.waitUntil(updateOwnState({ scriptPath })));

worker.addEventListener('message', ({ data, ports: [port] }) => {
  if (data?.deskbell === question) port?.postMessage(true);
});

worker.addEventListener('push', (event) => {
  event.waitUntil(receive({ ...readPush(event), receivedAtMs: Date.now() }));
});

worker.addEventListener('notificationclick', (event) => {
  const message = messageOf(event.notification);
  if (message) click(event, message);
});

worker.addEventListener('notificationclose', (event) => {
  const message = messageOf(event.notification);
  if (message) event.waitUntil(reportDismissal(message, event.notification.tag));
});

worker.addEventListener('pushsubscriptionchange', (event) => {
  const { oldSubscription } = event as PushSubscriptionChangeEvent;
  (event as ExtendableEvent).waitUntil(renewWithRetries(oldSubscription));
});

// Background Sync, in browsers that have it. If the promise rejects, the browser tries again later.
worker.addEventListener('sync', (event) => {
  const { tag } = event as ExtendableEvent & { tag: string };
  if (tag === ownName) (event as ExtendableEvent).waitUntil(renew());
  if (tag === receiptsName) (event as ExtendableEvent).waitUntil(sendReceipts());
});
