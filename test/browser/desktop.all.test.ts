// Notifications on a real desktop: what the notification daemon shows, and what a click on it does.
import assert from 'node:assert/strict';
import { chromium } from '../../scripts/install-test-tools.ts';
import { startChromium } from '../../tools/browser/chromium.ts';
import { createDesktopTests } from './desktop-test.ts';
import { press, received } from '../../tools/browser/demo-page.ts';
import { until } from '../../tools/until.ts';

const { furtherTest, desktop, untilShown } = createDesktopTests(
  'the desktop tests',
  chromium,
  (environment) => startChromium({ isHeadless: false, environment }),
);

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
