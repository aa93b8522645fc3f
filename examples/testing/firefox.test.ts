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

test('a subscribed page receives a message', async (t) => {
  await using pushService = await startPushService();
  const pushServices = [pushService.origin];
  const folder = await mkdtemp(join(tmpdir(), 'push-test-'));
  const { store, vapidKeys, sessionKey, close } = await openDataDirectory(folder);
  const vapid = { ...vapidKeys, subject: 'mailto:test@example.org' };
  const sender = createSender({ store, vapid, pushServices, threads: 0 });

  // Your own site goes here. This is Deskbell's service with its demo page.
  const site = createServer({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey, pushServices });
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
  t.after(async () => {
    await browser.close();
    await site.close();
    await sender.close();
    await close();
    await rm(folder, { recursive: true });
  });

  const page = await browser.newPage();
  await page.goto(url);
  await (await page.waitForSelector('#subscribe[aria-disabled="false"]'))!.click();
  await page.waitForSelector('#unsubscribe[aria-disabled="false"]');
  const run = await sender.broadcast('all', { title: 'Hello', message: 'from a test' });
  assert.equal((await run.finished).counts.accepted, 1);

  const heading = await page.waitForSelector('#received li h3');
  assert.equal(await heading!.evaluate(({ textContent }) => textContent), 'Hello');
});
