// What a sender may add to a message, and what becomes of it in a browser: written once for every browser, with the real
// service, store and sender behind it.
import assert from 'node:assert/strict';
import type { Page } from 'puppeteer-core';
import { encodePayload } from '../../src/protocol/message/encode-payload.ts';
import type { Message } from '../../src/protocol/message/message.ts';
import type { BrowserTest } from './browser-test.ts';
import { received, textOf, waitFor } from '../../tools/browser/demo-page.ts';
import { subscribeWithHooks } from './other-site.ts';

const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const fullMessage = {
  title: 'Order 7',
  message: 'is ready',
  url: '/orders/7',
  icon: 'icon.png',
  image: picture,
  badge: 'badge.png',
  actions: [
    { title: 'Open', url: '/orders/7' },
    { title: 'Later', action: 'later' },
  ],
  tag: 'orders',
  renotify: true,
  requireInteraction: false,
  silent: true,
  timestamp: Date.UTC(2027, 0, 1),
  lang: 'de',
  dir: 'rtl',
  appBadge: 7,
  data: { order: 7 },
} as const satisfies Message;

/** `getNotifications()` as plain objects; a member that the browser does not have is left out. */
const readNotifications = `(async () => {
  const registration = await navigator.serviceWorker.getRegistration();
  const names = ['title', 'body', 'icon', 'image', 'badge', 'tag', 'renotify', 'requireInteraction', 'silent',
    'timestamp', 'lang', 'dir', 'data', 'actions'];
  const toPlain = (notification) =>
    JSON.parse(JSON.stringify(Object.fromEntries(names.map((name) => [name, notification[name]]))));
  return (await registration.getNotifications()).map(toPlain);
})()`;

type Notifications = readonly Readonly<Record<string, unknown>>[];
export const onScreen = async (page: Page) => (await page.evaluate(readNotifications)) as Notifications;

