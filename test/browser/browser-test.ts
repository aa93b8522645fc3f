// Runs tests in one browser: each with a backend of its own, and so another origin, so that none sees what the browser
// keeps of another.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Browser, Page } from 'puppeteer-core';
import { type Backend, type PushServiceAccess, startBackend } from './backend.ts';
import { openDemoPage, press, textOf } from './demo-page.ts';

/** A browser with a push service of its own. */
export interface TestBrowser extends AsyncDisposable {
  readonly browser: Browser;
  readonly access: PushServiceAccess;
  stopPushService(): Promise<void>;
  startPushServiceAgain(): Promise<void>;
  /** Makes the browser drop its subscriptions and tell the service workers so (`pushsubscriptionchange`). */
  dropSubscriptions(siteUrl: string): Promise<void>;
}

export interface BrowserTestContext {
  readonly testBrowser: TestBrowser;
  readonly backend: Backend;
  /** Answers the question about notifications beforehand; for the service's own origin it is granted. */
  permit(url: string, state: 'granted' | 'denied'): Promise<void>;
  /** @param consoleErrors collects what the page writes to the console */
  open(consoleErrors?: string[]): Promise<Page>;
  openSubscribed(): Promise<Page>;
}

export type BrowserTest = (title: string, run: (context: BrowserTestContext) => Promise<void>) => void;

/** @param skip why there is no browser to run anything in, if so */
export function createBrowserTests(start: () => Promise<TestBrowser>, skip: false | string): BrowserTest {
  const limit = { timeout: 90_000 };
  // Started by the first test, not by a hook: where no title matches, nothing is started.
  let starting: Promise<TestBrowser> | undefined;
  after(async () => (await starting)?.[Symbol.asyncDispose](), limit);

  return (title, run) =>
    test(title, { ...limit, skip }, async () => {
      const testBrowser = await (starting ??= start());
      await using backend = await startBackend(testBrowser.access);
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
          return page;
        },
      };
      try {
        await context.permit(backend.url, 'granted');
        await run(context);
      } finally {
        const [, ...pages] = await testBrowser.browser.pages();
        for (const page of pages) await page.close();
      }
    });
}
