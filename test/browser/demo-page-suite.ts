// What the demo page must do in every browser, written once: each test uses the page by pressing its
// buttons, with the real service, store and sender behind it. One backend, and with it one origin, for each test.
import assert from 'node:assert/strict';
import {
  press,
  received,
  reload,
  saidByElement,
  shown,
  textOf,
  waitFor,
} from '../../tools/browser/demo-page.ts';
import type { StoredSubscription } from '../../src/store/subscriptions.ts';
import { type Backend } from '../../tools/browser/backend.ts';
import type { Page } from 'puppeteer-core';
import type { BrowserTests } from './browser-test.ts';
import { until } from '../../tools/until.ts';

export function testDemoPage({ browserTest, chromiumTest, furtherTest }: BrowserTests): void {
  browserTest(
    "a press on Subscribe stores this browser's subscription and says so",
    async ({ open, storedRow }) => {
      const consoleErrors: string[] = [];
      const page = await open(consoleErrors);
      assert.equal(await textOf(page, '#headline'), 'Not subscribed');
      assert.equal(await textOf(page, '#permission'), 'Notifications allowed');

      await press(page, 'Subscribe');

      const row = await storedRow();
      assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
      assert.equal(await textOf(page, '#push-service'), new URL(row.endpoint).host);
      assert.equal(await textOf(page, '#stored'), 'Stored');
      assert.deepEqual(consoleErrors, [], 'the console stays empty, under the content security policy too');
    },
  );

  chromiumTest(
    'the page sends three strings, p256dh and auth in standard base64 with padding',
    async ({ backend, openSubscribed, storedRow }) => {
      const { page } = await openSubscribed();
      // One key in fifteen looks the same in both alphabets; all six do in one run of ten million.
      for (let count = 0; count < 5; count += 1) {
        await press(page, 'Unsubscribe');
        await press(page, 'Subscribe');
      }
      assert.equal(backend.registrations.length, 6);
      for (const body of backend.registrations as Record<string, string>[]) {
        assert.deepEqual(Object.keys(body).sort(), ['auth', 'endpoint', 'language', 'p256dh', 'timeZone']);
        assert.equal(body['language'], await page.evaluate('navigator.language'));
        assert.equal(
          body['timeZone'],
          await page.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone'),
        );
        assert.match(body['p256dh']!, /^[A-Za-z0-9+/]{87}=$/);
        assert.match(body['auth']!, /^[A-Za-z0-9+/]{22}==$/);
      }
      const row = await storedRow();
      const [last] = backend.registrations.slice(-1) as [Record<string, string>];
      assert.equal(last['endpoint'], row.endpoint);
      assert.equal(last['p256dh'], Buffer.from(row.p256dh).toString('base64'));
    },
  );

  chromiumTest(
    'a message shows as a notification that stays, and in the open page',
    async ({ backend, openSubscribed }) => {
      const { page } = await openSubscribed();

      assert.deepEqual(await backend.sendToAll({ title: 'Grüße 🔔', message: 'Zwei\nZeilen' }), {
        accepted: 1,
      });

      assert.deepEqual(await received(page, 1), ['Grüße 🔔: Zwei\nZeilen']);
      assert.match(await textOf(page, '#received time'), /\d:\d\d/);
      const [notification, ...further] = await shown(page, 'Grüße 🔔');
      assert.equal(further.length, 0);
      const { renotify = false, ...rest } = notification!;
      assert.equal(renotify, false);
      assert.deepEqual(rest, {
        title: 'Grüße 🔔',
        body: 'Zwei\nZeilen',
        tag: 'deskbell',
        requireInteraction: true,
      });
    },
  );

  chromiumTest(
    'a second message replaces the notification of the first; the page lists both',
    async ({ backend, openSubscribed }) => {
      const { page } = await openSubscribed();

      await backend.sendToAll({ title: 'First', message: '1' });
      await received(page, 1);
      await backend.sendToAll({ title: 'Second', message: '2' });

      assert.deepEqual(await received(page, 2), ['Second: 2', 'First: 1']);
      const titles = (await shown(page, 'Second')).map(({ title }) => title);
      assert.deepEqual(titles, ['Second']);
    },
  );

  furtherTest('a message to two open pages reaches both', async ({ backend, open, openSubscribed }) => {
    const pages = [(await openSubscribed()).page, await open()];
    await backend.sendToAll({ title: 'Both', message: 'of you' });
    for (const page of pages) assert.deepEqual(await received(page, 1), ['Both: of you']);
  });

  browserTest('a message arrives with no page open', async ({ testBrowser, backend, openSubscribed }) => {
    const { page } = await openSubscribed();
    await page.close();

    const nobodyHome = { title: 'Nobody home', message: 'still shown' };
    assert.deepEqual(await backend.sendToAll(nobodyHome, { receipts: true }), { accepted: 1 });
    await until(async () => (await backend.receipts(1))?.shown === 1, 'the receipt of what was shown');
    // A page without any script of ours, only to look at what is on the screen.
    const onlooker = await testBrowser.browser.newPage();
    await onlooker.goto(`${backend.url}healthz`);
    const [notification] = await shown(onlooker, 'Nobody home');
    assert.equal(notification?.body, 'still shown');
    assert.equal(notification.requireInteraction, true);
  });

  chromiumTest(
    'a press on Unsubscribe removes the row, and a send to what was there is gone',
    async ({ backend, openSubscribed }) => {
      const { page, row } = await openSubscribed();

      await press(page, 'Unsubscribe');

      assert.equal(await textOf(page, '#headline'), 'Not subscribed');
      assert.deepEqual(await backend.subscriptions(), []);
      assert.equal(await backend.sendTo(row, { title: 'Too', message: 'late' }), 'gone');
    },
  );

  furtherTest(
    'who unsubscribes while the server is away is gone at the next send, and the row disappears',
    async ({ backend, openSubscribed }) => {
      const { page } = await openSubscribed();
      await backend.stopService();

      await press(page, 'Unsubscribe');

      assert.equal(await textOf(page, '#headline'), 'Not subscribed');
      assert.match(await textOf(page, '#failure'), /the service cannot be reached.*unsubscribed anyway/);
      assert.equal((await backend.subscriptions()).length, 1);
      assert.deepEqual(await backend.sendToAll({ title: 'Anyone', message: 'there?' }), { gone: 1 });
      assert.deepEqual(await backend.subscriptions(), []);
    },
  );

  furtherTest(
    'messages arrive after a rotation of the keys, before the next visit and after it; then the former pair goes',
    async ({ backend, openSubscribed, storedRow, deliver }) => {
      const { page, row: former } = await openSubscribed();
      await backend.rotateKeys();

      await deliver(page, 'Former key', 'arrives');
      await assert.rejects(backend.retireKey(former.vapidPublicKey), { code: 'ERR_KEY_IN_USE' });

      await reload(page);

      const row = await storedRow();
      assert.notEqual(row.vapidPublicKey, former.vapidPublicKey);
      await deliver(page, 'New key', 'arrives');

      await backend.retireKey(former.vapidPublicKey);
      assert.equal(await backend.sendTo(row, { title: 'New key', message: 'alone' }), 'accepted');
      assert.deepEqual(await received(page, 2), ['New key: alone', 'New key: arrives']);
    },
  );

  furtherTest(
    'after the server has lost its row, loading the page brings it back',
    async ({ backend, openSubscribed, storedRow, deliver }) => {
      const { page, row: former } = await openSubscribed();
      await backend.forget(former.id);

      await reload(page);

      assert.equal(await textOf(page, '#stored'), 'Stored');
      const row = await storedRow();
      assert.equal(row.endpoint, former.endpoint);
      await deliver(page, 'Back', 'again');
    },
  );

  furtherTest(
    'where the service has other keys for its endpoint, the page subscribes anew, and those stay as they are',
    async ({ backend, open, deliverTo }) => {
      const page = await open();
      backend.takeNextEndpoint();
      await press(page, 'Subscribe');
      assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
      const [stranger, row, ...further] = await backend.subscriptions();
      assert.deepEqual(further, []);
      assert.deepEqual(backend.registrations.map(endpointOf), [stranger!.endpoint, row!.endpoint]);
      const sent = (backend.registrations as Record<string, string>[]).map(({ auth }) => auth);
      assert.ok(!sent.includes(Buffer.from(stranger!.auth).toString('base64')));
      await deliverTo(row!, page, 'First', 'visit');

      await backend.replaceKeys(row!.endpoint);
      const replaced = await backend.subscriptions();
      // a second page of the same browser at the same time
      const second = await open();
      await Promise.all([reload(page), reload(second)]);
      for (const each of [page, second]) assert.equal(await textOf(each, '#stored'), 'Stored');
      const [last, ...others] = (await backend.subscriptions()).toReversed();
      assert.deepEqual(others.toReversed(), replaced);
      await deliverTo(last!, page, 'Next', 'visit');
    },
  );

  browserTest(
    'when the push service drops a subscription, the service worker subscribes anew by itself',
    async ({ testBrowser, backend, openSubscribed, deliver }) => {
      const { page, row: former } = await openSubscribed();

      await testBrowser.dropSubscriptions(backend.url);

      await untilReplaced(backend, former);
      await deliver(page, 'Again', 'anew');
    },
  );

  furtherTest(
    'a subscription is whose the token says, stays theirs when it is renewed without a page, and nobody’s after signing out',
    async ({ testBrowser, backend, open }) => {
      const page = await open();
      const ownerOf = async () => {
        const [row] = await backend.subscriptions();
        return { user: row?.user, tags: row?.tags };
      };
      const signIn = (token: string) =>
        page.evaluate(`globalThis.token = ${JSON.stringify(token)}; undefined`);
      await page.evaluate(`import('./client/index.js').then(({ createClient }) => {
        globalThis.client = createClient({
          token: async () => {
            if (globalThis.token === 'none') throw new Error('no token is to be had');
            return globalThis.token;
          },
        });
      })`);

      await signIn('not a token');
      assert.equal(await page.evaluate('client.subscribe().catch(({ status }) => status)'), 401);
      const isSubscribed = 'client.state().then(({ subscription }) => subscription !== undefined)';
      assert.equal(await page.evaluate(isSubscribed), false, 'who is refused is not subscribed');

      await signIn(await backend.createToken('ada', ['de']));
      await page.evaluate('client.subscribe().then(() => undefined)');
      assert.deepEqual(await ownerOf(), { user: 'ada', tags: ['de'] });
      await signIn('');
      await page.evaluate('client.resync()');
      assert.deepEqual(await ownerOf(), { user: 'ada', tags: ['de'] });
      const [former] = await backend.subscriptions();
      await testBrowser.dropSubscriptions(backend.url);
      await untilReplaced(backend, former!);
      assert.deepEqual(await ownerOf(), { user: 'ada', tags: ['de'] });

      await signIn(await backend.createToken('bob'));
      assert.equal(await page.evaluate('client.resync()'), 'sent-again');
      assert.deepEqual(await ownerOf(), { user: 'bob', tags: [] });

      await signIn('none');
      for (const call of ['subscribe', 'resync', 'channels', 'setChannels']) {
        const error = await page.evaluate(`client.${call}().catch(({ message }) => message)`);
        assert.equal(error, 'no token is to be had');
      }
      await signIn('');
      await page.evaluate('client.signOut()');
      await page.evaluate('client.resync()');
      assert.deepEqual(await ownerOf(), { user: undefined, tags: [] });

      await signIn('not a token');
      const failure = await page.evaluate('client.resync().catch(({ status, message }) => status + message)');
      assert.match(String(failure), /^401.*The subscriber token is refused/);
    },
  );

  chromiumTest(
    'a server that is down is told, also on the console; once it is up, the same button works',
    async ({ backend, open }) => {
      const consoleErrors: string[] = [];
      const page = await open(consoleErrors);
      await backend.stopService();

      await press(page, 'Subscribe');

      assert.match(await saidByElement(page), /^There is no connection\./);
      assert.match(await textOf(page, '#failure'), /the service cannot be reached.*deskbell serve/);
      assert.match(
        consoleErrors.join('\n'),
        /Deskbell: (GET|POST|DELETE) http:\/\/localhost:\d+\/\w+: the service cannot be reached/,
      );
      await backend.startService();
      await press(page, 'Subscribe');
      assert.equal(await textOf(page, '#failure'), '');
      assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
    },
  );

  furtherTest(
    'a push service that is down is told; once it is up, the same button works',
    async ({ testBrowser, backend, open }) => {
      const page = await open();
      await testBrowser.stopPushService();

      await press(page, 'Subscribe');

      assert.match(await saidByElement(page), /^There is no connection\./);
      assert.match(
        await textOf(page, '#failure'),
        /^The browser's push service cannot be reached.*no firewall/,
      );
      assert.deepEqual(await backend.subscriptions(), []);
      await testBrowser.startPushServiceAgain();
      await press(page, 'Subscribe');
      assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
    },
  );

  furtherTest(
    'who unsubscribes while the push service is away is removed from the store',
    async (context) => {
      const { testBrowser, backend, openSubscribed } = context;
      const { page } = await openSubscribed();
      await testBrowser.stopPushService();

      await press(page, 'Unsubscribe');

      assert.equal(await textOf(page, '#headline'), 'Not subscribed');
      assert.deepEqual(await backend.subscriptions(), []);
      await testBrowser.startPushServiceAgain();
    },
  );

  furtherTest('the keyboard alone is enough, and shows where it is', async ({ backend, open }) => {
    const page = await open();
    await page.focus('body');
    const { keyboard } = page;
    const element = '(document.activeElement.shadowRoot?.activeElement ?? document.activeElement)';
    const focused = () => page.evaluate(`${element}.textContent.trim()`);
    const hasOutline = () => page.evaluate(`getComputedStyle(${element}).outlineStyle !== 'none'`);

    await keyboard.press('Tab');
    assert.equal(await focused(), 'Skip to the content');
    assert.equal(await hasOutline(), true);
    await keyboard.press('Enter');
    await keyboard.press('Tab');
    assert.equal(await focused(), 'Turn on notifications');
    assert.equal(await hasOutline(), true);
    await keyboard.press('Enter');
    await waitFor(page, 'deskbell-subscribe[state="subscribed"][aria-busy="false"]');
    assert.equal(await focused(), 'Turn off', 'the focus stays');
    await keyboard.press('Tab');
    assert.match(String(await focused()), /^Recent notifications/);
    await keyboard.press('Enter');
    await until(
      () => page.evaluate(`${shadow}.querySelector('[part="history"]').open`) as Promise<boolean>,
      'the list of the last notifications',
    );
    await keyboard.down('Shift');
    await keyboard.press('Tab');
    await keyboard.up('Shift');
    await keyboard.press(' ');
    await waitFor(page, 'deskbell-subscribe[state="unsubscribed"]');
    assert.deepEqual(await backend.subscriptions(), []);
    await page.focus('#copy');
    await keyboard.press('Enter');
    await until(async () => (await textOf(page, '#copy')) === 'Copied', 'the page to say that it has copied');
  });

  furtherTest(
    'a page of another origin, with a service worker of its own, subscribes, receives and leaves',
    async ({ backend, openOtherSite }) => {
      const { page } = await openOtherSite();

      await page.evaluate('client.subscribe().then(() => undefined)');
      assert.deepEqual(await backend.sendToAll({ title: 'Elsewhere', message: 'hello' }), { accepted: 1 });
      await waitFor(page, 'li');
      assert.equal(await textOf(page, 'li'), 'Elsewhere: hello');
      assert.equal((await shown(page, 'Elsewhere')).length, 1);
      await page.evaluate('client.unsubscribe()');
      assert.deepEqual(await backend.subscriptions(), []);

      const requestTime = await page.evaluate(
        `fetch('${backend.url}vapidKey').then((response) => response.headers.get('request-time'))`,
      );
      assert.match(String(requestTime), /^\d+$/, 'a page of another origin may read Request-Time');
    },
  );

  furtherTest(
    'a page load registers the script where the site has it now',
    async ({ backend, openOtherSite }) => {
      const { page } = await openOtherSite();
      await page.evaluate('client.subscribe().then(() => undefined)');

      const result = await page.evaluate(`
      import('${backend.url}client/index.js').then(({ createClient }) =>
        createClient({ serviceUrl: '${backend.url}', serviceWorkerUrl: 'moved-worker.js' }).synced)`);

      assert.equal(result, 'sent-again');
      await until(
        async () => String(await page.evaluate(activeScript)).includes('/moved-worker.js'),
        'the new script in the place of the former one',
      );
    },
  );

  furtherTest(
    'a service worker that is not there is told with what to do',
    async ({ backend, openOtherSite }) => {
      // It answers every other path with its page, as servers of single-page applications do.
      const { page } = await openOtherSite();
      const subscribeWith = (serviceWorkerUrl: string) =>
        page.evaluate(`
        import('${backend.url}client/index.js')
          .then(({ createClient }) =>
            createClient({ serviceUrl: '${backend.url}', serviceWorkerUrl: '${serviceWorkerUrl}' }).subscribe())
          .catch(({ reason, message }) => reason + ': ' + message)`);

      assert.equal(
        await subscribeWith('/assets/absent.js'),
        'service-worker-failed: The service worker /assets/absent.js is not there: the server answered with an HTML page ' +
          'instead of the script. Serve a copy of deskbell/service-worker.js there, or set serviceWorkerUrl.',
      );
      assert.match(String(await subscribeWith('data:text/javascript,')), /a data: URL.*url&no-inline/);
      assert.match(
        String(await subscribeWith(`${backend.url}service-worker.js`)),
        /must be on the page's own origin/,
      );
    },
  );

  furtherTest('each obstacle is told with what to do', async ({ testBrowser, backend, permit }) => {
    const isAsked = "Notification.requestPermission = async () => 'default'";
    const page = await testBrowser.browser.newPage();
    for (const [script, state, said] of [
      [isAsked, 'permission-dismissed', /^You have not chosen yet\..* choose “Allow”/],
      ['delete window.PushManager', 'no-support', /^This browser cannot show notifications\. Use a current/],
      [
        'delete window.PushManager; navigator.standalone = false;',
        'home-screen-required',
        /^First add this page to the Home Screen: press Share/,
      ],
      ['', 'permission-denied', /^Notifications are blocked\. Allow them in the settings of this site/],
    ] as const) {
      const isDismissed = script === isAsked;
      if (script === '') await permit(backend.url, 'denied');
      const { identifier } = await page.evaluateOnNewDocument(script);
      await page.goto(backend.url);
      if (isDismissed) await press(page, 'Subscribe');
      await waitFor(page, `deskbell-subscribe[state="${state}"]`);
      assert.match(await saidByElement(page), said);
      assert.equal(await isButtonShown(page), isDismissed);
      await page.removeScriptToEvaluateOnNewDocument(identifier);
    }
    assert.equal(await textOf(page, '#permission'), 'Notifications blocked');
    assert.deepEqual(await backend.subscriptions(), []);
  });
}

const shadow = "document.querySelector('deskbell-subscribe').shadowRoot";

const isButtonShown = (page: Page) => page.evaluate(`!${shadow}.querySelector('button').hidden`);

const endpointOf = (subscription: unknown): string => (subscription as StoredSubscription).endpoint;

export const unsubscribeSilently = `(async () => {
  const { pushManager } = await navigator.serviceWorker.ready;
  await (await pushManager.getSubscription()).unsubscribe();
})()`;

/** One row, and not the former one. */
export async function untilReplaced(backend: Backend, former: StoredSubscription): Promise<void> {
  let rows: readonly StoredSubscription[] = [];
  await until(
    async () => {
      rows = await backend.subscriptions();
      return rows.length === 1 && rows[0]!.endpoint !== former.endpoint;
    },
    () => `one new subscription in the place of the former one; there are ${rows.length} rows`,
  );
}

const activeScript = 'navigator.serviceWorker.ready.then(({ active }) => active.scriptURL)';