/** @param dropped the members that this browser does not have */
export function testNotifications(browserTest: BrowserTest, dropped: readonly string[]): void {
  browserTest('each member of a message arrives as it was sent', async ({ backend, openSubscribed }) => {
    const { page } = await openSubscribed();
    await backend.sendToAll(fullMessage);
    await received(page, 1);
    const [notification, ...further] = await onScreen(page);
    assert.equal(further.length, 0);

    const { data, actions, ...members } = notification!;
    const { message: body, url, appBadge, data: ownData, actions: ownActions, ...sent } = fullMessage;
    const expected = {
      ...sent,
      body,
      icon: `${backend.url}icon.png`,
      badge: `${backend.url}badge.png`,
    };
    assert.deepEqual(
      members,
      Object.fromEntries(Object.entries(expected).filter(([name]) => !dropped.includes(name))),
    );
    assert.deepEqual(
      (actions as Notifications).map(({ action, title }) => ({ action, title })),
      [
        { action: '0', title: 'Open' },
        { action: 'later', title: 'Later' },
      ],
    );
    const { deskbell } = data as { readonly deskbell: Readonly<Record<string, unknown>> };
    assert.deepEqual(deskbell['data'], ownData);
    assert.equal(deskbell['url'], url);
    assert.equal(deskbell['appBadge'], appBadge);
    assert.equal((deskbell['actions'] as readonly unknown[]).length, ownActions.length);
  });

  browserTest(
    'the declarative form shows as the same message without it',
    async ({ backend, openSubscribed }) => {
      const { page } = await openSubscribed();
      const message = { ...fullMessage, url: `${backend.url}?order=7`, icon: picture, badge: picture };
      const actions = message.actions.map((action) => ({ ...action, url: message.url }));
      const shown: Notifications[] = [];
      for (const declarative of [false, true]) {
        await backend.sendToAll({ ...message, actions, declarative, tag: String(declarative) });
        await received(page, shown.length + 1);
        shown.push(await onScreen(page));
      }
      const [plain, both] = shown as [Notifications, Notifications];
      const ofForm = both.find(({ tag }) => tag === 'true')!;
      const { data, ...members } = ofForm;
      const { data: plainData, ...plainMembers } = plain[0]!;
      assert.deepEqual(members, { ...plainMembers, tag: 'true' });
      assert.deepEqual(sentMembers(data), { ...sentMembers(plainData), tag: 'true' });
    },
  );

  browserTest(
    "the site's own service worker changes what is shown; where it fails, the message is shown as it came",
    async ({ backend, openOtherSite }) => {
      const { page } = await openOtherSite('hooks/');
      await page.evaluate(subscribeWithHooks(backend.url));
      for (const [index, title] of ['broken', 'same', 'changed'].entries()) {
        await backend.sendToAll({ title, message: 'm', url: '/7', tag: 'sent' });
        await waitFor(page, `li:nth-child(${index + 1})`);
        const isChanged = title === 'changed';
        const expectedTitle = isChanged ? 'CHANGED' : title;
        assert.equal(await textOf(page, 'li:last-child'), `${expectedTitle}: m`);
        const shown = (await onScreen(page)).find((notification) => notification['title'] === expectedTitle);
        assert.ok(shown);
        const { deskbell } = shown['data'] as { deskbell: Record<string, unknown> };
        assert.equal(shown['tag'], isChanged ? 'changed' : 'sent');
        assert.deepEqual(deskbell['data'], isChanged ? { from: '/7' } : undefined);
        assert.equal(deskbell['url'], isChanged ? undefined : '/7');
      }
    },
  );

  browserTest('two tags show two notifications, the same tag one', async ({ backend, openSubscribed }) => {
    const { page } = await openSubscribed();
    const messages: readonly Message[] = [
      { title: 'A1', message: '', tag: 'a' },
      { title: 'B1', message: '', tag: 'b' },
      { title: 'A2', message: '', tag: 'a' },
      { title: 'No tag', message: '' },
    ];
    for (const [index, message] of messages.entries()) {
      await backend.sendToAll(message);
      await received(page, index + 1);
    }
    assert.deepEqual(titles(await onScreen(page)), ['A2', 'B1', 'No tag']);
  });

  browserTest(
    'tag: null replaces nothing but the same message delivered again',
    async ({ backend, openSubscribed }) => {
      const { page, row } = await openSubscribed();
      const first = encodePayload({ title: 'First', message: '', tag: null });
      const second = encodePayload({ title: 'Second', message: '', tag: null });
      for (const [index, payload] of [first, second, first].entries()) {
        await backend.sendPayload(row, payload);
        await received(page, index + 1);
      }
      assert.deepEqual(titles(await onScreen(page)), ['First', 'Second']);
    },
  );

  browserTest(
    'a message whose members no browser can show is shown by its texts',
    async ({ backend, openSubscribed }) => {
      const { page, row } = await openSubscribed();
      const payloads = [
        { title: '0', message: 'm', dir: 'up' },
        { title: '1', message: 'm', actions: 'none' },
        { title: '2', message: 'm', actions: [null] },
        { title: '3', message: 'm', tag: '', renotify: true },
        { title: '4', message: 'm', tag: null, icon: null, url: null, actions: null, appBadge: null },
        { title: '5', message: 'm', icon: 'http://', url: 7, appBadge: 'many' },
      ];
      for (const [index, payload] of payloads.entries()) {
        await backend.sendPayload(row, Buffer.from(JSON.stringify(payload)));
        await received(page, index + 1);
        assert.ok(titles(await onScreen(page)).includes(String(index)), `payload ${index}`);
      }
    },
  );
}

/** Without what is different each time. */
function sentMembers(data: unknown): object {
  const { id: _, receivedAtMs: __, ...members } = (data as { deskbell: Record<string, unknown> }).deskbell;
  return members;
}

const titles = (notifications: Notifications) => notifications.map(({ title }) => title).sort();
