// Notifications on a real desktop, in each browser: what the notification daemon shows, and which page clicks on it and on actions open.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import {
  chromium,
  desktop as desktopPrograms,
  firefox,
  type Program,
  skipWithout,
} from '../../scripts/install-test-tools.ts';
import type { TestBrowser } from '../../tools/browser/test-browser.ts';
import { startChromium } from '../../tools/browser/chromium.ts';
import { press, received } from '../../tools/browser/demo-page.ts';
import { createBrowserTests } from './browser-test.ts';
import { type Desktop, startDesktop } from '../../tools/browser/desktop.ts';
import { startFirefox } from '../../tools/browser/firefox.ts';
import { until } from '../../tools/until.ts';

const browsers = {
  Chromium: {
    tool: chromium,
    start: (environment: NodeJS.ProcessEnv) => startChromium({ isHeadless: false, environment }),
  },
  Firefox: {
    tool: firefox,
    start: (desktopEnvironment: NodeJS.ProcessEnv) => startFirefox({ desktopEnvironment }),
  },
};

const order = {
  title: 'Order 7',
  message: 'is ready',
  url: '?order=7',
  actions: [{ title: 'Invoice', url: '/?invoice=7' }, { title: 'Close' }],
};

for (const [name, { tool, start }] of Object.entries(browsers)) {
  suite(name, () => {
    const { furtherTest, desktop, untilShown } = createDesktopTests(
      `the tests of clicks in ${name}`,
      tool,
      start,
    );

    for (const [title, click, opened] of [
      ['a click opens the url of the message', () => desktop.clickNotification(), '?order=7'],
      ['a click on an action opens its url', () => desktop.clickAction('Invoice'), '?invoice=7'],
      ['an action without a url opens that of the message', () => desktop.clickAction('Close'), '?order=7'],
    ] as const)
      furtherTest(title, async ({ testBrowser, backend, openSubscribed }) => {
        await openSubscribed();
        await backend.sendToAll(order);
        await untilShown(1);
        await click();
        await untilOpen(testBrowser, `${backend.url}${opened}`);
        await untilShown(0);
      });

    furtherTest(
      'one notification is on the desktop, also after a second message',
      async ({ backend, openSubscribed }) => {
        const { page } = await openSubscribed();
        await backend.sendToAll({ title: 'First', message: '1' });
        await untilShown(1);
        await backend.sendToAll({ title: 'Second', message: '2' });
        await received(page, 2);
        assert.equal(await desktop.countNotifications(), 1);
        await desktop.clickNotification();
        await untilShown(0);
      },
    );

    furtherTest(
      'a click on the notification brings the page to the front',
      async ({ testBrowser, backend, openSubscribed }) => {
        const { page } = await openSubscribed();
        const other = await testBrowser.browser.newPage();
        await other.bringToFront();
        assert.equal(await page.evaluate('document.visibilityState'), 'hidden');
        await backend.sendToAll({ title: 'Look', message: 'here' });
        await untilShown(1);

        await desktop.clickNotification();

        await until(
          async () => (await page.evaluate('document.visibilityState')) === 'visible',
          'the page in the foreground',
        );
        await untilShown(0);
      },
    );

    furtherTest(
      'with no page open, a click opens one that lists the message',
      async ({ testBrowser, backend, openSubscribed }) => {
        await (await openSubscribed()).page.close();
        await backend.sendToAll({ title: 'While you were out', message: 'somebody rang' });
        await untilShown(1);

        const [target] = await Promise.all([
          testBrowser.browser.waitForTarget((candidate) => candidate.url() === backend.url),
          desktop.clickNotification(),
        ]);

        const page = await target.page();
        assert.deepEqual(await received(page!, 1), ['While you were out: somebody rang']);
        await press(page!, 'Unsubscribe');
      },
    );

    furtherTest(
      'clicks, on an action or beside, and dismissals are reported, each as one thing',
      async ({ backend, openSubscribed }) => {
        await openSubscribed();
        const perform = {
          clicked: () => desktop.clickNotification(),
          'clicked on an action': () => desktop.clickAction('Later'),
          dismissed: () => desktop.dismissNotification(),
        };
        const actions = [{ title: 'Later', action: 'later' }];
        for (const [what, act] of Object.entries(perform)) {
          const id = await backend.sendWithReceipts({ title: what, message: '', tag: what, actions });
          await untilShown(1);
          await act();
          await untilShown(0);
          const isClick = what !== 'dismissed';
          const expected = {
            shown: 1,
            clicked: isClick ? 1 : 0,
            dismissed: isClick ? 0 : 1,
            actions: what === 'clicked on an action' ? { later: 1 } : {},
          };
          let reported: object | undefined;
          await until(
            async () => isDeepStrictEqual((reported = await backend.receipts(id)), expected),
            () => `the reports, of which there are ${JSON.stringify(reported)}`,
          );
        }
      },
    );

    furtherTest(
      'with the script in another folder, a relative url is relative to the page that subscribed',
      async ({ testBrowser, backend, openOtherSite }) => {
        const { page, url } = await openOtherSite('some/article');
        await page.evaluate(`
          import('${backend.url}client/index.js').then(({ createClient }) =>
            createClient({ serviceUrl: '${backend.url}', serviceWorkerUrl: '/assets/worker.js' })
              .subscribe()
              .then(() => undefined))`);
        await backend.sendToAll({ title: 'Comment', message: '', url: 'article?comment=7' });
        await untilShown(1);
        await desktop.clickNotification();
        await untilOpen(testBrowser, `${url}some/article?comment=7`);
      },
    );

    furtherTest(
      'where a tab has the url already, it comes to the front',
      async ({ testBrowser, backend, openSubscribed }) => {
        const { page: first } = await openSubscribed();
        const page = await testBrowser.browser.newPage();
        await page.goto(`${backend.url}?order=7`);
        // was in front later, and its url only begins with that of the message
        await (await testBrowser.browser.newPage()).goto(`${backend.url}?order=70`);
        await first.bringToFront();
        assert.equal(await page.evaluate('document.visibilityState'), 'hidden');
        const { length } = await testBrowser.browser.pages();
        await backend.sendToAll(order);
        await untilShown(1);
        await desktop.clickNotification();
        await until(
          async () => (await page.evaluate('document.visibilityState')) === 'visible',
          'the page in the foreground',
        );
        assert.equal((await testBrowser.browser.pages()).length, length, 'and no further one is opened');
      },
    );
  });
}

