// Sites that have a service worker of their own: whoever registers it, in whichever order and however often, messages are
// shown, and the subscription is renewed while no page is open.
import assert from 'node:assert/strict';
import type { Page } from 'puppeteer-core';
import { textOf, waitFor } from '../../tools/browser/demo-page.ts';
import { until } from '../../tools/until.ts';
import type { BrowserTest, BrowserTestContext } from './browser-test.ts';
import { untilReplaced } from './demo-page-suite.ts';
import { onScreen } from './notification-suite.ts';
import { forms, importingWorker, type Shop } from './shop.ts';

/**
 * @param change what a service worker is told when the subscriptions are dropped: whether there is an old one, and a new one
 */
export function testOwnWorkers(browserTest: BrowserTest, change: string): void {
  for (const { title, script, options } of forms) {
    browserTest(
      `${title} adds Deskbell to the site's own service worker: it is renewed with the page closed and all caches deleted`,
      async (context) => {
        const { testBrowser, backend, startShop, storedRow } = context;
        const shop = await startShop();
        shop.hasScriptBesidePage = true;
        const page = await openShop(context, shop);
        const register = `navigator.serviceWorker.register('${script}', ${JSON.stringify(options)})`;
        await page.evaluate(`${register}.then(() => undefined)`);
        await subscribe(page);
        // From now on the page is controlled.
        await page.reload();
        await page.evaluate('start()');
        for (let count = 0; count < 2; count += 1) await page.evaluate(`${register}.then(() => undefined)`);

        await backend.sendToAll({ title: 'First', message: '', icon: 'icon.png' });
        await waitFor(page, 'li');
        assert.equal(await textOf(page, 'li'), 'First');
        const [notification] = await onScreen(page);
        assert.equal(notification?.['icon'], `${shop.url}icon.png`, 'relative to the page');
        await untilActive(page, new URL(script, shop.url));

        shop.release(2);
        await page.evaluate(untilInstalled);
        await backend.sendToAll({ title: 'Meanwhile', message: '' });
        await waitFor(page, 'li:nth-child(2)');
        assert.equal(await page.evaluate(isWaiting), true, 'a new version waits, as the site wants it');
        assert.deepEqual(shop.reports, ['activated 1']);
        await page.close();
        await until(async () => shop.reports.includes('activated 2'), 'the new version');
        const former = await storedRow();
        await testBrowser.dropSubscriptions(shop.url);
        await untilReplaced(backend, former);
        await until(async () => shop.reports.includes(change), `the report "${change}"`);

        const next = await openShop(context, shop);
        await next.evaluate('start()');
        assert.equal(await next.evaluate('client.synced'), 'sent-again');
        await backend.sendToAll({ title: 'Second', message: '' });
        await waitFor(next, 'li');
      },
    );
  }

  browserTest(
    "a site's service worker that caches every answer does not keep a browser at a former key",
    async (context) => {
      const { backend, startShop, storedRow } = context;
      const shop = await startShop();
      const page = await openShop(context, shop);
      await page.evaluate("navigator.serviceWorker.register('cache-first.js').then(() => undefined)");
      await subscribe(page);
      const former = await storedRow();
      // From now on the page is controlled.
      await page.reload();
      await page.evaluate('start()');
      assert.equal(await page.evaluate('client.synced'), 'sent-again');
      assert.equal(await page.evaluate(hasCachedKey), true, 'what it answers from its cache');

      await backend.rotateKeys();
      await page.reload();
      await page.evaluate('start()');
      assert.equal(await page.evaluate('client.synced'), 'subscribed-anew');
      await backend.retireKey(former.vapidPublicKey);
      await page.reload();
      await page.evaluate('start()');
      assert.equal(await page.evaluate('client.synced'), 'sent-again');
      await backend.sendToAll({ title: 'Now', message: '' });
      await waitFor(page, 'li');
    },
  );

  browserTest(
    'the page may subscribe while the script of the service worker is being loaded',
    async (context) => {
      const shop = await context.startShop();
      const page = await openShop(context, shop);
      await page.evaluate(noteLookUps);
      await page.evaluate("void navigator.serviceWorker.register('held.js')");
      await page.evaluate('start(); lookUps = 0; globalThis.subscribing = client.subscribe(); undefined');
      await until(async () => Number(await page.evaluate('lookUps')) > 0, 'the client to look for one');
      shop.answerHeld();
      await page.evaluate('subscribing.then(() => undefined)');
      assert.equal((await context.backend.subscriptions()).length, 1);
    },
  );

  browserTest(
    'a service worker of the site that has no Deskbell in it is named; with the line it is used at once',
    async (context) => {
      const { backend, startShop } = context;
      const shop = await startShop();
      const page = await openShop(context, shop);
      await page.evaluate("navigator.serviceWorker.register('plain.js').then(() => undefined)");
      await page.evaluate('start({ timeoutMs: 5000 })');
      assert.equal(
        await page.evaluate(failureOf('client.subscribe()')),
        `service-worker-failed: The service worker /shop/plain.js with the scope ${shop.url} does not import Deskbell's, so it ` +
          'would not show messages. Import your copy of deskbell/service-worker.js in it. If it does, its latest version ' +
          'failed to install: see what register() and update() reject with.',
      );
      assert.deepEqual(await backend.subscriptions(), []);

      shop.plainWorker = importingWorker(2);
      await page.evaluate(
        'navigator.serviceWorker.getRegistration().then((registration) => void registration.update())',
      );
      await subscribe(page);
      await backend.sendToAll({ title: 'Now', message: '' });
      await waitFor(page, 'li');
    },
  );

  browserTest('where no service worker controls the page, scope and page are named', async (context) => {
    const shop = await context.startShop();
    const page = await openShop(context, shop);
    const otherScope = new URL('/blog/', shop.url).href;
    await page.evaluate("navigator.serviceWorker.register('/blog/worker.js').then(() => undefined)");
    await page.evaluate('start()');
    assert.equal(
      await page.evaluate(failureOf('client.subscribe()')),
      `service-worker-failed: No service worker controls the page ${shop.url}. There are registrations with the scope ${otherScope}. ` +
        'If the site registers one, see what register() rejects with. ' +
        'The service worker /shop/service-worker.js could not be loaded: the server answered 404. ' +
        'Serve a copy of deskbell/service-worker.js there, or set serviceWorkerUrl.',
    );
  });

  browserTest(
    'two sites on one origin have a subscription each, with their own page, service and messages',
    async (context) => {
      const { testBrowser, backend, startShop, startAnotherBackend } = context;
      const other = await startAnotherBackend();
      const shop = await startShop();
      const shopPage = await openShop(context, shop);
      const blogPage = await openShop(context, shop, '/blog/');
      await shopPage.evaluate("start({ serviceWorkerUrl: 'assets/worker.js' })");
      await blogPage.evaluate(`start({ serviceUrl: '${other.url}', serviceWorkerUrl: 'worker.js' })`);
      for (const page of [shopPage, blogPage])
        await page.evaluate('client.subscribe().then(() => undefined)');
      const former = [];
      for (const [{ sendWithReceipts, subscriptions, receipts }, page, folder] of [
        [backend, shopPage, '/shop/'],
        [other, blogPage, '/blog/'],
      ] as const) {
        const id = await sendWithReceipts({ title: folder, message: '', tag: folder, icon: 'icon.png' });
        await waitFor(page, 'li');
        const icons = (await page.evaluate(allIcons(folder))) as readonly string[];
        assert.deepEqual(icons, [new URL(`${folder}icon.png`, shop.url).href]);
        await until(async () => (await receipts(id))?.shown === 1, 'the receipt at its own service');
        former.push(...(await subscriptions()));
      }
      assert.equal(await textOf(shopPage, 'ol'), '/shop/');
      assert.equal(await textOf(blogPage, 'ol'), '/blog/');

      for (const page of [shopPage, blogPage]) await page.close();
      await testBrowser.dropSubscriptions(shop.url);
      await untilReplaced(backend, former[0]!);
      await untilReplaced(other, former[1]!);

      const page = await openShop(context, shop, '/blog/');
      await page.evaluate(`start({ serviceUrl: '${other.url}', serviceWorkerUrl: 'worker.js' })`);
      await page.evaluate('client.synced.then(() => client.unsubscribe())');
      assert.deepEqual(await other.subscriptions(), []);
      assert.equal((await backend.subscriptions()).length, 1);
    },
  );

  browserTest(
    "a reader of another provider moves at the next visit: its service worker and subscription give way to Deskbell's",
    async (context) => {
      const { backend, startShop, storedRow } = context;
      const shop = await startShop();
      shop.hasScriptBesidePage = true;
      const former = await openShop(context, shop);
      const [worker, endpoint] = (await former.evaluate(subscribeElsewhere)) as readonly string[];
      assert.ok(worker!.endsWith('/shop/plain.js'));
      await former.close();

      const page = await openShop(context, shop);
      await page.evaluate("start({ serviceWorkerUrl: 'service-worker.js' })");
      assert.equal(await page.evaluate('client.synced'), 'subscribed-anew');
      const row = await storedRow();
      assert.notEqual(row.endpoint, endpoint);
      await untilActive(page, new URL('/shop/service-worker.js', shop.url));
      assert.equal(
        await page.evaluate('navigator.serviceWorker.getRegistrations().then(({ length }) => length)'),
        1,
      );
      await backend.sendToAll({ title: 'Moved', message: '' });
      await waitFor(page, 'li');
      assert.equal((await onScreen(page)).length, 1);
    },
  );

  browserTest(
    'a reader of another provider stays there as long as its service worker has nothing of Deskbell',
    async (context) => {
      const { backend, startShop } = context;
      const shop = await startShop();
      const page = await openShop(context, shop);
      const [, endpoint] = (await page.evaluate(subscribeElsewhere)) as readonly string[];
      await page.reload();
      await page.evaluate('start({ timeoutMs: 2000 })');
      assert.match(
        String(await page.evaluate(failureOf('client.synced'))),
        /^service-worker-failed: The service worker \/shop\/plain\.js .* does not import Deskbell's/,
      );
      const kept = 'client.state().then(({ subscription }) => subscription.endpoint)';
      assert.equal(await page.evaluate(kept), endpoint);
      assert.deepEqual(await backend.subscriptions(), []);
    },
  );

  browserTest(
    'a content security policy with Trusted Types needs to list the policy "deskbell", and no other',
    async (context) => {
      const { backend, startShop } = context;
      const shop = await startShop();
      const refused = await openShop(context, shop, '/strict/?trusted-types%20other');
      await refused.evaluate("start({ serviceWorkerUrl: 'service-worker.js' })");
      assert.match(
        String(await refused.evaluate(failureOf('client.subscribe()'))),
        /^service-worker-failed: .*the Trusted Types policy "deskbell": add it to trusted-types/,
      );
      const page = await openShop(context, shop, '/strict/?trusted-types%20deskbell');
      await subscribe(page);
      assert.equal((await backend.subscriptions()).length, 1);
    },
  );
}

