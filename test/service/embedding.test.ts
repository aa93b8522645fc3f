// The service inside someone else's application: what it brings stays in its scope.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import cors from '@fastify/cors';
import rateLimit from '@fastify/rate-limit';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { createService } from '../../src/service/create-service.ts';
import type { ServiceOptions } from '../../src/service/options.ts';
import {
  assertHeaderFields,
  newSubscription,
  openStoreForSuite,
  optionsFor,
  readDescription,
  sendJson,
  vapidPublicKey,
} from './running-service.ts';

describe('the service in an application', () => {
  const store = openStoreForSuite();

  const options = (further: Partial<ServiceOptions> = {}): ServiceOptions => ({
    ...optionsFor(store),
    ...further,
  });

  test('is whole under a prefix, unknown paths included, and leaves the rest alone', async (t) => {
    const app = application();
    await app.register(createService(options({ prefix: '/push' })));
    const base = await listen(app, t);
    await assertServed(`${base}/push`);
    const unknown = await fetch(`${base}/push/nothing`);
    assert.equal(unknown.status, 404);
    assert.equal(unknown.headers.get('content-type'), 'application/problem+json');
    assert.equal((await fetch(`${base}/push/vapidKey`, { method: 'PUT' })).status, 405);
    const undecodable = await fetch(`${base}/push/%ff`);
    assert.equal(((await undecodable.json()) as { readonly code: string }).code, 'FST_ERR_BAD_URL');
    await assertUntouched(base);
  });

  test('answers parameters of any length itself, under a prefix and without one', async (t) => {
    for (const prefix of ['/push', '']) {
      const app = application();
      await app.register(createService(options({ prefix })));
      const base = (await listen(app, t)) + prefix;
      assert.equal((await fetch(`${base}/api/getWithArg/${'x'.repeat(256)}`)).status, 200);
      for (const [path, status, code] of [
        [`/api/getWithArg/${'x'.repeat(257)}`, 400, 'ERR_REQUEST_INVALID'],
        [`/v1/user/${'1'.repeat(150)}`, 400, 'ERR_USER_ID_INVALID'],
      ] as const) {
        const response = await fetch(base + path);
        assert.equal(response.status, status);
        assert.equal(response.headers.get('access-control-allow-origin'), '*');
        assert.match(response.headers.get('request-time')!, /^\d+$/);
        assert.equal(((await response.json()) as { code: string }).code, code);
      }
      assert.equal((await fetch(`${base}/v1/user/1/more`)).status, 404);
    }
  });

  test('takes the prefix of its registration, too', async (t) => {
    const app = application();
    await app.register(createService(options()), { prefix: '/a' });
    const base = await listen(app, t);
    await assertServed(`${base}/a`);
    await assertUntouched(base);
  });

  test('is there without a prefix, and then unknown paths stay the application’s', async (t) => {
    const app = application();
    await app.register(createService(options()));
    const base = await listen(app, t);
    await assertServed(base);
    await assertUntouched(base);
  });

  test('is there twice in one application', async (t) => {
    const app = application();
    await app.register(createService(options({ prefix: '/a' })));
    await app.register(createService(options({ prefix: '/b', logging: [] })));
    const base = await listen(app, t);
    await assertServed(`${base}/a`);
    assert.equal((await fetch(`${base}/b/vapidKey`)).headers.get('request-time'), null);
    await assertUntouched(base);
  });

  test('is whole whatever the application has told its router of slashes, letters and semicolons', async (t) => {
    for (const routerOptions of [
      { ignoreTrailingSlash: true },
      { ignoreDuplicateSlashes: true },
      { caseSensitive: false },
      { useSemicolonDelimiter: true },
      {
        ignoreTrailingSlash: true,
        ignoreDuplicateSlashes: true,
        caseSensitive: false,
        useSemicolonDelimiter: true,
      },
    ]) {
      for (const prefix of ['', '/push']) {
        const production = application({ routerOptions });
        await production.register(createService(options({ prefix, pushOnly: true })));
        await production.ready();
        const app = application({ routerOptions });
        await app.register(createService(options({ prefix })));
        const base = (await listen(app, t)) + prefix;
        await assertServed(base);
        const where = JSON.stringify({ prefix, ...routerOptions });
        const { ignoreTrailingSlash, ignoreDuplicateSlashes, caseSensitive, useSemicolonDelimiter } =
          routerOptions as Record<string, boolean | undefined>;
        for (const [path, isServed] of [
          ['/vapidKey/', ignoreTrailingSlash],
          ['//vapidKey', ignoreDuplicateSlashes],
          ['/VAPIDKEY', caseSensitive === false],
          ['/vapidKey;x', useSemicolonDelimiter],
          ['/api/getWithArg/x/', ignoreTrailingSlash],
          ['/api/getWithArg/x;y/z', useSemicolonDelimiter],
          ['/api/getWithArg/x;y', true],
          ['/api/getWithArg/x%2F', true],
          ['/api/getWithArg/x/y', false],
        ] as const) {
          const { status } = await fetch(base + path);
          assert.equal(status, isServed ? 200 : 404, `${path} ${where}`);
          if (!isServed) continue;
          const answer = await fetch(base + path, { method: 'OPTIONS' });
          assert.equal(answer.status, 204, `OPTIONS ${path} ${where}`);
        }
        // Addresses in pages are relative: each is at one path alone.
        for (const [path, page] of [
          ['/docs/', '/docs'],
          ...(prefix === '' ? [] : [['', '/'] as const]),
        ] as const) {
          const { status, url } = await fetch(base + path);
          assert.deepEqual([status, url], [200, base + page], where);
          assert.equal((await fetch(base + path, { method: 'OPTIONS' })).status, 204, where);
        }
        await app.close();
      }
    }
  });

  test('does not take over an OPTIONS route that the application has at the same path', async () => {
    const app = Fastify();
    app.options('/webPush', () => 'mine');
    await assert.rejects(async () => app.register(createService(options())), {
      code: 'FST_ERR_DUPLICATED_ROUTE',
    });
  });

  test('gets along with an application that has the same plugins, hooks and decorators', async (t) => {
    const app = Fastify();
    await app.register(cors, { origin: 'https://mine.example' });
    await app.register(rateLimit, { max: 1000 });
    app.decorateRequest('session', null as never);
    app.get('/mine', () => 'mine');
    await app.register(createService(options({ prefix: '/push' })));
    const base = await listen(app, t);
    assert.equal(await (await fetch(`${base}/push/vapidKey`)).json(), vapidPublicKey);
    assert.equal((await sendJson(`${base}/push`, 'POST', '/webPush', newSubscription())).status, 200);
    assert.equal((await readDescription(`${base}/push`)).info.title, 'Deskbell');
    const mine = await fetch(`${base}/mine`);
    assert.equal(mine.headers.get('access-control-allow-origin'), 'https://mine.example');
  });

  const narrow = {
    origin: 'https://mine.example',
    methods: 'GET',
    allowedHeaders: 'x-mine',
    credentials: true,
    maxAge: 600,
  };
  const hosts: Readonly<Record<string, (app: FastifyInstance, add: () => Promise<void>) => Promise<void>>> = {
    '@fastify/cors before it': async (app, add) => {
      await app.register(cors, { ...narrow, exposedHeaders: 'x-mine' });
      await add();
    },
    '@fastify/cors after it': async (app, add) => {
      await add();
      await app.register(cors, narrow);
    },
    'hooks that set header fields, answer preflights, and keep everything for an hour': async (app, add) => {
      const mine = {
        'access-control-allow-origin': 'https://mine.example',
        'access-control-allow-credentials': 'true',
        'access-control-max-age': '600',
        'access-control-allow-methods': 'GET',
      };
      app.addHook('onRequest', async (request, reply) => {
        reply.headers(mine);
        for (const [name, value] of Object.entries(mine)) reply.raw.setHeader(name, value);
        if (request.method === 'OPTIONS' && request.headers['access-control-request-method'])
          return reply.code(204).header('access-control-allow-headers', 'x-mine').send();
        return undefined;
      });
      app.addHook('onSend', async (_request, reply) => {
        reply.headers({ ...mine, 'cache-control': 'public, max-age=3600', etag: '"mine"' });
      });
      await add();
    },
    'no routes for HEAD': async (_app, add) => add(),
  };
  for (const [what, register] of Object.entries(hosts)) {
    for (const prefix of ['/push', '']) {
      test(`keeps its header fields in an application with ${what}, ${prefix === '' ? 'without a prefix' : 'under a prefix'}`, async (t) => {
        const app = Fastify({ exposeHeadRoutes: what !== 'no routes for HEAD' });
        await register(
          app,
          async () => void (await app.register(createService(options({ prefix, authenticate: 'all' })))),
        );
        const base = (await listen(app, t)) + prefix;
        await assertHeaderFields(base, prefix !== '');
      });
    }
  }
});

