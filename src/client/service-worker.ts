// The service worker: shows every push message as a notification, also when no page is open, and passes it to the
// pages that are. Bundled into a classic script, so that every browser with Web Push can run it and `importScripts()` can
// pull it into a service worker that a site has already.
import { ownName } from './subscription.ts';
import { click, reportDismissal } from './worker/clicks.ts';
import { readPush } from './worker/read-push.ts';
import { receiptsName, sendReceipts } from './worker/receipts.ts';
import { renew, renewWithRetries } from './worker/renewal.ts';
import { messageOf, readOwnState, updateOwnState, worker } from './worker/scope.ts';
import { receive } from './worker/show.ts';
import { question } from './worker-question.ts';

const scriptPath = worker.location.pathname;

// What had no Deskbell in it would show no message, so this takes its place at once. Later versions of the same script
// wait, as the site wants it.
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

// Background Sync, where the browser has it. A rejection makes the browser try again later.
worker.addEventListener('sync', (event) => {
  const { tag } = event as ExtendableEvent & { tag: string };
  if (tag === ownName) (event as ExtendableEvent).waitUntil(renew());
  if (tag === receiptsName) (event as ExtendableEvent).waitUntil(sendReceipts());
});
