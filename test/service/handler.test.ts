// The service as a function from `Request` to `Response`.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../../src/http/problem.ts';
import { createHandler } from '../../src/service/create-handler.ts';
import type { HandlerOptions } from '../../src/service/options.ts';
import {
  assertProblem,
  newSubscription,
  openStoreForSuite,
  optionsFor,
  recordingLog,
} from './running-service.ts';
import { pluck } from '../../tools/pluck.ts';

const origin = 'https://shop.example.org';

describe('createHandler', () => {
  const store = openStoreForSuite();

  function start(t: TestContext, own: Partial<HandlerOptions> = {}) {
    const { records, log } = recordingLog();
    const handler = createHandler({
      ...optionsFor(store),
      registrationsPerMinute: 'off',
      prefix: '/push',
      log,
      ...own,
    });
    t.after(() => handler.close());
    const ask = (method: string, path: string, init: RequestInit = {}) =>
      handler(new Request(origin + path, { method, ...init }));
    const post = (body: object, headers: Record<string, string> = {}, method = 'POST') =>
      ask(method, '/push/webPush', {
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    return { handler, records, ask, post };
  }

  test('registers, repeats and removes, with a body of known length and one in pieces', async (t) => {
    const { ask, post } = start(t);
    const { endpoint, p256dh, auth } = newSubscription();
    const stored = await post({ endpoint, p256dh, auth });
    assert.equal(stored.status, 200);
    assert.equal(stored.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(stored.headers.get('access-control-allow-origin'), '*');
    assert.match(stored.headers.get('request-time') ?? '', /^\d+$/);
    assert.equal(typeof (await stored.json()), 'string');
    const pieces = await ask('POST', '/push/webPush', {
      headers: { 'content-type': 'application/json' },
      body: new Blob([JSON.stringify({ endpoint, p256dh, auth })]).stream(),
      duplex: 'half',
    } as RequestInit);
    assert.equal(pieces.status, 200);
    assert.ok(await store.subscriptions.findByEndpoint(endpoint));
    const left = await post({ endpoint, auth }, {}, 'DELETE');
    assert.deepEqual([left.status, left.body], [204, null]);
    assert.equal(await store.subscriptions.findByEndpoint(endpoint), undefined);
  });

  test('answers every path and method in its own form, inside the prefix and outside', async (t) => {
    const { ask } = start(t);
    for (const [method, path, status, code] of [
      ['GET', '/push/vapidKey', 200],
      ['HEAD', '/push/vapidKey', 200],
      ['OPTIONS', '/push/webPush', 204],
      ['GET', '/push/api/getWithArg/%C3%A4?x=1', 200],
      ['GET', '/push/unknown', 404, 'ERR_ROUTE_UNKNOWN'],
      ['GET', '/vapidKey', 404, 'ERR_ROUTE_UNKNOWN'],
      ['GET', '/', 404, 'ERR_ROUTE_UNKNOWN'],
      ['GET', '/push/%zz', 400, 'ERR_REQUEST_INVALID'],
      ['GET', '//push/vapidKey', 404, 'ERR_ROUTE_UNKNOWN'],
      ['PUT', '/push/webPush', 405, 'ERR_METHOD_NOT_ALLOWED'],
      ['PROPFIND', '/push/webPush', 405, 'ERR_METHOD_NOT_ALLOWED'],
      ['BREW', '/push/webPush', 405, 'ERR_METHOD_NOT_ALLOWED'],
      ['BREW', '/push/unknown', 404, 'ERR_ROUTE_UNKNOWN'],
      ['POST', '/push/webPush', 400, 'ERR_SUBSCRIPTION_INVALID'],
    ] as const) {
      const response = await ask(method, path);
      const text = await response.text();
      assert.equal(response.status, status, `${method} ${path}: ${text}`);
      assert.match(response.headers.get('request-time') ?? '', /^\d+$/, `${method} ${path}`);
      assert.equal(response.headers.get('access-control-allow-origin'), '*');
      if (code !== undefined) assert.equal((JSON.parse(text) as Problem).code, code);
      if (method === 'HEAD') assert.equal(text, '');
    }
    const page = await ask('GET', '/push/');
    assert.match(await page.text(), /<title>/);
    const script = await ask('GET', '/push/service-worker.js');
    assert.match(script.headers.get('content-type') ?? '', /javascript/);
    const preflight = await ask('OPTIONS', '/push/webPush', {
      headers: { 'access-control-request-method': 'DELETE', 'access-control-request-headers': 'x-mine' },
    });
    assert.equal(preflight.headers.get('access-control-allow-headers'), 'x-mine');
  });

  test('cannot be asked what a Request cannot carry, as docs/application.md says', async (t) => {
    const { ask } = start(t);
    for (const method of ['TRACE', 'TRACK', 'CONNECT'])
      assert.throws(() => new Request(origin, { method }), TypeError);
    for (const method of ['GET', 'HEAD'])
      assert.throws(() => new Request(origin, { method, body: 'x' }), TypeError);
    for (const path of [
      '/push/./vapidKey',
      '/x/../push/vapidKey',
      '/x/%2E%2e/push/%2e/vapidKey',
      '\\push\\vapidKey',
    ])
      assert.equal((await ask('GET', path)).status, 200, path);
  });

  test('refuses a body that is too large, of the wrong type, read already or broken off', async (t) => {
    const { ask, handler, post, records } = start(t);
    assert.equal((await post({ x: 'x'.repeat(20_000) })).status, 413);
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(1000).fill(32)),
    });
    const json = { 'content-type': 'application/json' };
    const streamed = (body: ReadableStream): Promise<Response> =>
      ask('POST', '/push/webPush', { headers: json, body, duplex: 'half' } as RequestInit);
    assert.equal((await streamed(endless)).status, 413);
    const form = await ask('POST', '/push/webPush', { body: new URLSearchParams({ endpoint: 'x' }) });
    assert.equal(form.status, 415);
    const broken = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"end')),
      pull: (controller) => controller.error(new Error('gone')),
    });
    await assertProblem(streamed(broken), 400, 'ERR_REQUEST_INVALID');

    const read = new Request(`${origin}/push/webPush`, { method: 'POST', headers: json, body: '{}' });
    await read.text();
    await assertProblem(handler(read), 500, 'ERR_BODY_CONSUMED');
    assert.ok(records.some(({ event }) => event === 'fault'));
  });

  test('hands the application’s own request to the hooks, and takes the client’s address from it', async (t) => {
    interface Context {
      readonly wrapped: Request;
      readonly user: string;
      readonly ip: string;
    }
    const left: Context[] = [];
    const handler = createHandler<Context>({
      ...optionsFor(store),
      registrationsPerMinute: 2,
      log: { info: () => {}, error: (record) => assert.fail(JSON.stringify(record)) },
      toRequest: ({ wrapped }) => wrapped,
      clientAddress: ({ ip }) => ip,
      onSubscribe: (_subscription, { user }) => ({ user }),
      onUnsubscribe: (_subscription, context) => void left.push(context),
    });
    t.after(() => handler.close());
    const send = (method: string, body: object, ip: string): Promise<Response> => {
      const init = { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      return handler({ wrapped: new Request(`${origin}/webPush`, init), user: 'ada', ip });
    };
    const subscription = newSubscription();
    const statuses: number[] = [];
    for (const ip of ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'])
      statuses.push((await send('POST', subscription, ip)).status);
    assert.deepEqual(statuses, [200, 200, 429, 200]);
    assert.equal((await store.subscriptions.findByEndpoint(subscription.endpoint))?.user, 'ada');
    await send('DELETE', subscription, '192.0.2.3');
    assert.deepEqual(pluck(left, 'ip'), ['192.0.2.3']);
  });

  test('closes once what is in progress is answered', async (t) => {
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const steps: string[] = [];
    const { handler, post } = start(t, {
      onSubscribe() {
        asked.resolve();
        return held.promise;
      },
    });
    const registering = post(newSubscription());
    await asked.promise;
    const closing = handler.close().then(() => steps.push('closed'));
    // a service that waits for nothing has closed by the next turns
    await sleep(20);
    steps.push('released');
    held.resolve();
    assert.equal((await registering).status, 200);
    await closing;
    assert.deepEqual(steps, ['released', 'closed']);
  });

  test('says once that it does not know the address of clients, who then share one limit', async (t) => {
    const { post, records } = start(t, { registrationsPerMinute: 1 });
    const statuses: number[] = [];
    for (let count = 0; count < 2; count += 1) statuses.push((await post(newSubscription())).status);
    assert.deepEqual(statuses, [200, 429]);
    assert.equal(records.filter(({ event }) => event === 'client-address-unknown').length, 1);

    const behindProxy = start(t, { registrationsPerMinute: 1, trustProxy: true });
    for (const client of ['192.0.2.7', '192.0.2.8'])
      assert.equal((await behindProxy.post(newSubscription(), { 'x-forwarded-for': client })).status, 200);
    assert.ok(behindProxy.records.every(({ event }) => event !== 'client-address-unknown'));
  });

  test('refuses options that are not usable, and what is no request', async (t) => {
    for (const own of [{ prefix: 'push' }, { clientAddress: '192.0.2.1' }, { toRequest: 'raw' }] as object[])
      assert.throws(() => createHandler({ ...optionsFor(store), ...own }), { code: 'ERR_CONFIGURATION' });
    const { handler } = start(t);
    await assert.rejects(handler({} as Request), { code: 'ERR_CONFIGURATION', message: /toRequest/ });
  });
});
