// The console as an operator uses it, in a real browser: signing in, composing, a message to this very browser, a broadcast
// watched while it runs, and what the page says when the server is gone.
import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { KeyInput, Page } from 'puppeteer-core';
import { generateUserAgentKeys } from '../../src/protocol/user-agent.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import type { Store } from '../../src/store/store.ts';
import { openBroadcastBench, vapidKeys } from '../delivery/broadcast-bench.ts';
import { startOperator } from '../operator/running-operator.ts';
import { madeUpSubscription } from '../store/made-up-subscription.ts';
import type { BrowserTest, BrowserTests } from './browser-test.ts';
import { axeFaults, faultsOf } from './console-pages-suite.ts';
import { openStage } from './console-stage.ts';
import { Cleanup, go, openConsole, press, startConsole, type } from './console-site.ts';
import { isThere, shown, textOf, waitFor } from '../../tools/browser/demo-page.ts';
import type { TestBrowser } from '../../tools/browser/test-browser.ts';
import { startHeldPushService } from '../../tools/held-push-service.ts';
import { until } from '../../tools/until.ts';

const rows = 3000;

export function testConsole({ browserTest, chromiumTest, furtherTest }: BrowserTests): void {
  browserTest(
    'console: sign in, compose, preview, send to this browser, review and send',
    async (context) => {
      const { testBrowser, permit } = context;
      await using cleanup = new Cleanup();
      const keys = generateVapidKeys();
      const operator = await startOperator(cleanup, {
        senderOptions: { vapid: { ...keys, subject: 'mailto:ops@example.org' }, ...testBrowser.access },
      });
      await operator.store.vapidKeys.makeCurrent(keys.publicKey);
      const url = `http://localhost:${operator.port}`;
      await permit(url, 'granted');
      const faults: string[] = [];
      const page = await openConsole(testBrowser, { url, token: await operator.add('ada', 'full') }, faults);

      await go(page, `${url}/console/send`);
      await type(page, 'title', 'Ding <b>dong</b>');
      await type(page, 'message', 'Tea is ready');
      await until(
        async () => (await textOf(page, '.notification .message')) === 'Tea is ready',
        'the preview of what was typed',
      );
      assert.equal(await textOf(page, '.notification strong'), 'Ding <b>dong</b>');
      await page.click('[data-send-to-me]');
      await until(
        async () => /took the message/.test(await textOf(page, '[data-answer]')),
        'the answer on the page',
      );
      const notifications = await shown(page, 'Ding <b>dong</b>');
      assert.equal(notifications[0]?.body, 'Tea is ready');
      assert.equal(await operator.store.subscriptions.count(), 0, 'the subscription is not stored');

      await press(page, 'button.primary');
      assert.match(await textOf(page, 'main'), /Recipients 0 subscriptions/);
      await press(page, 'form[action="/console/send/confirm"] button');
      assert.equal(await textOf(page, 'h1'), 'Broadcast 1');
      assert.match(await textOf(page, 'main'), /done/);
      assert.deepEqual(faults, []);
      const other = await testBrowser.browser.newPage();
      await go(other, `${url}/console/send`);
      await page.bringToFront();
      await press(page, 'form[action="/console/sign-out"] button');
      assert.equal(await textOf(page, 'h1'), 'Sign in');
      await other.bringToFront();
      await other.click('[data-send-to-me]');
      await until(
        async () => (await textOf(other, '[data-answer]')) === 'It was not sent: your session has ended.',
        'the answer on the other page',
      );
    },
  );

  furtherTest(
    'console: a form that is refused leads to what is wrong, which stays marked until something is typed',
    async ({ testBrowser }) => {
      await using cleanup = new Cleanup();
      const operator = await startOperator(cleanup);
      const url = `http://localhost:${operator.port}`;
      const page = await openConsole(testBrowser, { url, token: await operator.add('ada', 'full') }, []);
      await go(page, `${url}/console/send`);
      await press(page, 'form.composer .primary');
      const focused = (property: string) => page.evaluate(`document.activeElement.${property}`);
      await until(async () => (await focused('role')) === 'alert', 'the focus on what is wrong');
      // what the form amounts to has been asked for anew
      const answers = `performance.getEntriesByType('resource').filter(({ name, responseEnd }) => name.endsWith('/draft') && responseEnd > 0).length`;
      const marked = `[...document.querySelectorAll('[aria-invalid]')].map(({ name }) => name)`;
      await until(async () => (await page.evaluate(answers)) === 1, 'the first answer');
      assert.deepEqual(await page.evaluate(marked), ['title', 'message']);
      await page.click('[role="alert"] a');
      assert.equal(await focused('name'), 'title');
      await page.keyboard.type('Hello');
      await until(async () => ((await page.evaluate(marked)) as unknown[]).length === 0, 'no field is wrong');
    },
  );

  furtherTest(
    'console: while a message is typed, the page says how large it is, to how many it goes and when, by keyboard alone',
    async ({ testBrowser }) => {
      await using cleanup = new Cleanup();
      const operator = await startOperator(cleanup);
      await operator.store.subscriptions.putAll(
        ['news', 'news', 'newsletter'].map((tag, index) => ({
          subscription: madeUpSubscription(index),
          vapidPublicKey: vapidKeys.publicKey,
          assign: { tags: [tag] },
        })),
      );
      const url = `http://localhost:${operator.port}`;
      const faults: string[] = [];
      const page = await openConsole(testBrowser, { url, token: await operator.add('ada', 'full') }, faults);
      await go(page, `${url}/console/send`);
      const says = (name: string, expected: RegExp) =>
        until(async () => expected.test(await textOf(page, `[data-note="${name}"]`)), `${name}: ${expected}`);
      await says('recipients', /^3 subscriptions$/);

      const heightOf = async (place: string): Promise<number> =>
        Number(await page.evaluate(`document.querySelector('${place}').getBoundingClientRect().height`));
      const fill = (name: string, value: string) =>
        page.evaluate(`(() => {
          const field = document.querySelector('[name="${name}"]');
          field.value = '${value}';
          field.dispatchEvent(new Event('input', { bubbles: true }));
        })()`);
      await fill('title', 'Long '.repeat(59));
      await type(page, 'title', 'Long ');
      await says('size', /^325 of 3,993 bytes$/);
      // cut after one line, and after two
      const [one, two] = [
        await heightOf('.linux [data-sample=Title]'),
        await heightOf('.windows [data-sample=Title]'),
      ];
      assert.ok(Math.abs(two - 2 * one) < 1, `${one} and ${two} pixels`);

      await page.select('[name="audience"]', 'tags');
      await page.focus('[name="tagsAll"]');
      const suggested = () =>
        page.$$eval('#tags option', (options) => options.map(({ value, text }) => `${value} (${text})`));
      const tags = ['news (news: 2)', 'newsletter (newsletter: 1)'];
      assert.deepEqual(await suggested(), tags);
      await page.keyboard.type('news, ');
      assert.deepEqual(await suggested(), ['news, newsletter (news, newsletter: 1)']);
      await page.focus('[name="testTag"]');
      assert.deepEqual(await suggested(), tags);
      await says('recipients', /^2 subscriptions$/);
      await until(
        async () => /2 subscriptions/.test(await textOf(page, '[data-announcements]')),
        'the number is announced',
      );

      const zone = await page.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone');
      await fill('startAt', '2037-01-01T09:00');
      await says('startAt', new RegExp(`^2037-01-01 09:00 ${String(zone)}.*, in \\d+ years`));
      await fill('message', 'x'.repeat(4000));
      await says('size', /too many$/);
      assert.match(await textOf(page, '[data-fault="message"]'), /^This has 4,002 bytes/);
      assert.equal(await page.$eval('[name="message"]', (area) => area.getAttribute('aria-invalid')), 'true');

      // an answer that takes a while: until the page has told the server that it says so
      await fill('message', '');
      const told = Promise.withResolvers<void>();
      const { server } = operator.app;
      const listeners = server.listeners('request') as RequestListener[];
      server.removeAllListeners('request').on('request', (request: IncomingMessage, response) => {
        if (request.url === '/console/icon.svg?busy') told.resolve();
        const isReview = request.method === 'POST' && request.url === '/console/send';
        void (isReview ? told.promise : Promise.resolve()).then(() => {
          for (const listen of listeners) listen(request, response);
        });
      });
      await page.evaluate(`new MutationObserver(() => {
        const isSaid = /Working/.test(document.querySelector('[data-announcements]').textContent);
        if (isSaid && document.querySelector('button.primary[aria-busy="true"]')) fetch('/console/icon.svg?busy');
      }).observe(document, { subtree: true, childList: true, attributes: true })`);
      await press(page, 'button.primary');
      assert.match(
        await textOf(page, 'main'),
        /Recipients 2 subscriptions Audience subscriptions with all of the tags news/,
      );

      // a time that the form is opened with stays what it is
      await go(page, `${url}/console/send?startAt=2037-01-01T09:00&zone=Asia/Kathmandu`);
      await says('startAt', /^2037-01-01 09:00 Asia\/Kathmandu/);
      assert.equal(await textOf(page, 'span[data-zone]'), 'Asia/Kathmandu');
      assert.deepEqual(faults, []);
    },
  );

  chromiumTest(
    `console: a broadcast of ${rows.toLocaleString('en')} is watched live, paused, resumed and found`,
    async ({ testBrowser }) => {
      await using pushService = await startHeldPushService();
      await using bench = await openBroadcastBench();
      await subscribeMany(bench.store, pushService.origin, rows);
      await using cleanup = new Cleanup();
      const sender = bench.createSender({ threads: 1, pushServices: [pushService.origin] });
      const site = await startConsole(cleanup, bench.store, sender);
      const faults: string[] = [];
      const page = await openConsole(testBrowser, site, faults);
      const { broadcast } = await site.sender.createBroadcast('all', { title: 'Hello', message: 'World' });
      await go(page, `${site.url}/console/broadcasts/${broadcast.id}`);
      const settled = async () =>
        Number(/([\d,]+) of [\d,]+/.exec(await textOf(page, '#live-progress'))![1]!.replaceAll(',', ''));
      assert.equal(await settled(), 0);
      const delivering = new AbortController();
      const work = site.sender.work(delivering.signal);
      cleanup.after(async () => {
        delivering.abort();
        pushService.letThrough(rows);
        await work;
      });
      for (let step = 0; step < 3; step += 1) {
        const before = await settled();
        pushService.letThrough(500);
        await until(async () => (await settled()) > before, 'a figure that moves');
      }
      assert.match(await textOf(page, '#live-progress'), /running/);
      await press(page, 'form[action$="/pause"] button');
      await waitFor(page, 'a[href$="/resume"]');
      assert.match(await textOf(page, '#live-progress'), /paused/);
      await press(page, 'a[href$="/resume"]');
      await press(page, 'form[action$="/resume"] button');
      await until(async () => /accepted/.test(await textOf(page, '#live-charts')), 'the charts');
      await go(page, `${site.url}/console/broadcasts`);
      await type(page, 'text', 'hELLo');
      await press(page, 'form[role="search"] button');
      assert.match(await textOf(page, 'tbody'), /^1\s*Hello\s*running/);
      assert.deepEqual(faults, []);
    },
  );

  furtherTest(
    'console: figures that are not current say since when, and changes are announced once',
    async ({ testBrowser }) => {
      await using bench = await openBroadcastBench();
      await subscribeMany(bench.store, 'https://push.example.net', 1);
      await using cleanup = new Cleanup();
      const site = await startConsole(cleanup, bench.store, bench.createSender());
      const { broadcast } = await site.sender.createBroadcast('all', { title: 'Hello', message: '' });
      const page = await openConsole(testBrowser, site, []);
      const path = `/console/broadcasts/${broadcast.id}`;
      await go(page, site.url + path);
      await collectAnnouncements(page);
      const untilShown = (words: RegExp, selector = '[data-stale]:not([hidden])') =>
        until(
          async () => (await isThere(page, selector)) && words.test(await textOf(page, selector)),
          () => `${words} in ${selector}`,
        );
      await untilShown(/^Live$/, '[data-as-of]');

      await site.stop();
      await untilShown(/^Connection lost\. Figures of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+\.$/);
      await untilShown(/^Figures of \d{4}-/, '[data-as-of]');
      assert.deepEqual(
        [...(await faultsOf(page, 'server gone')), ...(await axeFaults(page, 'server gone'))],
        [],
      );
      await bench.store.broadcasts.pause(broadcast.id);
      await site.startAgain();
      await untilShown(/^Live$/, '[data-as-of]');
      assert.equal(await page.$('[data-stale]:not([hidden])'), null);
      assert.match(await textOf(page, '#live-progress'), /paused/);
      await waitFor(page, 'a[href$="/resume"]');
      const [lost, ...later] = await announcements(page);
      assert.match(lost!, /^Connection lost\. Figures of /);
      assert.deepEqual(later, ['Connected again.', `Broadcast ${broadcast.id} is paused`]);

      // the operator's own action, too, and what the page shows at once is never what was before
      await press(page, 'a[href$="/resume"]');
      await press(page, 'form[action$="/resume"] button');
      await collectAnnouncements(page);
      await untilShown(/^Live$/, '[data-as-of]');
      assert.match(await textOf(page, '#live-progress'), /running/);
      assert.deepEqual(await announcements(page), [`Broadcast ${broadcast.id} is running`]);

      await bench.store.operators.remove('ada');
      await untilShown(/^Your session has ended\. Figures of .* Sign in$/);
      const link = await page.$eval('[data-stale] a', (element) => element.getAttribute('href'));
      assert.ok(link!.startsWith(`/console/sign-in?to=${encodeURIComponent(path)}`), link!);
    },
  );

  furtherTest(
    'console: by keyboard alone an operator signs in, reads a chart, pauses, resumes and sends',
    async ({ testBrowser }) => {
      await using cleanup = new Cleanup();
      const { stage, site, page } = await openOwnSite(testBrowser, cleanup);
      await go(page, `${site.url}/console/`);
      await waitFor(page, 'input:focus');
      await page.keyboard.type(site.token);
      await follow(page, 'Enter');
      await tabTo(page, '.bar nav a[href="/console/broadcasts"]');
      await follow(page, 'Enter');
      const path = `/console/broadcasts/${stage.ids.running}`;
      await tabTo(page, `a[href="${path}"]`);
      await follow(page, 'Enter');

      const value = () => textOf(page, '.spread:has(+ .plot > svg.bars:focus) [data-readout]');
      await tabTo(page, 'svg.bars');
      assert.match(await value(), /^\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? \S+: /);
      await page.keyboard.press('Home');
      assert.match(await value(), /\d accepted/);
      const first = await value();
      await page.keyboard.press('ArrowRight');
      assert.notEqual(await value(), first);
      assert.equal(
        await page.$eval('svg.bars:focus', (chart) => chart.getAttribute('aria-valuetext')),
        await value(),
      );
      await page.hover('svg.bars');
      await until(
        async () => /: (nothing|\d)/.test(await textOf(page, '[data-readout]')),
        'the value of a bar',
      );

      await go(page, site.url + path);
      await tabTo(page, 'form[action$="/pause"] button');
      await follow(page, 'Enter');
      await tabTo(page, 'a[href$="/resume"]');
      await follow(page, 'Enter');
      await tabTo(page, 'form[action$="/resume"] button');
      await follow(page, 'Enter');
      assert.equal((await stage.store.broadcasts.get(stage.ids.running)).state, 'running');

      await go(page, `${site.url}/console/send`);
      await tabTo(page, '[name="title"]');
      await page.keyboard.type('By hand');
      await tabTo(page, 'button.primary');
      await follow(page, 'Enter');
      await tabTo(page, 'form[action="/console/send/confirm"] button');
      await follow(page, 'Enter');
      assert.match(await textOf(page, '.head'), /By hand/);
    },
  );
}

