// Runs facts in one browser: each on a stage of its own, with another origin, so that none sees what the browser
// keeps of another.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Browser, Page } from 'puppeteer-core';
import { type Backend, type PushServiceAccess, startBackend } from './backend.ts';
import { openDemoPage, press, textOf } from './demo-page.ts';

/** A browser with a push service of its own. */
export interface Setting extends AsyncDisposable {
  readonly browser: Browser;
  readonly access: PushServiceAccess;
  stopPushService(): Promise<void>;
  startPushServiceAgain(): Promise<void>;
  /** Makes the browser drop its subscriptions and tell the service workers so (`pushsubscriptionchange`). */
  dropSubscriptions(siteUrl: string): Promise<void>;
}

export interface Stage {
  readonly setting: Setting;
  readonly backend: Backend;
  /** Answers the question about notifications beforehand; for the service's own origin it is granted. */
  permit(url: string, state: 'granted' | 'denied'): Promise<void>;
  /** @param consoleErrors collects what the page writes to the console */
  open(consoleErrors?: string[]): Promise<Page>;
  openSubscribed(): Promise<Page>;
}

export type Fact = (title: string, prove: (stage: Stage) => Promise<void>) => void;

/** @param skip why there is no browser to prove anything in, if so */
export function createFacts(start: () => Promise<Setting>, skip: false | string): Fact {
  const limit = { timeout: 90_000 };
  // Started by the first fact, not by a hook: where no title matches, nothing is started.
  let starting: Promise<Setting> | undefined;
  after(async () => (await starting)?.[Symbol.asyncDispose](), limit);

  return (title, prove) =>
    test(title, { ...limit, skip }, async () => {
      const setting = await (starting ??= start());
      await using backend = await startBackend(setting.access);
      const stage: Stage = {
        setting,
        backend,
        permit: (url, state) =>
          setting.browser
            .defaultBrowserContext()
            .setPermission(new URL(url).origin, { permission: { name: 'notifications' }, state }),
        open: (consoleErrors) => openDemoPage(setting.browser, backend.url, consoleErrors),
        async openSubscribed() {
          const page = await stage.open();
          await press(page, 'Subscribe');
          assert.equal(await textOf(page, '#headline'), 'This browser is subscribed');
          return page;
        },
      };
      try {
        await stage.permit(backend.url, 'granted');
        await prove(stage);
      } finally {
        const [, ...pages] = await setting.browser.pages();
        for (const page of pages) await page.close();
      }
    });
}
