// The page that the link of an invitation opens, in every browser.
import assert from 'node:assert/strict';
import type { Page } from 'puppeteer-core';
import { startBackend } from '../../tools/browser/backend.ts';
import { openDemoPage, press, received, reload, textOf, waitFor } from '../../tools/browser/demo-page.ts';
import { until } from '../../tools/until.ts';
import type { BrowserTest, BrowserTestContext } from './browser-test.ts';

const onlyInvited = { registrations: 'invited', pushOnly: true } as const;

export function testInvitations(browserTest: BrowserTest): void {
  browserTest('the link of an invitation subscribes the browser that opens it', async (context) => {
    await using backend = await startInvitedOnly(context);
    const link = await backend.invite('me');
    const preview = await fetch(link);
    assert.equal(preview.status, 200);
    assert.doesNotMatch(await preview.text(), /deskbell send|sendCommand/);

    const consoleErrors: string[] = [];
    const page = await openDemoPage(context.testBrowser.browser, link, consoleErrors);
    assert.equal(await textOf(page, '#headline'), 'You are invited');
    await press(page, 'Subscribe');
    assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
    assert.equal(page.url(), backend.url, 'the link was used');
    assert.deepEqual(await users(backend), ['me']);
    await backend.sendToAll({ title: 'Backups', message: 'are done' });
    assert.deepEqual(await received(page, 1), ['Backups: are done']);
    await reload(page);
    assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');

    // An app on the Home Screen starts with the link that was used, and an open page is given one of another person.
    for (const [next, user] of [
      [link, 'me'],
      [await backend.invite('ada'), 'ada'],
    ] as const) {
      await page.goto(next);
      await until(() => page.url() === backend.url, 'the page without the link');
      await waitFor(page, '#browser[aria-busy="false"]');
      assert.equal(await textOf(page, '#stored'), 'Stored');
      // only the part after # differs: the page is not loaded anew
      await until(async () => (await users(backend)).join() === user, `the browser to be that of ${user}`);
    }
    assert.deepEqual(consoleErrors, []);
  });

  browserTest('who has no invitation, or one that was used, is told so', async (context) => {
    await using backend = await startInvitedOnly(context);
    const subscribeAt = async (url: string) => {
      const page = await openDemoPage(context.testBrowser.browser, url);
      await press(page, 'Subscribe');
      return page;
    };
    for (const [url, reason] of [
      [backend.url, /^This server takes invited browsers only/],
      [`${backend.url}#invitation=used`, /^This link was used already, or has expired/],
    ] as const) {
      const page = await subscribeAt(url);
      assert.match(await textOf(page, '#failure'), reason);
      assert.equal(await textOf(page, '#headline'), 'Not invited');
      assert.deepEqual(await users(backend), []);
      assert.equal(await isSubscribed(page), false, 'what was refused has ended');
    }
    const uninvited = await openDemoPage(context.testBrowser.browser, backend.url);
    assert.equal(await textOf(uninvited, '#headline'), 'Not invited');
    const page = await subscribeAt(await backend.invite('me'));
    assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
    assert.deepEqual(await users(backend), ['me']);

    const [row] = await backend.subscriptions();
    await backend.forget(row!.id);
    await reload(page);
    assert.deepEqual(await users(backend), [], 'sent again, and refused');
    assert.equal(await isSubscribed(page), true, 'it was stored before');
    assert.equal(await textOf(page, '#headline'), 'Not invited');
  });
}

const isSubscribed = (page: Page) =>
  page.evaluate(
    'navigator.serviceWorker.ready.then(async ({ pushManager }) => (await pushManager.getSubscription()) !== null)',
  );

async function startInvitedOnly({ testBrowser, permit }: BrowserTestContext) {
  const backend = await startBackend(testBrowser.access, onlyInvited);
  await permit(backend.url, 'granted');
  return backend;
}

const users = async (backend: Awaited<ReturnType<typeof startBackend>>) =>
  (await backend.subscriptions()).map(({ user }) => user);
