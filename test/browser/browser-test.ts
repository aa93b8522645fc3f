// Runs tests in one browser: each with a backend of its own, and so another origin, so that none sees what the browser
// keeps of another.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'puppeteer-core';
import type { StoredSubscription } from '../../src/store/subscriptions.ts';
import { type Backend, startBackend } from '../../tools/browser/backend.ts';
import { openDemoPage, press, received, textOf } from '../../tools/browser/demo-page.ts';
import { startOtherSite } from './other-site.ts';
import { type Shop, startShop } from './shop.ts';
import type { TestBrowser } from '../../tools/browser/test-browser.ts';

export interface BrowserTestContext {
  readonly testBrowser: TestBrowser;
  readonly backend: Backend;
  /** Answers the question about notifications beforehand; for the service's own origin it is granted. */
  permit(url: string, state: 'granted' | 'denied'): Promise<void>;
  /** @param consoleErrors collects what the page writes to the console */
  open(consoleErrors?: string[]): Promise<Page>;
  /** Opens the page and subscribes: `row` is the one subscription that the service has stored. */
  openSubscribed(): Promise<{ readonly page: Page; readonly row: StoredSubscription }>;
  storedRow(): Promise<StoredSubscription>;
  /** Sends to everybody, and waits until the page lists this message and no other. */
  deliver(page: Page, heading: string, message: string): Promise<void>;
  /** The same, to one subscription alone; it is the newest in the list. */
  deliverTo(subscription: StoredSubscription, page: Page, heading: string, message: string): Promise<void>;
  /** A page of another site that uses the service, where notifications are permitted. @param path without its first slash */
  openOtherSite(path?: string): Promise<{ readonly page: Page; readonly url: string }>;
  /** A second service, with a store of its own. */
  startAnotherBackend(): Promise<Backend>;
  /** A site with service workers of its own, where notifications are permitted. */
  startShop(): Promise<Shop>;
}

export type BrowserTest = (title: string, run: (context: BrowserTestContext) => Promise<void>) => void;

const leaveOut: BrowserTest = () => {};

export interface BrowserTests {
  /** Of `npm test`, in each browser. */
  readonly browserTest: BrowserTest;
  /** Of `npm test` in Chromium, and of `npm run test:all` in the others. */
  readonly chromiumTest: BrowserTest;
  /** Of `npm run test:all` only. */
  readonly furtherTest: BrowserTest;
}

/**
 * @param kinds of tests that the file that calls this runs
 * @param skip why there is no browser to run anything in, if so
 */
export function createBrowserTests(
  kinds: readonly (keyof BrowserTests)[],
  start: () => Promise<TestBrowser>,
  skip: false | string,
): BrowserTests {
  // Started by the first test, not by a hook: where no title matches, nothing is started.
  let starting: Promise<TestBrowser> | undefined;
  after(async () => (await starting)?.[Symbol.asyncDispose]());

  const register: BrowserTest = (title, run) =>
    test(title, { skip }, async () => {
      const testBrowser = await (starting ??= start());
      await using resources = new AsyncDisposableStack();
      const backend = resources.use(await startBackend(testBrowser.access));
      const context: BrowserTestContext = {
        testBrowser,
        backend,
        permit: (url, state) =>
          testBrowser.browser
            .defaultBrowserContext()
            .setPermission(new URL(url).origin, { permission: { name: 'notifications' }, state }),
        open: (consoleErrors) => openDemoPage(testBrowser.browser, backend.url, consoleErrors),
        async openSubscribed() {
          const page = await context.open();
          await press(page, 'Subscribe');
          assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
          return { page, row: await context.storedRow() };
        },
        async storedRow() {
          const [row, ...further] = await backend.subscriptions();
          assert.ok(row);
          assert.equal(further.length, 0, 'there is one subscription');
          return row;
        },
        async deliver(page, heading, message) {
          assert.deepEqual(await backend.sendToAll({ title: heading, message }), { accepted: 1 });
          assert.deepEqual(await received(page, 1), [`${heading}: ${message}`]);
        },
        async deliverTo(subscription, page, heading, message) {
          assert.equal(await backend.sendTo(subscription, { title: heading, message }), 'accepted');
          assert.equal((await received(page, 1))[0], `${heading}: ${message}`);
        },
        startAnotherBackend: async () => resources.use(await startBackend(testBrowser.access)),
        async startShop() {
          const shop = resources.use(await startShop(backend.url));
          await context.permit(shop.url, 'granted');
          return shop;
        },
        async openOtherSite(path = '') {
          const { url } = resources.use(await startOtherSite(backend.url));
          await context.permit(url, 'granted');
          const page = await testBrowser.browser.newPage();
          await page.goto(url + path);
          return { page, url };
        },
      };
      try {
        await context.permit(backend.url, 'granted');
        await run(context);
      } finally {
        // They are those of every port.
        await testBrowser.clearCookies();
        const [, ...pages] = await testBrowser.browser.pages();
        for (const page of pages) await page.close();
      }
    });
  const of = (kind: keyof BrowserTests): BrowserTest => (kinds.includes(kind) ? register : leaveOut);
  return {
    browserTest: of('browserTest'),
    chromiumTest: of('chromiumTest'),
    furtherTest: of('furtherTest'),
  };
}
