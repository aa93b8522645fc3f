// Which cookies page library and service worker send to the service, in every browser.
import assert from 'node:assert/strict';
import { sessionKey, type ClientRequest } from '../../tools/browser/backend.ts';
import { press, received, reload, textOf } from '../../tools/browser/demo-page.ts';
import { createSessionCookie } from '../../src/service/demonstration/create-session-cookie.ts';
import { until } from '../../tools/until.ts';
import type { BrowserTest } from './browser-test.ts';
import { untilReplaced } from './demo-page-suite.ts';

export function testCookies(browserTest: BrowserTest): void {
  browserTest(
    'page library and service worker send the cookies of their own origin with every request',
    async ({ testBrowser, backend, open, storedRow }) => {
      const page = await open();
      await page.evaluate(`document.cookie = 'shop=ada'; undefined`);
      await press(page, 'Subscribe');
      await backend.sendWithReceipts({ title: 'Receipts', message: 'too' });
      await received(page, 1);
      await until(() => isAsked(backend.clientRequests, 'POST /webPush/receipts'), 'a report');
      const row = await storedRow();
      await testBrowser.dropSubscriptions(backend.url);
      await untilReplaced(backend, row);
      await reload(page);
      await press(page, 'Unsubscribe');

      const ofCookie = backend.clientRequests.filter(({ cookies }) => cookies === 'shop=ada');
      const first = backend.clientRequests.indexOf(ofCookie[0]!);
      assert.deepEqual(backend.clientRequests.slice(first), ofCookie);
      for (const request of ['GET /vapidKey', 'POST /webPush', 'DELETE /webPush']) {
        assert.ok(isAsked(ofCookie, request), request);
      }
    },
  );

  browserTest(
    "with the service's own session cookie a refused request is repeated once without cookies",
    async ({ testBrowser, backend, open, storedRow }) => {
      const page = await open();
      const { cookie } = await createSessionCookie({ sessionKey, value: 'ada' });
      await page.evaluate(`document.cookie = ${JSON.stringify(cookie)}; undefined`);
      await press(page, 'Subscribe');
      assert.equal(await textOf(page, '#stored'), 'Stored');
      assert.deepEqual(unsafe(backend.clientRequests, cookie), [
        'POST /webPush, 403 with the cookie',
        'POST /webPush, 200 without',
      ]);

      const row = await storedRow();
      await testBrowser.dropSubscriptions(backend.url);
      await untilReplaced(backend, row);
      await backend.sendWithReceipts({ title: 'Receipts', message: 'too' });
      await received(page, 1);
      const isReported = () =>
        unsafe(backend.clientRequests, cookie).includes('POST /webPush/receipts, 204 without');
      await until(isReported, 'a report');
    },
  );

  browserTest('no cookie goes to a service on another origin', async ({ backend, open, openOtherSite }) => {
    const own = await open();
    // Cookies do not tell ports apart: this one is of the other site, too.
    await own.evaluate(`document.cookie = 'shop=ada'; undefined`);
    const from = backend.clientRequests.length;
    const { page } = await openOtherSite();
    assert.equal(await page.evaluate('document.cookie'), 'shop=ada');
    await page.evaluate('client.subscribe().then(() => undefined)');
    const requests = backend.clientRequests.slice(from);
    assert.ok(isAsked(requests, 'POST /webPush'));
    assert.deepEqual(
      requests.filter(({ cookies }) => cookies !== ''),
      [],
    );
  });
}

const isAsked = (requests: readonly ClientRequest[], name: string): boolean =>
  requests.some(({ request }) => request === name);

const unsafe = (requests: readonly ClientRequest[], cookie: string): readonly string[] =>
  requests
    .filter(({ request }) => !/^(?:GET|OPTIONS) /.test(request))
    .map(
      ({ request, status, cookies }) =>
        `${request}, ${status} ${cookies === cookie ? 'with the cookie' : 'without'}`,
    );
