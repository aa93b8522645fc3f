// Clicks on notifications and their actions on a real desktop, in each browser: which page they open.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { chromium, firefox } from '../../scripts/install-test-tools.ts';
import type { TestBrowser } from '../../tools/browser/test-browser.ts';
import { startChromium } from '../../tools/browser/chromium.ts';
import { createDesktopTests } from './desktop-test.ts';
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

    furtherTest('a click opens the url of the message', async ({ testBrowser, backend, openSubscribed }) => {
      await openSubscribed();
      await backend.sendToAll(order);
      await untilShown(1);
      await desktop.clickNotification();
      await untilOpen(testBrowser, `${backend.url}?order=7`);
      await untilShown(0);
    });

    furtherTest('a click on an action opens its url', async ({ testBrowser, backend, openSubscribed }) => {
      await openSubscribed();
      await backend.sendToAll(order);
      await untilShown(1);
      await desktop.clickAction('Invoice');
      await untilOpen(testBrowser, `${backend.url}?invoice=7`);
      await untilShown(0);
    });

    furtherTest(
      'an action without a url opens that of the message',
      async ({ testBrowser, backend, openSubscribed }) => {
        await openSubscribed();
        await backend.sendToAll(order);
        await untilShown(1);
        await desktop.clickAction('Close');
        await untilOpen(testBrowser, `${backend.url}?order=7`);
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
