// The console as an operator uses it, in a real browser: signing in, composing, a message to this very browser, a broadcast
// watched while it runs; and every page without a fault of accessibility.
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import axe from 'axe-core';
import type { Page } from 'puppeteer-core';
import type { Sender } from '../../src/delivery/sender.ts';
import { generateOperatorToken } from '../../src/keys/operator-token.ts';
import { createOperator } from '../../src/operator/create-operator.ts';
import { createMetrics } from '../../src/operator/metrics/metrics.ts';
import { generateUserAgentKeys } from '../../src/protocol/user-agent.ts';
import { generateVapidKeys } from '../../src/protocol/vapid-token.ts';
import type { Store } from '../../src/store/store.ts';
import { openBroadcastBench, vapidKeys } from '../delivery/broadcast-bench.ts';
import { startOperator } from '../operator/running-operator.ts';
import { madeUpSchedule } from '../store/store-under-test.ts';
import type { TestBrowser } from '../../tools/browser/test-browser.ts';
import type { BrowserTest } from './browser-test.ts';
import { shown, textOf, waitFor } from '../../tools/browser/demo-page.ts';
import { startHeldPushService } from '../../tools/held-push-service.ts';
import { until } from '../../tools/until.ts';

/** Runs what was put off, the last first. */
class Cleanup implements AsyncDisposable {
  readonly #work: (() => unknown)[] = [];
  readonly after = (work: unknown): void => {
    this.#work.push(work as () => unknown);
  };
  async [Symbol.asyncDispose]() {
    for (const work of this.#work.reverse()) await work();
  }
}

interface Console {
  readonly url: string;
  readonly token: string;
}

const rows = 20_000;

export function testConsole(browserTest: BrowserTest): void {
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
      assert.equal(await textOf(page, '.notification strong'), 'Ding <b>dong</b>');
      assert.equal(await textOf(page, '.notification .message'), 'Tea is ready');
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
      await press(page, 'form[action="/console/sign-out"] button');
      assert.equal(await textOf(page, 'h1'), 'Sign in');
      assert.deepEqual(faults, []);
    },
  );

  browserTest(
    `console: a broadcast of ${rows.toLocaleString('en')} is watched live, paused, resumed and found`,
    async ({ testBrowser }) => {
      await using pushService = await startHeldPushService();
      await using bench = await openBroadcastBench();
      await subscribeMany(bench.store, pushService.origin);
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
      await waitFor(page, 'form[action$="/resume"]');
      assert.match(await textOf(page, '#live-progress'), /paused/);
      await press(page, 'form[action$="/resume"] button');
      await until(async () => /accepted/.test(await textOf(page, '#live-charts')), 'the charts');
      await go(page, `${site.url}/console/broadcasts`);
      await type(page, 'text', 'hELLo');
      await press(page, 'form[role="search"] button');
      assert.match(await textOf(page, 'tbody'), /^1\s*Hello\s*running/);
      assert.deepEqual(faults, []);
    },
  );
}

type Scheme = 'light' | 'dark';

/** @param schemes that pages are looked at in: one that the browser prefers by itself, or some that it is told to prefer */
export function testConsoleForAll(browserTest: BrowserTest, schemes: readonly Scheme[]): void {
  const names = schemes.join(' and ');
  browserTest(
    `console: no page has a fault of accessibility, ${names}, wide and narrow`,
    async ({ testBrowser }) => {
      await using bench = await openBroadcastBench();
      await bench.startPushService({ rows: 20 });
      await using cleanup = new Cleanup();
      const site = await startConsole(cleanup, bench.store, bench.createSender());
      await (
        await site.sender.broadcast('all', { title: 'Hello', message: 'World' })
      ).finished;
      await site.sender.createBroadcast(
        'all',
        { title: 'Later', message: '' },
        { startAt: new Date('2037-01-01') },
      );
      await bench.store.schedules.add(madeUpSchedule());
      const page = await testBrowser.browser.newPage();
      await go(page, `${site.url}/console/`);
      const found = [await faultsOf(page, 'sign-in')];
      await signIn(page, site.token);
      for (const path of paths) {
        await go(page, site.url + path);
        for (const [index, width] of widths.entries()) {
          // both of them, with one width each
          const scheme = schemes[index % schemes.length]!;
          await page.setViewport({ width, height: 800 });
          if (schemes.length > 1) await emulate(page, scheme);
          assert.equal(await page.evaluate(`matchMedia('(prefers-color-scheme: ${scheme})').matches`), true);
          found.push(await faultsOf(page, `${path} ${scheme} ${width}`));
          assert.ok(
            Number(await page.evaluate('document.documentElement.scrollWidth')) <= width,
            `${path} at ${width}`,
          );
        }
      }
      assert.deepEqual(found.flat(), []);
    },
  );
}

