// The demo page in the installed Chromium, with a local stand-in for its push transport.
import assert from 'node:assert/strict';
import type { Page } from 'puppeteer-core';
import { chromium, skipWithout } from '../../scripts/install-test-tools.ts';
import { startChromiumSetting } from './chromium.ts';
import { startBackend } from './backend.ts';
import { openDemoPage, press, received, shown, textOf, waitFor } from './demo-page.ts';
import { testDemoPage } from './demo-page-suite.ts';
import { createFacts } from './facts.ts';

const fact = createFacts(startChromiumSetting, skipWithout('the Chromium tests', [chromium]));
testDemoPage(fact);

fact('a payload that is not the expected JSON still shows something sensible', async ({ openSubscribed }) => {
  const page = await openSubscribed();
  const push = await openPushDoor(page);
  const payloads: readonly (readonly [payload: string, title: string, body: string])[] = [
    ['plain text', 'New message', 'plain text'],
    ['"a JSON string"', 'New message', '"a JSON string"'],
    ['null', 'New message', 'null'],
    ['{broken', 'New message', '{broken'],
    ['{}', 'New message', ''],
    ['{"title":"Only a title"}', 'Only a title', ''],
    ['{"message":"only a message"}', 'New message', 'only a message'],
    ['{"title":1,"message":false}', '1', 'false'],
    ['', 'New message', ''],
  ];
  for (const [index, [payload, title, body]] of payloads.entries()) {
    await push(payload);
    assert.equal((await received(page, index + 1))[0], `${title}: ${body}`);
    const [notification] = await shown(page, title);
    assert.equal(notification?.body, body, `shown for ${payload}`);
  }
});

fact('a page that was not loaded securely is told so', async ({ setting, backend }) => {
  const page = await setting.browser.newPage();
  await page.goto(backend.url.replace('localhost', 'insecure.test'));
  await waitFor(page, '.failure');
  assert.match(await textOf(page, '#failure'), /^This page was not loaded securely.*https/);
});

fact('page, library and service worker work below a prefix as well', async ({ setting, permit }) => {
  await using backend = await startBackend(setting.access, { prefix: '/some/folder' });
  await permit(backend.url, 'granted');
  const page = await openDemoPage(setting.browser, backend.url.replace(/\/$/, ''));
  assert.equal(page.url(), backend.url);
  await press(page, 'Subscribe');
  await backend.sendToAll({ title: 'Down', message: 'here' });
  assert.deepEqual(await received(page, 1), ['Down: here']);
});

fact('the page fits a window 320 pixels wide, whatever it received', async ({ backend, openSubscribed }) => {
  const page = await openSubscribed();
  await backend.sendToAll({ title: 'Long'.repeat(100), message: 'Longer'.repeat(100) });
  await received(page, 1);
  await page.setViewport({ width: 320, height: 640 });
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320);
});

/** Hands payloads straight to the service worker, as the developer tools do. */
async function openPushDoor(page: Page): Promise<(data: string) => Promise<void>> {
  const session = await page.createCDPSession();
  const { promise, resolve } = Promise.withResolvers<string>();
  const { origin } = new URL(page.url());
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    const own = registrations.find(({ scopeURL }) => scopeURL === `${origin}/`);
    if (own) resolve(own.registrationId);
  });
  await session.send('ServiceWorker.enable');
  const registrationId = await promise;
  return (data) => session.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data });
}
