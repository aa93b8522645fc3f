// What the demo page must do in every browser, written once: each fact is shown from the page by pressing its
// buttons, with the real service, store and sender behind it. One backend, and with it one origin, for each fact.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Browser, Page } from 'puppeteer-core';
import { type Backend, type PushServiceAccess, startBackend } from './backend.ts';
import { openDemoPage, press, received, reload, shown, steps, textOf, waitFor } from './demo-page.ts';

/** A browser with a push service of its own. */
export interface Setting {
  readonly browser: Browser;
  readonly access: PushServiceAccess;
  breakPushService(): Promise<void>;
  mendPushService(): Promise<void>;
  close(): Promise<void>;
}

/** @param skip why there is nothing to test with, if so */
export function testDemoPage(start: () => Promise<Setting>, skip: string | undefined): void {
  let setting: Setting;
  let blank: Page;

  before(async () => {
    if (skip) return;
    setting = await start();
    [blank] = (await setting.browser.pages()) as [Page];
  });
  after(() => setting?.close());

  function fact(title: string, prove: (backend: Backend) => Promise<void>): void {
    test(title, { skip: skip ?? false }, async () => {
      const backend = await startBackend(setting.access);
      try {
        await permit(backend, 'granted');
        await prove(backend);
      } finally {
        for (const page of await setting.browser.pages()) if (page !== blank) await page.close();
        await backend.close();
      }
    });
  }

  function permit(backend: Backend, state: 'granted' | 'denied'): Promise<void> {
    const { origin } = new URL(backend.url);
    return setting.browser
      .defaultBrowserContext()
      .setPermission(origin, { permission: { name: 'notifications' }, state });
  }

  const open = (backend: Backend, complaints?: string[]) =>
    openDemoPage(setting.browser, backend.url, complaints);

  async function openSubscribed(backend: Backend): Promise<Page> {
    const page = await open(backend);
    await press(page, 'Subscribe');
    assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
    return page;
  }

  fact("a press on Subscribe stores this browser's subscription and says so", async (backend) => {
    const complaints: string[] = [];
    const page = await open(backend, complaints);
    assert.equal(await textOf(page, '#headline'), 'Not subscribed');
    assert.equal(await textOf(page, '#permission'), 'Notifications allowed');

    await press(page, 'Subscribe');

    const [row, ...further] = await backend.subscriptions();
    assert.equal(further.length, 0);
    assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
    assert.equal(await textOf(page, '#push-service'), new URL(row!.endpoint).host);
    assert.equal(await textOf(page, '#stored'), 'Stored');
    assert.deepEqual((await steps(page)).slice(-5), [
      'Asking the server for its public key.',
      'The server gave its public key, which the push service will know it by.',
      'The push service has a subscription for this browser. Sending it to the server.',
      'The server has stored the subscription.',
      'This browser is subscribed.',
    ]);
    assert.deepEqual(complaints, [], 'the console stays empty, under the content security policy too');
  });

  fact('a message shows as a notification that stays, and in the open page', async (backend) => {
    const page = await openSubscribed(backend);

    assert.deepEqual(await backend.sendToAll({ title: 'Grüße 🔔', message: 'Zwei\nZeilen' }), ['accepted']);

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
  });

  fact('a second message replaces the notification of the first; the page lists both', async (backend) => {
    const page = await openSubscribed(backend);

    await backend.sendToAll({ title: 'First', message: '1' });
    await received(page, 1);
    await backend.sendToAll({ title: 'Second', message: '2' });

    assert.deepEqual(await received(page, 2), ['Second: 2', 'First: 1']);
    const titles = (await shown(page, 'Second')).map(({ title }) => title);
    assert.deepEqual(titles, ['Second']);
  });

  fact('a message to two open pages reaches both', async (backend) => {
    const pages = [await openSubscribed(backend), await open(backend)];
    await backend.sendToAll({ title: 'Both', message: 'of you' });
    for (const page of pages) assert.deepEqual(await received(page, 1), ['Both: of you']);
  });

  fact('a message arrives with no page open', async (backend) => {
    const page = await openSubscribed(backend);
    await page.close();

    assert.deepEqual(await backend.sendToAll({ title: 'Nobody home', message: 'still shown' }), ['accepted']);

    await setTimeout(1000);
    // A page without any script of ours, only to look at what is on the screen.
    const onlooker = await setting.browser.newPage();
    await onlooker.goto(`${backend.url}healthz`);
    const [notification] = await shown(onlooker, 'Nobody home');
    assert.equal(notification?.body, 'still shown');
    assert.equal(notification.requireInteraction, true);
  });

  fact('a press on Unsubscribe removes the row, and a send to what was there is gone', async (backend) => {
    const page = await openSubscribed(backend);
    const [row] = await backend.subscriptions();

    await press(page, 'Unsubscribe');

    assert.equal(await textOf(page, '#headline'), 'Not subscribed');
    assert.deepEqual((await steps(page)).slice(-2), [
      'The server has removed its copy.',
      'This browser is not subscribed any more.',
    ]);
    assert.deepEqual(await backend.subscriptions(), []);
    assert.equal(await backend.sendTo(row!, { title: 'Too', message: 'late' }), 'gone');
  });

  fact(
    'who unsubscribes while the server is away is gone at the next send, and the row disappears',
    async (backend) => {
      const page = await openSubscribed(backend);
      await backend.stopService();

      await press(page, 'Unsubscribe');

      assert.equal(await textOf(page, '#headline'), 'Not subscribed');
      assert.match(await textOf(page, '#failure'), /^The server cannot be reached/);
      assert.equal((await backend.subscriptions()).length, 1);
      assert.deepEqual(await backend.sendToAll({ title: 'Anyone', message: 'there?' }), ['gone']);
      assert.deepEqual(await backend.subscriptions(), []);
    },
  );

  fact('after a change of the server key, loading the page subscribes anew', async (backend) => {
    const page = await openSubscribed(backend);
    const [former] = await backend.subscriptions();
    await backend.changeKeys();

    await reload(page);

    assert.equal(
      (await steps(page)).at(-1),
      'The server has a new key, so this browser has subscribed anew.',
    );
    const [row, ...further] = await backend.subscriptions();
    assert.equal(further.length, 0, 'the row of the old subscription is removed');
    assert.notEqual(row!.endpoint, former!.endpoint);
    assert.notEqual(row!.vapidPublicKey, former!.vapidPublicKey);
    assert.deepEqual(await backend.sendToAll({ title: 'New key', message: 'same browser' }), ['accepted']);
    assert.deepEqual(await received(page, 1), ['New key: same browser']);
  });

  fact('after the server has lost its row, loading the page brings it back', async (backend) => {
    const page = await openSubscribed(backend);
    const [former] = await backend.subscriptions();
    await backend.forget(former!.id);

    await reload(page);

    assert.equal(await textOf(page, '#stored'), 'Stored');
    const [row] = await backend.subscriptions();
    assert.equal(row!.endpoint, former!.endpoint);
    assert.deepEqual(await backend.sendToAll({ title: 'Back', message: 'again' }), ['accepted']);
    assert.deepEqual(await received(page, 1), ['Back: again']);
  });

  fact('a denied permission is told with what to do', async (backend) => {
    await permit(backend, 'denied');
    const page = await open(backend);
    await press(page, 'Subscribe');
    assert.match(
      await textOf(page, '#failure'),
      /^Notifications are blocked for this site.*allow notifications/,
    );
    assert.equal(await textOf(page, '#permission'), 'Notifications blocked');
    assert.deepEqual(await backend.subscriptions(), []);
  });

  fact(
    'a server that is down is told, also on the console; once it is up, the same button works',
    async (backend) => {
      const complaints: string[] = [];
      const page = await open(backend, complaints);
      await backend.stopService();

      await press(page, 'Subscribe');

      assert.match(await textOf(page, '#failure'), /^The server cannot be reached.*deskbell serve/);
      assert.match(complaints.join('\n'), /Deskbell: localhost:\d+ cannot be reached/);
      await backend.startService();
      await press(page, 'Subscribe');
      assert.equal(await textOf(page, '#failure'), '');
      assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
    },
  );

  fact('a push service that is down is told; once it is up, the same button works', async (backend) => {
    const page = await open(backend);
    await setting.breakPushService();

    await press(page, 'Subscribe');

    assert.match(
      await textOf(page, '#failure'),
      /^The browser's push service cannot be reached.*press Subscribe again/,
    );
    assert.deepEqual(await backend.subscriptions(), []);
    await setting.mendPushService();
    await press(page, 'Subscribe');
    assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
  });

  fact('the keyboard alone is enough, and shows where it is', async (backend) => {
    const page = await open(backend);
    await page.focus('body');
    const { keyboard } = page;
    const focused = () => page.$eval(':focus', (element) => element.textContent?.trim());
    const hasOutline = () =>
      page.evaluate("getComputedStyle(document.activeElement).outlineStyle !== 'none'");

    await keyboard.press('Tab');
    assert.equal(await focused(), 'Skip to the content');
    assert.equal(await hasOutline(), true);
    await keyboard.press('Enter');
    await keyboard.press('Tab');
    assert.equal(await focused(), 'Subscribe');
    assert.equal(await hasOutline(), true);
    await keyboard.press('Enter');
    await waitFor(page, '#browser.is-on');
    assert.equal(await focused(), 'Subscribe', 'the focus stays');
    await keyboard.press('Tab');
    assert.equal(await focused(), 'Unsubscribe');
    await keyboard.press(' ');
    await waitFor(page, '#browser:not(.is-on)');
    assert.deepEqual(await backend.subscriptions(), []);
  });
}
