// The rest of the tests of demo page and console in the installed Chromium, with a local stand-in for its push transport;
// `chromium-sites.all.test.ts` has those of other sites.
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { CDPSession, Page } from 'puppeteer-core';
import { chromium, skipWithout } from '../../scripts/install-test-tools.ts';
import { encodePayload } from '../../src/protocol/message/encode-payload.ts';
import { startChromium } from '../../tools/browser/chromium.ts';
import { until } from '../../tools/until.ts';
import {
  notificationsOnScreen,
  received,
  reload,
  saidByElement,
  type ShownNotification,
  waitFor,
} from '../../tools/browser/demo-page.ts';
import { testDemoPage, unsubscribeSilently, untilReplaced } from './demo-page-suite.ts';
import { testConsolePages } from './console-pages-suite.ts';
import { testConsole, testConsoleWithoutScripts } from './console-suite.ts';
import { createBrowserTests } from './browser-test.ts';
import { onScreen } from './notification-suite.ts';

const tests = createBrowserTests(
  ['furtherTest'],
  startChromium,
  skipWithout('the Chromium tests', [chromium]),
);
const { furtherTest } = tests;
testDemoPage(tests);
testConsole(tests);
testConsoleWithoutScripts(furtherTest);
testConsolePages(furtherTest, ['light', 'dark'], ['in trouble', 'empty', 'read only']);

furtherTest(
  'whatever JSON values title and message have, a notification is shown',
  async ({ openSubscribed }) => {
    const { page } = await openSubscribed();
    const push = await openPushInjection(page);
    const values = fc.jsonValue({ maxDepth: 2 });
    const payloads = fc.sample(fc.oneof(values, fc.record({ title: values, message: values })), {
      numRuns: 40,
      seed: 8291,
    });
    for (const [index, payload] of payloads.entries()) {
      await push(JSON.stringify(payload));
      const [latest] = await received(page, index + 1);
      const [notification] = (await page.evaluate(notificationsOnScreen)) as readonly ShownNotification[];
      assert.equal(latest, `${notification?.title}: ${notification?.body}`, JSON.stringify(payload));
    }
  },
);

furtherTest(
  'renotify alerts again, but not for the same message delivered again',
  async ({ backend, openSubscribed }) => {
    const { page, row } = await openSubscribed();
    const message = { title: 'Again', message: '', tag: 'again', renotify: true };
    const [first, second] = [encodePayload(message), encodePayload(message)];
    const alerts: unknown[] = [];
    for (const [index, payload] of [first, first, second].entries()) {
      await backend.sendPayload(row, payload);
      await received(page, index + 1);
      alerts.push(...(await onScreen(page)).map(({ renotify }) => renotify));
    }
    assert.deepEqual(alerts, [true, false, true]);
  },
);

furtherTest(
  'Background Sync makes the service worker subscribe anew',
  async ({ backend, openSubscribed }) => {
    const { page, row: former } = await openSubscribed();
    await page.evaluate(unsubscribeSilently);
    const { session, origin, registrationId } = await findServiceWorker(page);

    await session.send('ServiceWorker.dispatchSyncEvent', {
      origin,
      registrationId,
      tag: 'deskbell',
      lastChance: false,
    });

    await untilReplaced(backend, former);
  },
);

furtherTest('the demo page can be installed, on a Home Screen too', async ({ backend, open }) => {
  const page = await open();
  const session = await page.createCDPSession();
  const { url, errors } = await session.send('Page.getAppManifest');
  assert.equal(url, `${backend.url}manifest.webmanifest`);
  assert.deepEqual(errors, []);
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
  assert.deepEqual(installabilityErrors, []);
  const size = await page.evaluate(`(async () => {
    const response = await fetch(document.querySelector('link[rel="apple-touch-icon"]').href);
    return (await createImageBitmap(await response.blob())).width;
  })()`);
  assert.equal(size, 512);

  const link = await backend.invite('me');
  await page.goto(link);
  let startUrl: string | undefined;
  const startsWithLink = async (): Promise<boolean> => {
    startUrl = (await session.send('Page.getAppManifest')).manifest.startUrl;
    return startUrl === link;
  };
  // Chromium reads the manifest again some time after its link has changed; not at all where it was just reading the former one.
  await until(
    async () => {
      await reload(page);
      return until(startsWithLink, 'the manifest of the invitation', 5000).catch(() => false);
    },
    () => `an app on the Home Screen that starts with the invitation, not ${startUrl}`,
  );
});

furtherTest('a page that was not loaded securely is told so', async ({ testBrowser, backend }) => {
  const page = await testBrowser.browser.newPage();
  await page.goto(backend.url.replace('localhost', 'insecure.test'));
  await waitFor(page, 'deskbell-subscribe[state="insecure-context"]');
  assert.match(await saidByElement(page), /^Notifications need a secure connection.*https/);
});

furtherTest(
  'the page fits a window 320 pixels wide, whatever it received',
  async ({ backend, openSubscribed }) => {
    const { page } = await openSubscribed();
    await backend.sendToAll({ title: 'Long'.repeat(100), message: 'Longer'.repeat(100) });
    await received(page, 1);
    await page.setViewport({ width: 320, height: 640 });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320);
    const linesOfButtons = await page.evaluate(`[
    ...document.querySelectorAll('button'),
    document.querySelector('deskbell-subscribe').shadowRoot.querySelector('button'),
  ].map((button) => {
    const text = document.createRange();
    text.selectNodeContents(button);
    return text.getClientRects().length;
  })`);
    assert.deepEqual(linesOfButtons, [1, 1], 'no word of a button is broken');
  },
);

/** Delivers payloads straight to the service worker, as the developer tools do. */
async function openPushInjection(page: Page): Promise<(data: string) => Promise<void>> {
  const { session, origin, registrationId } = await findServiceWorker(page);
  return (data) => session.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data });
}

async function findServiceWorker(
  page: Page,
): Promise<{ readonly session: CDPSession; readonly origin: string; readonly registrationId: string }> {
  const session = await page.createCDPSession();
  const { promise, resolve } = Promise.withResolvers<string>();
  const { origin } = new URL(page.url());
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    const own = registrations.find(({ scopeURL }) => scopeURL === `${origin}/`);
    if (own) resolve(own.registrationId);
  });
  await session.send('ServiceWorker.enable');
  return { session, origin, registrationId: await promise };
}