async function untilOpen({ browser }: TestBrowser, url: string): Promise<void> {
  let urls: readonly string[] = [];
  await until(
    async () => {
      urls = (await browser.pages()).map((page) => page.url());
      return urls.includes(url);
    },
    () => `${url} to be open; open are ${urls.join(', ')}`,
  );
}

/**
 * Tests in a browser on a desktop, where its notifications are real.
 *
 * @param tool the browser's program
 */
function createDesktopTests(
  what: string,
  tool: Program,
  start: (environment: NodeJS.ProcessEnv) => Promise<TestBrowser>,
) {
  // Its members are there when the first test runs.
  const desktop = {} as Desktop;
  const { furtherTest } = createBrowserTests(
    ['furtherTest'],
    async () => {
      Object.assign(desktop, await startDesktop(1200, 800));
      const testBrowser = await start(desktop.environment);
      return {
        ...testBrowser,
        async [Symbol.asyncDispose]() {
          await testBrowser[Symbol.asyncDispose]();
          await desktop[Symbol.asyncDispose]();
        },
      };
    },
    skipWithout(what, [tool, ...desktopPrograms]),
  );
  const untilShown = (count: number) =>
    until(
      async () => (await desktop.countNotifications()) === count,
      `${count} notifications on the desktop`,
    );
  return { furtherTest, desktop, untilShown };
}
