// The shops of examples/, which docs/users.md links, in Firefox: a subscription is whose session the page has.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'puppeteer-core';
import { firefox, skipWithout } from '../../scripts/install-test-tools.ts';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { textOf, waitFor } from '../../tools/browser/demo-page.ts';
import { startFirefox } from '../../tools/browser/firefox.ts';
import type { TestBrowser } from '../../tools/browser/test-browser.ts';
import { build } from '../../tools/pack.ts';
import { until } from '../../tools/until.ts';
import { Project } from '../journeys/project.ts';

const root = join(import.meta.dirname, '../..');
const skip = skipWithout('the shops', [firefox]);

suite('a shop with a login', { skip }, () => {
  let testBrowser: TestBrowser;

  before(async () => {
    // They import the package by its name, which is what has been built.
    await build();
    testBrowser = await startFirefox();
  });
  after(() => testBrowser[Symbol.asyncDispose]());

  for (const framework of ['express', 'fastify']) {
    test(`in ${framework}: messages about an order reach the customer who is signed in`, async () => {
      const { browser, access } = testBrowser;
      await using project = await Project.create({
        environment: { PORT: '0', PUSH_SERVICES: [access.pushServices!].flat().join() },
      });
      await using shop = project.start(`node ${join(root, 'examples', framework)}.ts`);
      const [, port = ''] = await shop.waitFor(/^The shop listens on .*?(\d+)\D*$/);
      const url = `http://localhost:${port}`;
      await browser
        .defaultBrowserContext()
        .setPermission(url, { permission: { name: 'notifications' }, state: 'granted' });
      await using data = new AsyncDisposableStack();
      const { store, close } = await openDataDirectory(join(project.folder, 'deskbell-data'));
      data.defer(close);
      const owners = async () =>
        (await store.subscriptions.page({ afterId: 0, limit: 10 })).map(({ user }) => user);
      const page = await browser.newPage();
      await page.goto(url);

      await click(page, '#order', '/orders answered 401.');
      await signIn(page, 'ada', 'wrong', '/sign-in answered 401.');
      await signIn(page, 'ada', 'lovelace', 'Signed in');
      await click(page, '#notify', 'Subscribed');
      assert.deepEqual(await owners(), ['ada']);

      await click(page, '#order', 'Ordered');
      await waitFor(page, '#received li');
      assert.equal(await textOf(page, '#received'), 'Thank you: Your order is on its way.');

      await click(page, '#sign-out', 'Signed out');
      assert.deepEqual(await owners(), [undefined]);
      await signIn(page, 'charles', 'babbage', 'Signed in');
      assert.deepEqual(await owners(), ['charles']);

      assert.equal(await shop.stop('SIGTERM'), 0, 'while the page is open');
    });
  }
});

async function signIn(page: Page, user: string, password: string, expected: string): Promise<void> {
  await page.$eval('#sign-in', (form) => (form as unknown as { reset(): void }).reset());
  await page.type('[name=user]', user);
  await page.type('[name=password]', password);
  await click(page, '#sign-in button', expected);
}

/** @param expected what the page says then */
async function click(page: Page, selector: string, expected: string): Promise<void> {
  await page.$eval('#state', (state) => state.replaceChildren());
  await page.click(selector);
  await until(async () => (await textOf(page, '#state')) !== '', `an answer to ${selector}`);
  assert.equal(await textOf(page, '#state'), expected);
}
