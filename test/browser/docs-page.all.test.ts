// The page at /docs in a real browser: it fits a phone, loads nothing from another host, and tries operations.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, type Browser, type Page } from 'puppeteer-core';
import { chromium, find, skipWithout } from '../../scripts/install-test-tools.ts';
import { vapidPublicKey, startServiceForSuite } from '../service/running-service.ts';

describe('the page at /docs', { skip: skipWithout('the tests of /docs', [chromium]) }, () => {
  const service = startServiceForSuite({ prefix: '/deep/push', authenticate: ['get'] });
  let browser: Browser;

  before(async () => {
    browser = await launch({ executablePath: find(chromium)!, args: ['--no-sandbox', '--disable-gpu'] });
  });
  after(() => browser.close());

  /** Opens the page; what it does wrong is collected. */
  async function open(path: string, width = 1280): Promise<{ page: Page; wrong: string[] }> {
    const page = await browser.newPage();
    const wrong: string[] = [];
    await page.setViewport({ width, height: 800 });
    page.on('console', (message) => wrong.push(message.text()));
    page.on('pageerror', (error) => wrong.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(`${service.base}/`)) wrong.push(request.url());
    });
    await page.goto(service.base + path);
    return { page, wrong };
  }

  for (const width of [320, 375, 1280]) {
    for (const scheme of ['light', 'dark']) {
      test(`fits ${width} px, ${scheme}, with every operation open`, async () => {
        const { page, wrong } = await open('/docs', width);
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        await page.evaluate(
          `document.querySelectorAll('details').forEach((details) => (details.open = true))`,
        );
        const scrollWidth = await page.evaluate('document.documentElement.scrollWidth');
        const color = await page.evaluate('getComputedStyle(document.body).backgroundColor');
        const red = Number(/\d+/.exec(String(color))![0]);
        assert.equal(scrollWidth, width);
        assert.equal(red > 128, scheme === 'light');
        assert.deepEqual(wrong, []);
        await page.close();
      });
    }
  }

  test('tries operations with parameters, bodies and errors', async () => {
    const { page, wrong } = await open('/docs/');
    const [status, headers, body] = await send(page, 'getVapidKey');
    assert.match(status!, /^200/);
    assert.match(headers!, /^request-time: \d+$/m);
    assert.equal(body, `"${vapidPublicKey}"`);
    assert.match((await send(page, 'subscribe'))[0]!, /^200/);
    assert.equal(await service.store.subscriptions.count(), 1);
    assert.match((await send(page, 'unsubscribe'))[0]!, /^204/);
    assert.equal(await service.store.subscriptions.count(), 0);
    await page.evaluate(`document.querySelector('#getUser input').value = '1'`);
    assert.match((await send(page, 'getUser'))[2]!, /"id": 1,/);
    assert.deepEqual(wrong, []);
    assert.match((await send(page, 'demoGet')).join('\n'), /^401[^]*ERR_UNAUTHENTICATED/);
    await page.close();
  });

  test('lists files, and shows none of them as an operation', async () => {
    const { page } = await open('/docs');
    const paths = await page.$$eval('section > ul a', (links) => links.map((link) => link.textContent));
    assert.ok(paths.includes('/service-worker.js') && paths.includes('/docs/docs.css'), paths.join());
    const shown = await page.$$eval('.operation > summary > code', (codes) =>
      codes.map((code) => code.textContent),
    );
    assert.ok(shown.includes('/webPush'));
    assert.deepEqual(
      shown.filter((path) => path.includes('.') && path !== '/openapi.json'),
      [],
    );
    await page.close();
  });

  test('opens the operation that its address names', async () => {
    const { page } = await open('/docs#subscribe');
    const open_ = await page.$$eval('details.operation[open]', (found) => found.map(({ id }) => id));
    assert.deepEqual(open_, ['subscribe']);
    await page.close();
  });
});

/** Sends the form of an operation and gives what the page shows. */
async function send(page: Page, id: string): Promise<string[]> {
  await page.click(`#${id} > summary`);
  await page.click(`#${id} form button`);
  await page.waitForSelector(`#${id} .answer:not([hidden])`);
  return page.$$eval(`#${id} .answer > *`, (parts) => parts.map((part) => part.textContent));
}
