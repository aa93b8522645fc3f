// Makes docs/images/console-*.png but the page Send: pages of the console in Chromium, over the store that the tests of all pages use.
import { join } from 'node:path';
import type { Store } from '../src/store/store.ts';
import { startChromium } from '../tools/browser/chromium.ts';
import { waitFor } from '../tools/browser/demo-page.ts';
import { Cleanup, go, signIn, startConsole } from '../test/browser/console-site.ts';
import { openStage, words } from '../test/browser/console-stage.ts';
import { madeUpSubscription } from '../test/store/made-up-subscription.ts';
import { madeUpSchedule } from '../test/store/store-under-test.ts';
import { chromium, install } from './install-test-tools.ts';

const folder = join(import.meta.dirname, '../docs/images');
const size = { width: 1280, height: 800 };
/** That of the navigation. */
const minHeight = 560;

if (await install('the pictures', [chromium])) await makePictures();
else process.exitCode = 1;

async function makePictures(): Promise<void> {
  await using cleanup = new Cleanup();
  const stage = await openStage(4000);
  cleanup.after(stage.remove);
  await addExamples(stage.store, stage.ids);
  const site = await startConsole(cleanup, stage.store, stage.sender);
  await using testBrowser = await startChromium();
  const page = await testBrowser.browser.newPage();
  await page.setViewport(size);
  await go(page, `${site.url}/console/`);
  await signIn(page, site.token);
  for (const [name, path, scheme] of [
    ['overview', '/console/', 'light'],
    ['broadcast', `/console/broadcasts/${stage.ids.running}`, 'dark'],
    ['push-services', '/console/push-services', 'light'],
    ['schedules', '/console/schedules', 'light'],
    ['person', `/console/people?user=${words.user}`, 'dark'],
    ['channels', '/console/channels', 'light'],
    ['audit', '/console/audit', 'light'],
  ] as const) {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await go(page, site.url + path);
    await waitFor(page, 'body[data-live=""], .is-live');
    // a short page leaves out what would be empty
    await page.setViewport(size);
    const bottom = await page.$eval('main', (main) => main.lastElementChild!.getBoundingClientRect().bottom);
    await page.setViewport({
      ...size,
      height: Math.min(size.height, Math.max(minHeight, Math.ceil(bottom) + 36)),
    });
    await page.screenshot({ path: join(folder, `console-${name}.png`) as `${string}.png` });
  }
}

/** What a stage for tests has one of, or with odd names. */
async function addExamples(
  { audit, channels, readers, schedules, subscriptions, vapidKeys }: Store,
  { running, paused }: { readonly running: number; readonly paused: number },
): Promise<void> {
  await channels.put({
    name: words.tag,
    title: 'Weekly digest',
    titles: { de: 'Die Woche', fr: 'La semaine' },
    isOnByDefault: false,
  });
  await readers.setPerson(words.user, {
    data: { name: 'Nadia', a_value_that_has_a_long_name: null },
    language: 'en',
    timeZone: 'Europe/London',
  });
  const endpoint = 'https://updates.push.services.mozilla.com/wpush/v2/example';
  await subscriptions.put({ ...madeUpSubscription(9999), endpoint }, (await vapidKeys.current())!, {
    assign: { user: words.user, tags: ['news', 'tea'] },
  });
  const dayMs = 24 * 60 * 60 * 1000;
  for (const [cron, title, message, tag] of [
    ['30 7 * * 1-5', 'Good morning', 'What is on today', 'news'],
    ['0 15 * * *', 'Tea is ready', 'Come while it is hot', 'tea'],
  ] as const)
    await schedules.add(
      madeUpSchedule({
        cron,
        timezone: 'Europe/London',
        message: { title, message },
        audience: { tags: { any: [tag] } },
        nextAtMs: Date.now() + dayMs,
      }),
    );
  await schedules.pause(2);
  for (const [operator, action, target, status] of [
    ['ada', 'broadcast.create', `broadcast ${running}`, 303],
    ['grace', 'channel.put', `channel ${words.tag}`, 303],
    ['shop', 'subscription.remove', 'subscription 7', 404],
    ['grace', 'schedule.pause', 'schedule 2', 303],
    ['ada', 'broadcast.pause', `broadcast ${paused}`, 303],
  ] as const)
    await audit.finish(await audit.begin({ operator, action, target }), { status, target: undefined });
}