async function listen(app: FastifyInstance, t: { after(close: () => Promise<void>): void }): Promise<string> {
  t.after(() => app.close());
  return app.listen({ host: '127.0.0.1', port: 0 });
}

async function assertUntouched(base: string): Promise<void> {
  const mine = await fetch(`${base}/mine`);
  assert.deepEqual(await mine.json(), { mine: true });
  assert.equal(mine.headers.get('access-control-allow-origin'), null);
  assert.equal(mine.headers.get('request-time'), null);
  const text = await fetch(`${base}/mine`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain', cookie: 'deskbell_session=x' },
    body: 'text',
  });
  assert.deepEqual(await text.json(), { mine: 'text' });
  const failed = await fetch(`${base}/mine/fails`);
  assert.equal(failed.status, 418);
  assert.deepEqual(await failed.json(), { mine: 'of mine' });
  assert.deepEqual(await (await fetch(`${base}/mine/7`)).json(), { number: 7 });
  const unknown = await fetch(`${base}/nothing`);
  assert.equal(await unknown.text(), 'mine: nothing here');
  assert.equal(unknown.headers.get('access-control-allow-origin'), null);
  const preflight = await fetch(`${base}/mine`, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'GET' },
  });
  assert.equal(preflight.status, 404);
}

async function assertServed(base: string): Promise<void> {
  assert.equal(await (await fetch(`${base}/vapidKey`)).json(), vapidPublicKey);
  const registered = await sendJson(base, 'POST', '/webPush', newSubscription());
  assert.equal(registered.status, 200);
  assert.match(registered.headers.get('request-time')!, /^\d+$/);
  const refused = await sendJson(base, 'POST', '/webPush', { endpoint: 7 });
  assert.equal(refused.status, 400);
  assert.equal(refused.headers.get('content-type'), 'application/problem+json');
  const wrongType = await fetch(`${base}/webPush`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: '',
  });
  assert.equal(wrongType.status, 415);
  const user = await fetch(`${base}/v1/user/1`);
  assert.equal(user.status, 200);
  const preflight = await fetch(`${base}/webPush`, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get('access-control-allow-methods'), 'POST');
  assert.equal((await fetch(`${base}/openapi.json`)).status, 200);
  assert.match(await (await fetch(`${base}/`)).text(), /<!doctype html>/i);
}

/** An application with ways of its own for everything that the service has ways for. */
function application(further: FastifyServerOptions = {}): FastifyInstance {
  const app = Fastify({ ajv: { customOptions: { coerceTypes: true } }, ...further });
  app.setErrorHandler((error, _request, reply) => reply.code(418).send({ mine: (error as Error).message }));
  app.setNotFoundHandler((_request, reply) => reply.code(404).send('mine: nothing here'));
  app.get('/mine', () => ({ mine: true }));
  app.post('/mine', (request) => ({ mine: request.body }));
  app.get('/mine/fails', () => {
    throw new Error('of mine');
  });
  app.get('/mine/:number', {
    schema: { params: { type: 'object', properties: { number: { type: 'integer' } } } },
    handler: (request) => request.params,
  });
  return app;
}