async function openShop({ testBrowser }: BrowserTestContext, shop: Shop, path = '/shop/'): Promise<Page> {
  const page = await testBrowser.browser.newPage();
  await page.goto(new URL(path, shop.url).href);
  return page;
}

const subscribe = (page: Page) => page.evaluate('start(); client.subscribe().then(() => undefined)');

const failureOf = (promise: string) =>
  `${promise}.then(() => 'none', ({ reason, message }) => reason + ': ' + message)`;

/** As the script of another provider does, with its own key. */
const subscribeElsewhere = `(async () => {
  await navigator.serviceWorker.register('plain.js');
  const { active, pushManager } = await navigator.serviceWorker.ready;
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']);
  const applicationServerKey = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
  const { endpoint } = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
  return [active.scriptURL, endpoint];
})()`;

/** Counts how often the page has asked for the registration that controls it, and calls `afterLookUp` where there is one. */
const noteLookUps = `{
  const real = navigator.serviceWorker.getRegistration.bind(navigator.serviceWorker);
  globalThis.lookUps = 0;
  navigator.serviceWorker.getRegistration = async (url) => {
    const registration = await real(url);
    lookUps += 1;
    globalThis.afterLookUp?.();
    return registration;
  };
}`;

/** Firefox has been seen to say for a moment that the registration has no service worker, beside one that runs. */
async function untilActive(page: Page, { href }: URL): Promise<void> {
  let found: unknown;
  await until(
    async () => (found = await page.evaluate(activeScript)) === href,
    () => `${href} as the service worker; it is ${String(found)}`,
  );
}

const activeScript =
  'navigator.serviceWorker.getRegistration().then(({ active, waiting }) => (waiting ?? active)?.scriptURL)';

/** Looks for a new version, and resolves once it is installed. */
const untilInstalled = `(async () => {
  const registration = await navigator.serviceWorker.getRegistration();
  const found = new Promise((resolve) => registration.addEventListener('updatefound', resolve, { once: true }));
  await registration.update();
  await found;
  const worker = registration.installing ?? registration.waiting ?? registration.active;
  await new Promise((resolve) => {
    const look = () => worker.state !== 'installing' && resolve();
    worker.addEventListener('statechange', look);
    look();
  });
})()`;

const hasCachedKey = `caches.open('everything')
  .then((cache) => cache.keys())
  .then((requests) => requests.some(({ url }) => new URL(url).pathname === '/vapidKey'))`;

const isWaiting = 'navigator.serviceWorker.getRegistration().then(({ waiting }) => waiting !== null)';

const allIcons = (tag: string) => `(async () => {
  const registrations = await navigator.serviceWorker.getRegistrations();
  const notifications = await Promise.all(registrations.map((one) => one.getNotifications({ tag: '${tag}' })));
  return notifications.flat().map(({ icon }) => icon);
})()`;
