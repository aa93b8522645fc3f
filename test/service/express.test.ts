// The service in a real Express application, ahead of middleware that reads bodies and behind it: nothing ever hangs.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import express, { type RequestHandler } from 'express';
import { createMiddleware } from '../../src/service/create-handler.ts';
import type { MiddlewareOptions } from '../../src/service/options.ts';
import {
  assertProblem,
  assertHeaderFields,
  newSubscription,
  openStoreForSuite,
  optionsFor,
  recordingLog,
  sendJson,
  serveUntilEnd,
} from './running-service.ts';

/** Reads the whole body and leaves nothing of it. */
const consume: RequestHandler = (request, _response, next) => {
  request.resume().once('end', () => next());
};
/** Reads the beginning of the body. */
const nibble: RequestHandler = (request, _response, next) => {
  request.once('readable', () => {
    request.read(1);
    next();
  });
};

const trustInExpress: RequestHandler = (request, _response, next) => {
  request.app.set('trust proxy', true);
  next();
};

describe('the service in Express', () => {
  const store = openStoreForSuite();

  async function start(
    t: TestContext,
    { ahead = [], ...own }: Partial<MiddlewareOptions> & { readonly ahead?: readonly RequestHandler[] },
  ) {
    const { records, log } = recordingLog();
    const service = createMiddleware({ ...optionsFor(store), registrationsPerMinute: 'off', log, ...own });
    const app = express();
    // It would print errors of its own.
    app.set('env', 'test');
    for (const middleware of ahead) app.use(middleware);
    app.use('/push', service);
    app.use(express.json());
    app.post('/mine', (request, response) => {
      response.json(request.body);
    });
    const base = await serveUntilEnd(t, app);
    t.after(() => service.close());
    return { base, records, service };
  }

  for (const [what, ahead] of [
    ['nothing', []],
    ['express.json()', [express.json()]],
    ['express.json() for every type', [express.json({ type: '*/*' })]],
    ['express.text()', [express.text({ type: '*/*' })]],
    ['express.raw()', [express.raw({ type: '*/*' })]],
  ] as const) {
    test(`registers and removes behind ${what}`, async (t) => {
      const { base } = await start(t, { ahead });
      const { endpoint, p256dh, auth } = newSubscription();
      const { subscriptions } = store;
      for (const body of [
        { endpoint, p256dh, auth },
        { endpoint, keys: { p256dh, auth } },
      ]) {
        const response = await sendJson(`${base}/push`, 'POST', '/webPush', body);
        assert.equal(response.status, 200, await response.text());
      }
      assert.ok(await subscriptions.findByEndpoint(endpoint));
      const left = await sendJson(`${base}/push`, 'DELETE', '/webPush', { endpoint, auth });
      assert.equal(left.status, 204);
      assert.equal(await subscriptions.findByEndpoint(endpoint), undefined);
      const refused = sendJson(`${base}/push`, 'POST', '/webPush', { endpoint });
      await assertProblem(refused, 400, 'ERR_SUBSCRIPTION_INVALID');
      const large = await sendJson(`${base}/push`, 'POST', '/webPush', { x: 'x'.repeat(20_000) });
      assert.equal(large.status, 413);
      const form = new URLSearchParams({ endpoint, p256dh, auth });
      const formStatus = (await fetch(`${base}/push/webPush`, { method: 'POST', body: form })).status;
      // Express itself answers 400 where it takes a form for JSON.
      assert.equal(formStatus, what === 'express.json() for every type' ? 400 : 415);
      const chunked = await fetch(`${base}/push/webPush`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: new Blob([JSON.stringify({ endpoint, p256dh, auth })]).stream(),
        duplex: 'half',
      } as RequestInit);
      assert.equal(chunked.status, 200);
      for (const type of ['application/json', 'text/plain']) {
        const empty = await fetch(`${base}/push/webPush`, {
          method: 'POST',
          headers: { 'content-type': type },
        });
        assert.ok([400, 415].includes(empty.status), `${empty.status}`);
      }
    });
  }

  for (const [what, ahead] of [
    ['read and thrown away', consume],
    ['read in part', nibble],
  ] as const) {
    test(`says so where a body was ${what}, to the client and in the log`, async (t) => {
      const { base, records } = await start(t, { ahead: [ahead] });
      for (const [method, path] of [
        ['POST', '/webPush'],
        ['DELETE', '/webPush'],
        ['POST', '/api/post'],
        ['PUT', '/v1/user/1'],
      ] as const) {
        const refused = sendJson(`${base}/push`, method, path, newSubscription());
        const { detail } = await assertProblem(refused, 500, 'ERR_BODY_CONSUMED');
        assert.match(detail, /before the middleware that reads bodies/);
      }
      assert.equal(records.filter(({ event }) => event === 'fault').length, 4);
      assert.equal((await fetch(`${base}/push/vapidKey`)).status, 200);
    });
  }

  test('answers everything under its mount, and leaves the rest alone', async (t) => {
    const { base } = await start(t, {});
    for (const [path, status] of [
      ['/push/vapidKey', 200],
      ['/push/', 200],
      ['/push/nothing', 404],
      ['/push/%E0%A4%A', 400],
      ['/push/docs', 200],
    ] as const) {
      const response = await fetch(base + path);
      assert.equal(response.status, status, path);
      assert.equal(response.headers.get('access-control-allow-origin'), '*');
      assert.match(response.headers.get('request-time')!, /^\d+$/);
    }
    const mine = await sendJson(base, 'POST', '/mine', { a: 1 });
    assert.deepEqual(await mine.json(), { a: 1 });
    assert.equal(mine.headers.get('access-control-allow-origin'), null);
  });

  test('without a mount path leaves what it does not know to what comes after it, and has no part in it', async (t) => {
    const service = createMiddleware({ ...optionsFor(store), pushOnly: true });
    const app = express();
    app.use((_request, response, next) => {
      response.status(404).set('access-control-allow-credentials', 'true');
      next();
    });
    app.use(service);
    const slow = Promise.withResolvers<void>();
    app.use((request, response) => {
      if (request.url === '/slow') slow.resolve();
      else response.send(`mine ${request.method} ${request.url}`);
    });
    const base = await serveUntilEnd(t, app);
    const ask = async (path: string, method = 'GET') => fetch(base + path, { method });
    const known = await ask('/vapidKey');
    assert.deepEqual([known.status, (await known.text()).includes('mine')], [200, false]);
    for (const [path, method] of [
      ['/after?x=1', 'GET'],
      ['/', 'GET'],
      ['/%ff', 'GET'],
    ] as const) {
      const response = await ask(path, method);
      assert.equal(await response.text(), `mine ${method} ${path}`);
      assert.equal(response.status, 404, 'as the application has set it');
      assert.equal(response.headers.get('access-control-allow-credentials'), 'true');
    }
    assert.equal((await ask('/vapidKey', 'PUT')).status, 405, 'the path is known');
    ask('/slow').catch(() => {});
    await slow.promise;
    await service.close();
  });

  test('keeps its header fields where the application has CORS and caching of its own', async (t) => {
    const service = createMiddleware({ ...optionsFor(store), authenticate: 'all' });
    t.after(() => service.close());
    const app = express();
    app.use((_request, response, next) => {
      response.set({
        'access-control-allow-origin': 'https://mine.example',
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'GET',
        'access-control-allow-headers': 'x-mine',
        'access-control-expose-headers': 'x-mine',
        'access-control-max-age': '600',
        'cache-control': 'public, max-age=3600',
        etag: '"mine"',
        vary: 'Origin',
      });
      next();
    });
    app.use('/push', service);
    await assertHeaderFields(`${await serveUntilEnd(t, app)}/push`, true);
  });

  test('in node:http answers below a prefix that is taken off, and without one every path', async (t) => {
    const push = createMiddleware({ ...optionsFor(store), pushOnly: true });
    const base = await serveUntilEnd(t, (request, response) => {
      const { url = '' } = request;
      if (!url.startsWith('/push/')) return push(request, response);
      push(Object.assign(request, { originalUrl: url, url: url.slice('/push'.length) }), response);
    });
    for (const [path, status] of [
      ['/push/vapidKey', 200],
      ['/vapidKey', 200],
      ['/push/nothing', 404],
      ['/nothing', 404],
    ] as const)
      assert.equal((await fetch(base + path)).status, status, path);
    await push.close();
  });

  test('leads from the mount’s path to its folder, which addresses in the page are relative to', async (t) => {
    const { base } = await start(t, {});
    for (const query of ['', '?a=b']) {
      const response = await fetch(`${base}/push${query}`, { redirect: 'manual' });
      assert.equal(response.status, 308);
      const location = new URL(response.headers.get('location')!, response.url);
      assert.equal(location.href, `${base}/push/${query}`);
    }
  });

  test('logs the whole path of a request, with that of the mount', async (t) => {
    const { base, records } = await start(t, {
      onSubscribe() {
        throw new Error('A fault of the application');
      },
    });
    await fetch(`${base}/push/vapidKey?a=b`);
    await sendJson(`${base}/push`, 'POST', '/webPush', newSubscription());
    const urls = records.map(({ event, mechanism, url }) => [event ?? mechanism, url]);
    assert.deepEqual(urls, [
      ['filter', '/push/vapidKey?a=b'],
      ['fault', '/push/webPush'],
      ['filter', '/push/webPush'],
    ]);
  });

  test('believes x-forwarded-for by its own option, not by the setting of Express', async (t) => {
    for (const [trustProxy, expected] of [
      [undefined, 429],
      ['127.0.0.1', 200],
    ] as const) {
      const own = { registrationsPerMinute: 1, trustProxy, ahead: [trustInExpress] };
      const { base } = await start(t, own);
      const post = (address: string): Promise<Response> =>
        sendJson(`${base}/push`, 'POST', '/webPush', newSubscription(), { 'x-forwarded-for': address });
      assert.equal((await post('192.0.2.1')).status, 200);
      assert.equal((await post('192.0.2.2')).status, expected);
    }
  });

  test('closes once what is in progress is answered', async (t) => {
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const steps: string[] = [];
    const { base, service } = await start(t, {
      onSubscribe() {
        asked.resolve();
        return held.promise;
      },
    });
    const registering = sendJson(`${base}/push`, 'POST', '/webPush', newSubscription());
    await asked.promise;
    const closing = service.close().then(() => steps.push('closed'));
    // one that waits for nothing has closed by then
    assert.equal((await fetch(`${base}/push/vapidKey`)).status, 200);
    steps.push('released');
    held.resolve();
    assert.equal((await registering).status, 200);
    await closing;
    assert.deepEqual(steps, ['released', 'closed']);
  });
});
