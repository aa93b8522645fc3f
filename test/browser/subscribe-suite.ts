// The ways that docs/client.md and docs/client-recipes.md have to offer notifications in a page: the element `<deskbell-subscribe>`, and recipes for frameworks.
import assert from 'node:assert/strict';
import { startBackend } from '../../tools/browser/backend.ts';
import { saidByElement, textOf, waitFor } from '../../tools/browser/demo-page.ts';
import { until } from '../../tools/until.ts';
import type { BrowserTest, BrowserTestContext } from './browser-test.ts';
import { faultsOf, type Scheme } from './console-pages-suite.ts';
import { startPushSite } from './push-site.ts';

/** @param schemes that the browser can be told to prefer; one that it prefers by itself is told nothing */
export function testSubscribing(browserTest: BrowserTest, schemes: readonly Scheme[]): void {
  browserTest(
    'two lines are all that a page needs: the element subscribes, opens the channels, shows what was dismissed, and leaves',
    async (context) => {
      const { page, errors, backend } = await open(context, '');
      await backend.addChannel({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
      const faults: string[] = [];
      const look = async (what: string) => faults.push(...(await faultsOf(page, what, schemes)));
      await waitFor(page, 'deskbell-subscribe[state="unsubscribed"][aria-busy="false"]');
      assert.match(await saidByElement(page), /^Get news from localhost:\d+ on this device/);
      await look('unsubscribed');
      await page.click('deskbell-subscribe >>> button');
      await waitFor(page, 'deskbell-subscribe[state="subscribed"][aria-busy="false"]');
      assert.equal((await backend.subscriptions()).length, 1);

      await page.evaluate(`${shadow}.querySelector('[part="channels"]').open = true`);
      await until(
        async () => (await page.evaluate(`${shadow}.querySelectorAll('input').length`)) === 1,
        'the channel',
      );
      await page.click('deskbell-subscribe >>> input');
      await until(async () => (await backend.subscriptions())[0]!.channels['news'] === false, 'the choice');

      await backend.sendToAll({ title: 'Dismissed', message: 'but not gone', url: '/order/7' });
      const unread = `${shadow}.querySelector('[part="unread"]')`;
      await until(
        async () => (await page.evaluate(`${unread}.textContent`)) === 'New: 1',
        'the count of what is new',
      );
      await page.evaluate(dismissAll);
      await page.evaluate(`${shadow}.querySelector('[part="history"]').open = true`);
      const link = `${shadow}.querySelector('[part="history"] a')`;
      await until(async () => (await page.evaluate(`${link} !== null`)) === true, 'the notification');
      assert.equal(await page.evaluate(`${link}.textContent`), 'Dismissed');
      assert.equal(await page.evaluate(`${link}.href`), new URL('/order/7', page.url()).href);
      await look('subscribed');
      await page.reload();
      await waitFor(page, 'deskbell-subscribe[state="subscribed"][aria-busy="false"]');
      await until(async () => (await page.evaluate(`${unread}.hidden`)) === true, 'nothing new');

      await page.click('deskbell-subscribe >>> button');
      await waitFor(page, 'deskbell-subscribe[state="unsubscribed"][aria-busy="false"]');
      assert.deepEqual(await backend.subscriptions(), []);
      assert.deepEqual(errors, [], 'under a content security policy that allows no style');
      assert.deepEqual(faults, []);
    },
  );

  browserTest(
    'the element speaks the language that the page or the reader has, and the page’s own words, fits its column, and says that the page is at fault if it has no service worker',
    async (context) => {
      const { page } = await open(context, 'own-words');
      await waitFor(page, 'deskbell-subscribe[aria-busy="false"]');
      assert.equal(await saidByElement(page), 'We tell you when your order ships.');
      const button = () => page.evaluate(`${shadow}.querySelector('button').textContent`);
      assert.equal(await button(), 'Benachrichtigungen einschalten');
      await page.evaluateOnNewDocument(
        "Object.defineProperty(navigator, 'languages', { value: ['xx', 'zh-TW'] })",
      );
      await page.goto(new URL('/', page.url()).href);
      await waitFor(page, 'deskbell-subscribe[aria-busy="false"]');
      assert.equal(await button(), '开启通知');
      const width = () => page.evaluate(`${shadow}.querySelector('button').offsetWidth`) as Promise<number>;
      assert.ok((await width()) < 200, 'beside the text’s end in a wide column');
      await page.evaluate("document.querySelector('deskbell-subscribe').style.width = '16rem'");
      assert.ok((await width()) > 200, 'as wide as a narrow column');

      await page.evaluate(`const other = document.createElement('deskbell-subscribe');
        other.setAttribute('worker', '/missing.js');
        document.querySelector('deskbell-subscribe').replaceWith(other);`);
      await waitFor(page, 'deskbell-subscribe[state="unsubscribed"][aria-busy="false"]');
      await page.click('deskbell-subscribe >>> button');
      await waitFor(page, 'deskbell-subscribe[state="service-worker-failed"][aria-busy="false"]');
      const words = await saidByElement(page);
      assert.ok(words.startsWith('此页面无法开启通知。') && words.includes(new URL(page.url()).host), words);
    },
  );

  browserTest(
    'the element says so if the browser’s settings block service workers, goes on after its client has failed once, and has words for an error without a reason',
    async (context) => {
      const { page, errors } = await open(context, 'own-words');
      await page.evaluateOnNewDocument(`if (navigator.serviceWorker)
        navigator.serviceWorker.getRegistrations = async () => {
          throw new DOMException('The user denied permission.', 'NotSupportedError');
        };`);
      await page.goto(new URL('/', page.url()).href);
      await waitFor(page, 'deskbell-subscribe[state="permission-denied"][aria-busy="false"]');
      assert.match(await saidByElement(page), /^Notifications are blocked\. Allow them in the settings/);
      assert.equal(await page.evaluate(`${shadow}.querySelector('button').checkVisibility()`), false);

      await page.evaluate(
        mountWith(`async state() {
          if (this.isAsked) return { isStored: true };
          this.isAsked = true;
          throw new Error('once');
        }`),
      );
      await waitFor(page, 'deskbell-subscribe[aria-busy="false"]');
      await page.evaluate(
        `document.querySelector('deskbell-subscribe').client.dispatchEvent(new Event('change'))`,
      );
      await waitFor(page, 'deskbell-subscribe[state="subscribed"]');

      await page.evaluate(
        mountWith(
          `state: async () => ({ isStored: false }), subscribe: async () => { throw new Error('own'); }`,
        ),
      );
      await waitFor(page, 'deskbell-subscribe[aria-busy="false"]');
      await page.click('deskbell-subscribe >>> button');
      await until(
        async () => (await saidByElement(page)).startsWith('Something went wrong'),
        'words for an error of the page’s own',
      );
      assert.deepEqual(errors, []);
    },
  );

  browserTest(
    'a failure of the page load is over once the browser is subscribed, and does not come back with another element',
    async (context) => {
      const { page, errors } = await open(context, '');
      await page.evaluate(`globalThis.failures = [];
        document.addEventListener('deskbell-error', ({ detail }) => failures.push(detail.reason));
        const synced = Promise.reject({ reason: 'server-unreachable' });
        synced.catch(() => undefined);
        globalThis.members = { synced, isStored: false, state: async () => ({ isStored: members.isStored }) };`);
      await page.evaluate(mountWith('...members'));
      await waitFor(page, 'deskbell-subscribe[state="server-unreachable"][aria-busy="false"]');
      await page.evaluate(`members.isStored = true;
        document.querySelector('deskbell-subscribe').client.dispatchEvent(new Event('change'))`);
      const on = /^Notifications are on\./;
      await waitFor(page, 'deskbell-subscribe[state="subscribed"]');
      assert.match(await saidByElement(page), on);

      await page.evaluate(mountWith('...members'));
      await waitFor(page, 'deskbell-subscribe[state="subscribed"][aria-busy="false"]');
      assert.match(await saidByElement(page), on);
      assert.deepEqual(await page.evaluate('failures'), ['server-unreachable']);
      assert.deepEqual(errors, []);
    },
  );

  for (const way of ['plain', 'react', 'vue', 'svelte']) {
    browserTest(`the recipe for ${way} subscribes, and says so`, async (context) => {
      const { page, errors, backend } = await open(context, way);
      await waitFor(page, 'button:not([disabled])');
      assert.equal(await textOf(page, 'button'), 'Turn on notifications');
      await page.click('button');
      if (way === 'plain') return void (await waitFor(page, 'button[hidden]'));
      await until(async () => (await textOf(page, 'button')) === 'Turn off', 'the page to be subscribed');
      await backend.sendToAll({ title: 'Hello', message: way });
      await waitFor(page, 'li');
      assert.equal(await textOf(page, 'ul'), `Hello: ${way}`);
      assert.deepEqual(errors, []);
    });
  }
}

const shadow = "document.querySelector('deskbell-subscribe').shadowRoot";

/** Puts another element in the place of the page's, with a client that has these members. */
const mountWith = (members: string): string => `{
  const element = document.createElement('deskbell-subscribe');
  element.client = Object.assign(new EventTarget(), { synced: Promise.resolve(), ${members} });
  document.querySelector('deskbell-subscribe').replaceWith(element);
}`;

const dismissAll = `navigator.serviceWorker.getRegistrations().then(async ([registration]) => {
  for (const notification of await registration.getNotifications()) notification.close();
})`;

async function open({ testBrowser, permit }: BrowserTestContext, path: string) {
  const backend = await startBackend(testBrowser.access, { channels: true, prefix: '/push' });
  const site = await startPushSite(backend.url);
  await permit(site.url, 'granted');
  const page = await testBrowser.browser.newPage();
  const errors: string[] = [];
  page.on('console', (entry) => {
    if (['error', 'warn'].includes(entry.type())) errors.push(entry.text());
  });
  page.on('pageerror', (error) => errors.push(String(error)));
  page.once('close', async () => {
    await site[Symbol.asyncDispose]();
    await backend[Symbol.asyncDispose]();
  });
  await page.goto(site.url + path);
  return { page, errors, backend };
}