/** A console over a store of its own, and a page of which nothing is loaded yet. */
async function openOwnSite({ browser }: TestBrowser, cleanup: Cleanup) {
  const stage = await openStage(200);
  cleanup.after(stage.remove);
  const site = await startConsole(cleanup, stage.store, stage.sender);
  return { stage, site, page: await browser.newPage() };
}

/** In a browser that can be told to run no scripts. */
export function testConsoleWithoutScripts(browserTest: BrowserTest): void {
  browserTest(
    'console: without JavaScript figures say of when they are, charts have tables, and messages are sent',
    async ({ testBrowser }) => {
      await using cleanup = new Cleanup();
      const { stage, site, page } = await openOwnSite(testBrowser, cleanup);
      await page.setJavaScriptEnabled(false);
      await go(page, `${site.url}/console/`);
      await page.type('[name="token"]', site.token);
      await press(page, 'button');
      assert.match(await textOf(page, '[data-as-of]'), /^Figures of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
      await page.click('details.figures summary');
      assert.match(await textOf(page, 'details.figures[open] tbody'), /\d{4}-\d\d-\d\d \d/);
      await go(page, `${site.url}/console/broadcasts/${stage.ids.running}`);
      await press(page, 'form[action$="/pause"] button');
      assert.match(await textOf(page, '#live-progress'), /paused/);
      await go(page, `${site.url}/console/send`);
      await type(page, 'title', 'Without a script');
      await press(page, 'button.primary');
      await press(page, 'form[action="/console/send/confirm"] button');
      assert.match(await textOf(page, '.head'), /Without a script/);
    },
  );
}

/** Presses Tab until this has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let steps = 0; steps < 150; steps += 1) {
    await page.keyboard.press('Tab');
    if (await isThere(page, `${selector}:focus`)) return;
  }
  throw new Error(`${selector} cannot be reached by keyboard`);
}

/** Presses a key that leads to another page. */
async function follow(page: Page, key: KeyInput): Promise<void> {
  await Promise.all([page.waitForNavigation({ waitUntil: 'domcontentloaded' }), page.keyboard.press(key)]);
}

/** What screen readers would say from now on, in order. */
async function collectAnnouncements(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const place = document.querySelector('[role="log"][data-announcements]');
    const textsOf = (nodes) => [...nodes].map(({ textContent }) => textContent);
    window.announced = textsOf(place.children);
    new MutationObserver((records) => {
      for (const { addedNodes } of records) window.announced.push(...textsOf(addedNodes));
    }).observe(place, { childList: true });
  })()`);
}

const announcements = async (page: Page): Promise<readonly string[]> =>
  (await page.evaluate('window.announced')) as readonly string[];

/** With one pair of keys: it takes a while to make thousands. */
async function subscribeMany({ subscriptions }: Store, origin: string, count: number): Promise<void> {
  const { publicKey: vapidPublicKey } = vapidKeys;
  const { p256dh, auth } = generateUserAgentKeys();
  await subscriptions.putAll(
    Array.from({ length: count }, (_, index) => ({
      subscription: { endpoint: `${origin}/wpush/${index}`, p256dh, auth },
      vapidPublicKey,
    })),
  );
  assert.equal(await subscriptions.count(), count);
}
