// The page on which a reader chooses channels, in every browser: by keyboard, at every width, and where something is missing.
import assert from 'node:assert/strict';
import type { Page } from 'puppeteer-core';
import { type Backend, startBackend } from '../../tools/browser/backend.ts';
import { openDemoPage, press, textOf, waitFor } from '../../tools/browser/demo-page.ts';
import { until } from '../../tools/until.ts';
import type { BrowserTest, BrowserTestContext } from './browser-test.ts';
import { axeFaults, preferScheme, rulesOfColors, type Scheme } from './console-pages-suite.ts';

const widths = [320, 390, 1440];

export function testChoosing(browserTest: BrowserTest): void {
  browserTest('a reader switches a channel off and on by keyboard', (context) =>
    switchByKeyboard(context, async () => []),
  );
}

/** @param schemes that the browser can be told to prefer; one that it prefers by itself is told nothing */
export function testPreferences(browserTest: BrowserTest, schemes: readonly Scheme[]): void {
  browserTest('a reader chooses, and no state of the page has a fault at any width', (context) =>
    switchByKeyboard(context, (page, what) => faultsAt(page, what, schemes)),
  );

  browserTest('the page speaks the language of the reader, below a prefix too', async (context) => {
    await using backend = await startWithChannels(context, '/some/folder');
    const page = await openDemoPage(context.testBrowser.browser, backend.url);
    await press(page, 'Subscribe');
    for (const [languages, lang, heading, direction] of [
      ['["xx", "de-CH", "en"]', 'de', 'Ihre Benachrichtigungen', 'ltr'],
      ['["zh-TW"]', 'zh-Hans', '您的通知', 'ltr'],
      ['["ar-EG"]', 'ar', 'إشعاراتك', 'rtl'],
      ['["fa"]', 'en', 'Your notifications', 'ltr'],
    ] as const) {
      await page.evaluateOnNewDocument(
        `Object.defineProperty(navigator, 'languages', { configurable: true, value: ${languages} })`,
      );
      await open(page, backend);
      assert.equal(await page.evaluate('document.documentElement.lang'), lang);
      assert.equal(await page.evaluate('document.documentElement.dir'), direction);
      assert.equal(await textOf(page, 'h1'), heading);
      assert.equal(await textOf(page, '#problem'), '');
    }
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
  assert.deepEqual([await textOf(page, '#problem'), await textOf(page, '#status')], ['', '']);
  await look('unsubscribed');
  await page.click('deskbell-subscribe >>> button');
  await untilSaid(page, '#status', 'There is nothing to choose at the moment.');
  assert.equal(await page.$('deskbell-subscribe:not([hidden])'), null);
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
  assert.equal(await page.$eval('li span', (title) => title.getAttribute('lang')), 'en');
  await look('channels');
  await page.focus('body');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle !== 'none'"), true);
  await page.keyboard.press(' ');
  await untilSaid(page, '#status', 'Saved.');
  const choices = async () => (await backend.subscriptions())[0]!.channels;
  assert.deepEqual(await choices(), { news: false });
  await page.keyboard.press('Tab');
  await page.keyboard.press(' ');
  await until(async () => (await choices())['offers'] === true, 'the offers to be switched on');
  // a request that the next page breaks off is written to the console
  await untilSaid(page, '#status', 'Saved.');
  await open(page, backend);
  assert.deepEqual(await switches(page), ['News: off', 'عروض خاصة: on']);
  assert.deepEqual(consoleErrors, [], 'the console stays empty, under the content security policy too');

  await backend.stopService();
  await page.click('[role="switch"]');
  await untilSaid(page, '#problem', 'Your choice was not saved. The server cannot be reached.');
  assert.deepEqual(await switches(page), ['News: off', 'عروض خاصة: on'], 'as they are');
  await look('offline');
  await backend.startService();
  await page.focus('#retry');
  await waitFor(page, '#retry:focus');
  await page.keyboard.press('Enter');
  await untilSaid(page, '#problem', '');
  assert.equal(await page.$eval(':focus', (element) => element.getAttribute('role')), 'switch');

  // Last with the keyboard: Firefox takes the focus from the page for a notification.
  const sendTo = (channel: string) =>
    backend.sendToAll({ title: channel, message: 'for whoever has it on' }, { channel });
  assert.deepEqual([await sendTo('news'), await sendTo('offers')], [{}, { accepted: 1 }]);

  await backend.forget((await backend.subscriptions())[0]!.id);
  await page.click('[role="switch"]');
  await untilSaid(page, '#status', 'Saved.');
  assert.deepEqual(await switches(page), ['News: on', 'عروض خاصة: off'], 'as for who has chosen nothing');
  await page.click('[role="switch"]');
  await untilSaid(
    page,
    '#problem',
    'Your choice was not saved. The server does not know this browser any more.',
  );
  await look('forgotten');
  assert.deepEqual(faults, []);
}

async function startWithChannels(
  { testBrowser, permit }: BrowserTestContext,
  prefix?: string,
): Promise<Backend> {
  const backend = await startBackend(testBrowser.access, { channels: true, prefix });
  await permit(backend.url, 'granted');
  return backend;
}

async function open(page: Page, { url }: Backend): Promise<void> {
  await page.goto(`${url}preferences`);
  await untilIdle(page);
}

const untilIdle = (page: Page): Promise<void> => waitFor(page, '#preferences[aria-busy="false"]');

const switches = (page: Page): Promise<readonly string[]> =>
  page.evaluate(
    `[...document.querySelectorAll('label')].map((label) =>
      label.textContent + ': ' + (label.querySelector('input').checked ? 'on' : 'off'))`,
  ) as Promise<readonly string[]>;

async function untilSaid(page: Page, selector: string, start: string): Promise<void> {
  let said = '';
  await until(
    async () => {
      said = await textOf(page, selector);
      return start === '' ? said === '' : said.startsWith(start);
    },
    () => `“${start}” on the page, which says “${said}”`,
  );
}

async function faultsAt(page: Page, what: string, schemes: readonly Scheme[]): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const width of widths) {
    await page.setViewport({ width, height: 900 });
    const shown = await page.evaluate('document.documentElement.scrollWidth');
    if (shown !== width) faults.push(`${what} at ${width}: ${shown} wide`);
    for (const scheme of schemes) {
      await preferScheme(page, scheme, schemes);
      const rules = scheme === schemes[0] ? undefined : rulesOfColors;
      faults.push(...(await axeFaults(page, `${what} ${scheme} ${width}`, rules)));
    }
  }
  return faults;
}