const paths = [
  '/console/',
  '/console/broadcasts',
  '/console/broadcasts/1',
  '/console/broadcasts/2/cancel',
  '/console/schedules',
  '/console/schedules/1',
  '/console/schedules/1/remove',
  '/console/send',
  '/console/subscriptions',
  '/console/subscriptions/1',
  '/console/people/remove?user=42',
  '/console/push-services',
  '/console/keys',
  '/console/audit',
];

const widths = [1280, 375];

/** With one pair of keys: it takes a while to make thousands. */
async function subscribeMany({ subscriptions }: Store, origin: string): Promise<void> {
  const { publicKey: vapidPublicKey } = vapidKeys;
  const { p256dh, auth } = generateUserAgentKeys();
  await subscriptions.putAll(
    Array.from({ length: rows }, (_, index) => ({
      subscription: { endpoint: `${origin}/wpush/${index}`, p256dh, auth },
      vapidPublicKey,
    })),
  );
  assert.equal(await subscriptions.count(), rows);
}

async function startConsole(
  cleanup: Cleanup,
  store: Store,
  sender: Sender,
): Promise<Console & { readonly sender: Sender }> {
  await store.vapidKeys.adopt(vapidKeys.publicKey);
  const { token, tokenHash } = generateOperatorToken();
  await store.operators.add({ name: 'ada', role: 'full', tokenHash });
  const where = { host: '127.0.0.1', port: 0 };
  const log = { info: () => {}, error: (record: object) => console.error(record) };
  const metrics = createMetrics(store);
  const app = createOperator({ store, sender, log, metrics, hashPerson: String, ...where });
  await app.listen(where);
  cleanup.after(() => app.close());
  return { url: `http://localhost:${(app.server.address() as AddressInfo).port}`, token, sender };
}

/** @param faults collects what the browser complains about */
async function openConsole(
  { browser }: TestBrowser,
  { url, token }: Console,
  faults: string[],
): Promise<Page> {
  const page = await browser.newPage();
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (entry) => {
    if (entry.type() === 'error') faults.push(entry.text());
  });
  await go(page, `${url}/console/`);
  await signIn(page, token);
  return page;
}

async function signIn(page: Page, token: string): Promise<void> {
  await type(page, 'token', token);
  await press(page, 'button');
  assert.equal(await textOf(page, 'h1'), 'Overview');
}

/** A page with live parts is never done loading for some browsers. */
async function go(page: Page, url: string): Promise<void> {
  await page.goto(url, { waitUntil: 'domcontentloaded' });
}

async function press(page: Page, selector: string): Promise<void> {
  await waitFor(page, selector);
  await Promise.all([page.waitForNavigation({ waitUntil: 'domcontentloaded' }), page.click(selector)]);
}

async function type(page: Page, name: string, text: string): Promise<void> {
  await page.type(`[name="${name}"]`, text);
}

async function emulate(page: Page, scheme: Scheme): Promise<void> {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
}

/** What axe finds: WCAG 2.2 A and AA, and its best practices. */
async function faultsOf(page: Page, place: string): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const found = (await page.evaluate(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  )) as readonly string[];
  return found.map((fault) => `${place}: ${fault}`);
}
