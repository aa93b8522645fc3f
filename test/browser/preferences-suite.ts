// The page on which a reader chooses channels, in every browser: by keyboard, at every width, and where something is missing.
import assert from 'node:assert/strict';
import type { Page } from 'puppeteer-core';
import { type Backend, startBackend } from '../../tools/browser/backend.ts';
import { openDemoPage, press, saidByElement, textOf, waitFor } from '../../tools/browser/demo-page.ts';
import type { BrowserTest, BrowserTestContext } from './browser-test.ts';
import { faultsOf, type Scheme } from './console-pages-suite.ts';

export function testChoosing(browserTest: BrowserTest): void {
  browserTest('a reader switches a channel off and on by keyboard', (context) =>
    switchByKeyboard(context, async () => []),
  );
}

/** @param schemes that the browser can be told to prefer; one that it prefers by itself is told nothing */
export function testPreferences(browserTest: BrowserTest, schemes: readonly Scheme[]): void {
  browserTest('a reader chooses, and no state of the page has a fault at any width', (context) =>
    switchByKeyboard(context, (page, what) => faultsOf(page, what, schemes)),
  );

  browserTest('the page speaks the language of the reader, below a prefix too', async (context) => {
    await using backend = await startWithChannels(context, { prefix: '/some/folder' });
    const page = await openDemoPage(context.testBrowser.browser, backend.url);
    await press(page, 'Subscribe');
    for (const [languages, lang, heading, words, direction] of [
      [
        '["xx", "de-CH", "en"]',
        'de',
        'Ihre Benachrichtigungen',
        'Benachrichtigungen sind eingeschaltet.',
        'ltr',
      ],
      ['["zh-TW"]', 'zh-Hans', '您的通知', '通知已开启。', 'ltr'],
      ['["ar-EG"]', 'ar', 'إشعاراتك', 'الإشعارات مفعّلة.', 'rtl'],
      ['["fa"]', 'en', 'Your notifications', 'Notifications are on.', 'ltr'],
    ] as const) {
      await page.evaluateOnNewDocument(
        `Object.defineProperty(navigator, 'languages', { configurable: true, value: ${languages} })`,
      );
      await open(page, backend);
      assert.equal(await page.evaluate('document.documentElement.lang'), lang);
      assert.equal(await page.evaluate('document.documentElement.dir'), direction);
      assert.equal(await textOf(page, 'h1'), heading);
      assert.ok((await textOf(page, '#intro')).includes(new URL(backend.url).host));
      assert.ok((await saidByElement(page)).startsWith(words));
    }
  });

  browserTest('who needs an invitation, or is refused, is told where to go', async (context) => {
    await using backend = await startWithChannels(context, { registrations: 'invited', pushOnly: true });
    const { browser } = context.testBrowser;
    const page = await browser.newPage();
    const goElsewhere = async () => {
      await waitFor(page, 'deskbell-subscribe[hidden]');
      assert.match(
        await textOf(page, '#intro'),
        /^This browser gets no notifications from localhost:\d+\. Switch/,
      );
    };
    await open(page, backend);
    await goElsewhere();
    assert.deepEqual(await faultsOf(page, 'not invited', schemes), []);
    const invited = await openDemoPage(browser, await backend.invite('me'));
    await press(invited, 'Subscribe');
    await open(page, backend);
    assert.equal(
      await saidByElement(page),
      'Notifications are on. They show on this device, even when this page is closed.',
    );
    await backend.forget((await backend.subscriptions())[0]!.id);
    await open(page, backend);
    await goElsewhere();
  });
}

