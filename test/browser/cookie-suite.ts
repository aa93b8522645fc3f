// Which cookies page library and service worker send to the service, in every browser.
import assert from 'node:assert/strict';
import { type ClientRequest } from '../../tools/browser/backend.ts';
import { openDemoPage, press, received, reload, textOf } from '../../tools/browser/demo-page.ts';
import { until } from '../../tools/until.ts';
import { newSubscription } from '../service/running-service.ts';
import type { BrowserTest } from './browser-test.ts';
import { untilReplaced } from './demo-page-suite.ts';
import { passOn, startSite } from './site.ts';

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
    'a login with basic authentication in front of the page lets page library and service worker in',
    async ({ testBrowser, backend, permit, storedRow }) => {
      await using login = await startBasicLogin(backend.url);
      await permit(login.url, 'granted');
      await (await testBrowser.browser.newPage()).goto(`${login.urlWithCredentials}healthz`);
      // Browsers leave user and password in the address that others are relative to, and fetch none that has them.
      const page = await openDemoPage(testBrowser.browser, login.urlWithCredentials);
      await press(page, 'Subscribe');
      assert.equal(await textOf(page, '#stored'), 'Stored');

      const row = await storedRow();
      await testBrowser.dropSubscriptions(login.url);
      await untilReplaced(backend, row);
    },
  );

  browserTest(
    'a form on a page of another site is sent with a cookie that permits that, and stores nothing',
    async ({ testBrowser, backend, open }) => {
      const own = await open();
      await own.evaluate(`document.cookie = 'shop=ada; SameSite=None; Secure'; undefined`);
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
        const before = backend.clientRequests.length;
        const page = await testBrowser.browser.newPage();
        await page.goto(`data:text/html,${encodeURIComponent(forgedForm(backend.url, type))}`);
        await page.evaluate('setTimeout(() => document.forms[0].submit()); undefined');
        await until(() => backend.clientRequests.length > before, `a form as ${type}`);
        assert.deepEqual(backend.clientRequests.slice(before), [
          { request: 'POST /webPush', cookies: 'shop=ada', status: 415 },
        ]);
      }
      assert.deepEqual(await backend.subscriptions(), []);
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

/** As text/plain its body is the JSON of a subscription: what stands between name and value is part of the last member. */
function forgedForm(serviceUrl: string, type: string): string {
  const name = JSON.stringify({ ...newSubscription(), more: '' }).slice(0, -2);
  return `<form method="post" enctype="${type}" action="${serviceUrl}webPush">
    <input name='${name}' value='"}'>
  </form>`;
}

const credentials = 'ada:lovelace';

/** A login with basic authentication in front of a service, as a reverse proxy has it. */
async function startBasicLogin(serviceUrl: string) {
  const site = await startSite((request, response) => {
    if (request.headers.authorization !== `Basic ${btoa(credentials)}`) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="shop"' }).end();
      return;
    }
    passOn(request, response, serviceUrl);
  });
  // a browser that has opened it sends them to every path of the origin
  return { ...site, urlWithCredentials: site.url.replace('//', `//${credentials}@`) };
}

const isAsked = (requests: readonly ClientRequest[], name: string): boolean =>
  requests.some(({ request }) => request === name);
