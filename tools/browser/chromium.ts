// Starts the installed Chromium, told to use a local stand-in for its push transport.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { launch } from 'puppeteer-core';
import { chromium, find } from '../../scripts/install-test-tools.ts';
import type { TestBrowser } from './test-browser.ts';
import { fastFolder } from '../fast-folder.ts';
import { startFakeGcm } from './fake-gcm/fake-gcm.ts';
import { until } from '../until.ts';

export interface ChromiumOptions {
  readonly isHeadless?: boolean;
  readonly environment?: NodeJS.ProcessEnv;
  readonly furtherArguments?: readonly string[];
}

export async function startChromium(options: ChromiumOptions = {}): Promise<TestBrowser> {
  const { isHeadless = true, environment = process.env, furtherArguments = [] } = options;
  const gcm = await startFakeGcm();
  // Push needs a profile on disk: Chromium refuses it off the record.
  const userDataDir = await mkdtemp(join(fastFolder(), 'deskbell-chromium-'));
  const browser = await launch({
    executablePath: find(chromium)!,
    headless: isHeadless,
    userDataDir,
    env: environment,
    // A bar in the window says so otherwise.
    ignoreDefaultArgs: ['--enable-automation'],
    args: [
      '--no-sandbox',
      '--disable-gpu',
      // of its own windows and tabs, which nobody sees: a fifth of the processor time of a short test
      '--animation-duration-scale=0',
      '--wm-window-animations-disabled',
      '--host-resolver-rules=MAP insecure.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost',
      ...gcm.chromiumArguments,
      ...furtherArguments,
    ],
  });
  return {
    browser,
    access: {
      ca: [gcm.certificate],
      connectOverride: () => ({ host: '127.0.0.1', port: gcm.port }),
    },
    async clearCookies() {
      const session = await browser.target().createCDPSession();
      await session.send('Storage.clearCookies');
      await session.detach();
    },
    async stopPushService() {
      gcm.isDown = true;
    },
    async startPushServiceAgain() {
      gcm.isDown = false;
    },
    async dropSubscriptions(siteUrl) {
      // Chromium drops them when notifications are blocked, and tells the service worker when they are allowed again.
      const { origin } = new URL(siteUrl);
      assert.ok(gcm.isRegistered(origin), `${origin} has a subscription to be dropped`);
      const settings = await browser.newPage();
      await settings.goto('chrome://settings/content/notifications');
      const choose = (value: string) =>
        settings.evaluate(`chrome.send('setOriginPermissions', ['${origin}', 'notifications', '${value}'])`);
      await choose('allow');
      await browser.defaultBrowserContext().clearPermissionOverrides();
      await choose('block');
      await until(() => !gcm.isRegistered(origin), 'Chromium to drop its subscriptions');
      await choose('allow');
      await settings.close();
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await gcm[Symbol.asyncDispose]();
      await rm(userDataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