/** @param findFaults looks at the page as it is then */
async function switchByKeyboard(
  context: BrowserTestContext,
  findFaults: (page: Page, what: string) => Promise<readonly string[]>,
): Promise<void> {
  await using backend = await startWithChannels(context);
  const consoleErrors: string[] = [];
  const page = await openDemoPage(context.testBrowser.browser, backend.url, consoleErrors);
  const faults: string[] = [];
  const look = async (what: string) => faults.push(...(await findFaults(page, what)));

  await page.goto(await page.$eval('a[href="preferences"]', ({ href }) => href));
  await untilIdle(page);
  assert.match(
    await textOf(page, '#intro'),
    /^Choose what localhost:\d+ notifies you of\. Changes are saved at once\.$/,
  );
  assert.match(await saidByElement(page), /^Get news from /);
  await look('unsubscribed');
  await page.click('deskbell-subscribe >>> button');
  await waitFor(page, subscribed);
  assert.equal(await page.evaluate(`${shadow}.querySelector('li').textContent`), 'Nothing yet.');
  await look('no channels');

  await backend.addChannel({
    name: 'news',
    title: 'News',
    titles: { en: 'News', de: 'Nachrichten' },
    isOnByDefault: true,
  });
  await backend.addChannel({
    name: 'offers',
    title: 'عروض خاصة',
    titles: {},
    isOnByDefault: false,
  });
  await open(page, backend);
  assert.deepEqual(await switches(page), ['News: on', 'عروض خاصة: off']);
  assert.equal(await page.evaluate('document.documentElement.lang'), 'en');
  assert.equal(await page.evaluate(`${shadow}.querySelector('li span').lang`), 'en');
  await look('channels');
  await page.focus('body');
  for (const name of ['Turn off', 'What you get', 'News', 'عروض خاصة']) {
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(`(${focused}.closest('label') ?? ${focused}).textContent`), name);
    assert.equal(await page.evaluate(`getComputedStyle(${focused}).outlineStyle !== 'none'`), true);
    if (name === 'Turn off' || name === 'What you get') continue;
    await page.keyboard.press(' ');
    await untilIdle(page);
  }
  assert.deepEqual(await switches(page), ['News: off', 'عروض خاصة: on']);
  assert.deepEqual((await backend.subscriptions())[0]!.channels, { news: false, offers: true });
  await open(page, backend);
  assert.deepEqual(await switches(page), ['News: off', 'عروض خاصة: on']);
  assert.deepEqual(consoleErrors, [], 'the console stays empty, under the content security policy too');

  // Last with the keyboard: Firefox takes the focus from the page for a notification.
  const sendTo = (channel: string) =>
    backend.sendToAll({ title: channel, message: 'for whoever has it on' }, { channel });
  assert.deepEqual([await sendTo('news'), await sendTo('offers')], [{}, { accepted: 1 }]);

  const choose = async (name: string) => {
    await page.click(`deskbell-subscribe >>> [name="${name}"]`);
    await untilIdle(page);
  };
  await backend.stopService();
  await choose('news');
  assert.match(await saidByElement(page), /^There is no connection\./);
  assert.equal(
    await page.evaluate(`${shadow}.querySelector('[part="text"]').getAttribute('role')`),
    'status',
  );
  assert.deepEqual(await switches(page), ['News: off', 'عروض خاصة: on'], 'as they are');
  await look('offline');
  await backend.startService();
  await choose('news');
  assert.match(await saidByElement(page), /^Notifications are on\./);
  assert.deepEqual(await switches(page), ['News: on', 'عروض خاصة: on']);

  await backend.forget((await backend.subscriptions())[0]!.id);
  await choose('offers');
  assert.deepEqual(await switches(page), ['News: on', 'عروض خاصة: off'], 'as for who has chosen nothing');
  await choose('offers');
  await waitFor(page, 'deskbell-subscribe[hidden]');
  assert.match(await textOf(page, '#intro'), /^This browser gets no notifications from /);
  await look('forgotten');
  await open(page, backend);
  await waitFor(page, subscribed);
  assert.deepEqual(faults, []);
}

async function startWithChannels(
  { testBrowser, permit }: BrowserTestContext,
  options?: Parameters<typeof startBackend>[1],
): Promise<Backend> {
  const backend = await startBackend(testBrowser.access, { channels: true, ...options });
  await permit(backend.url, 'granted');
  return backend;
}

async function open(page: Page, { url }: Backend): Promise<void> {
  await page.goto(`${url}preferences`);
  await untilIdle(page);
}

const subscribed = 'deskbell-subscribe[state="subscribed"][aria-busy="false"]';

const untilIdle = (page: Page): Promise<void> => waitFor(page, 'deskbell-subscribe[aria-busy="false"]');

const shadow = "document.querySelector('deskbell-subscribe').shadowRoot";
const focused = `${shadow}.activeElement`;

const switches = (page: Page): Promise<readonly string[]> =>
  page.evaluate(
    `[...${shadow}.querySelectorAll('label')].map((label) =>
      label.textContent + ': ' + (label.querySelector('input').checked ? 'on' : 'off'))`,
  ) as Promise<readonly string[]>;
