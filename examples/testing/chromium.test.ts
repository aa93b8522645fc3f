// What the service worker shows, in a real Chromium: the message comes from the DevTools protocol, without a subscription.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { encodePayload } from 'deskbell/protocol';
import { chromium, type CDPSession } from 'playwright-core';

test('the service worker shows a message', async () => {
  // Closes each thing, the last first, also when the browser does not start.
  await using cleanUp = new AsyncDisposableStack();
  // Your own site goes here: a page, and a service worker with Deskbell's part.
  const worker = await readFile(new URL(import.meta.resolve('deskbell/service-worker.js')));
  const site = createServer(({ url }, response) => {
    const isWorker = url === '/service-worker.js';
    response.setHeader('content-type', isWorker ? 'text/javascript' : 'text/html');
    response.end(isWorker ? worker : '<!doctype html><title>My site</title>');
  }).listen(0, '127.0.0.1');
  cleanUp.defer(() => void site.close());
  await once(site, 'listening');
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;

  // A profile on disk, since Chromium refuses push in a private window. '' makes one and removes it.
  const context = await chromium.launchPersistentContext('', {
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/google-chrome',
    permissions: ['notifications'],
  });
  cleanUp.defer(() => context.close());

  const page = await context.newPage();
  await page.goto(origin);
  await page.evaluate(`navigator.serviceWorker.register('/service-worker.js')`);
  await page.evaluate(`navigator.serviceWorker.ready.then(({ active }) => new Promise((resolve) => {
    const check = () => active.state === 'activated' && resolve();
    active.addEventListener('statechange', check);
    check();
  }))`);
  const cdp = await context.newCDPSession(page);
  await cdp.send('BackgroundService.startObserving', { service: 'pushMessaging' });
  await cdp.send('BackgroundService.setRecording', { service: 'pushMessaging', shouldRecord: true });
  const handled = Promise.withResolvers<void>();
  cdp.on('BackgroundService.backgroundServiceEventReceived', ({ backgroundServiceEvent }) => {
    if (backgroundServiceEvent.eventName === 'Push event completed') handled.resolve();
  });
  await cdp.send('ServiceWorker.deliverPushMessage', {
    origin,
    registrationId: await findRegistration(cdp, origin),
    data: new TextDecoder().decode(encodePayload({ title: 'Hello', message: 'from a test' })),
  });
  await handled.promise;

  // Ask only now: Chromium may take away a notification that is asked for while it is being shown.
  const shown = await page.evaluate(`navigator.serviceWorker.ready
    .then((registration) => registration.getNotifications())
    .then((notifications) => notifications.map(({ title, body }) => [title, body]))`);
  assert.deepEqual(shown, [['Hello', 'from a test']]);
});

/** The registration of a site's service worker, as the DevTools protocol names it. */
async function findRegistration(cdp: CDPSession, origin: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    const found = registrations.find(({ scopeURL, isDeleted }) => !isDeleted && scopeURL.startsWith(origin));
    if (found !== undefined) resolve(found.registrationId);
  });
  await cdp.send('ServiceWorker.enable');
  return promise;
}
