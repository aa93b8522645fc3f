// The whole way in a real Firefox: subscribe on a page, send, and see the message there.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSender, openDataDirectory } from 'deskbell';
import { startPushService } from 'deskbell/push-service';
import { createServer } from 'deskbell/service';
import { launch } from 'puppeteer-core';

test('a subscribed page shows a message, although the push service is busy at first', async () => {
  await using pushService = await startPushService();
  // Closes each thing, the last first, also when the browser does not start.
  await using cleanUp = new AsyncDisposableStack();
  const pushServices = [pushService.origin];
  const folder = await mkdtemp(join(tmpdir(), 'push-test-'));
  cleanUp.defer(() => rm(folder, { recursive: true }));
  const { store, vapidKeys, sessionKey, close } = await openDataDirectory(folder);
  cleanUp.defer(close);
  const vapid = { ...vapidKeys, subject: 'mailto:test@example.org' };
  const retryPolicy = { firstDelayMs: 10, firstDeferralMs: 10 };
  const sender = createSender({ store, vapid, pushServices, retryPolicy, threads: 0 });
  cleanUp.defer(() => sender.close());

  // Your own site goes here. This is Deskbell's service with its demo page.
  const log = { info: () => undefined, error: console.error }; // only what fails
  const site = createServer({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey, pushServices, log });
  cleanUp.defer(() => site.close());
  const url = await site.listen({ host: '127.0.0.1', port: 0 });
  const browser = await launch({
    browser: 'firefox',
    executablePath: process.env['FIREFOX'] ?? '/usr/bin/firefox',
    extraPrefsFirefox: {
      'dom.push.serverURL': pushService.webSocketUrl,
      'dom.push.testing.allowInsecureServerURL': true,
      'dom.push.connection.enabled': true,
      'permissions.default.desktop-notification': 1,
      'alerts.useSystemBackend': false,
      'network.dns.disabled': true,
    },
  });
  cleanUp.defer(() => browser.close());

  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForSelector('deskbell-subscribe[state="unsubscribed"]');
  await page.click('deskbell-subscribe >>> button');
  await page.waitForSelector('deskbell-subscribe[state="subscribed"]');
  pushService.faults.inject({ kind: 'status', status: 503, times: 1 });
  const run = await sender.broadcast('all', { title: 'Hello', message: 'from a test' });
  assert.equal((await run.finished).counts.accepted, 1);
  assert.equal(pushService.statistics().events.fault, 1); // the 503 was answered

  // The page receives it once it is shown.
  const heading = await page.waitForSelector('#received li h3');
  assert.equal(await heading!.evaluate(({ textContent }) => textContent), 'Hello');
  const shown = await page.evaluate(`navigator.serviceWorker.ready
    .then((registration) => registration.getNotifications())
    .then((notifications) => notifications.map(({ title, body }) => [title, body]))`);
  assert.deepEqual(shown, [['Hello', 'from a test']]);
});
