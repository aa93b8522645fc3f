// The session of an application around the service, in Express and in Fastify: hooks see it, and no page of another site can
// use it.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import fastifyCookie from '@fastify/cookie';
import fastifyCors from '@fastify/cors';
import fastifySession from '@fastify/session';
import express from 'express';
import expressSession from 'express-session';
import Fastify from 'fastify';
import type { UserAndTags } from '../../src/audience/user-and-tags.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { createMiddleware, createService, type OfferedSubscription } from '../../src/service/index.ts';
import {
  assertProblem,
  newSubscription,
  openStoreForSuite,
  optionsFor,
  readDescription,
  recordingLog,
  sendJson,
  serveUntilEnd,
} from './running-service.ts';

declare module 'express-session' {
  interface SessionData {
    user: string;
  }
}
declare module 'fastify' {
  interface Session {
    user?: string;
  }
}

const secret = 'a secret of at least thirty-two bytes';
/** As in an application that is embedded in pages of other sites. */
const sameSite = 'none';

describe('the session of an application around the service', () => {
  const store = openStoreForSuite();

  const options = () =>
    ({
      ...optionsFor(store),
      receiptKey: randomBytes(32),
      registrationsPerMinute: 'off',
      channels: true,
    }) as const;

  /** Reads bodies of every type ahead of the service, and allows credentials everywhere. */
  async function startExpress(t: TestContext) {
    const { records, log } = recordingLog();
    // what the hooks were told, such as "subscribe ada"
    const calls: string[] = [];
    const service = createMiddleware<express.Request>({
      ...options(),
      log,
      onSubscribe(subscription, request) {
        calls.push(`subscribe ${request.session.user} from ${request.originalUrl}`);
        return ownerOf(subscription, request.session.user);
      },
      onUnsubscribe: (_subscription, { session }) => void calls.push(`unsubscribe ${session.user}`),
    });
    const app = express();
    app.use((_request, response, next) => {
      response.set({ 'access-control-allow-credentials': 'true' });
      next();
    });
    app.use(expressSession({ secret, resave: false, saveUninitialized: false, cookie: { sameSite } }));
    app.use(express.json({ type: ['json', 'text'] }), express.urlencoded(), express.text({ type: '*/*' }));
    app.post('/login', (request, response) => {
      request.session.user = 'ada';
      response.end();
    });
    app.use('/push', service);
    const base = `${await serveUntilEnd(t, app)}/push`;
    t.after(() => service.close());
    return { base, calls, records };
  }

  async function startFastify(t: TestContext) {
    const { records, log } = recordingLog();
    const calls: string[] = [];
    const app = Fastify();
    t.after(() => app.close());
    await app.register(fastifyCors, { origin: true, credentials: true });
    app.addHook('onRequest', async (_request, reply) => {
      reply.raw.setHeader('access-control-allow-credentials', 'true');
    });
    await app.register(fastifyCookie);
    await app.register(fastifySession, { secret, cookie: { sameSite, secure: false } });
    app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
    app.post('/login', async (request) => {
      request.session.user = 'ada';
      return '';
    });
    await app.register(
      createService({
        ...options(),
        log,
        prefix: '/push',
        onSubscribe(subscription, request) {
          calls.push(`subscribe ${request.session.user} from ${request.originalUrl}`);
          return ownerOf(subscription, request.session.user);
        },
        onUnsubscribe: (_subscription, { session }) => void calls.push(`unsubscribe ${session.user}`),
      }),
    );
    return { base: `${await app.listen({ host: '127.0.0.1', port: 0 })}/push`, calls, records };
  }

  for (const [name, start] of [
    ['Express', startExpress],
    ['Fastify', startFastify],
  ] as const) {
    test(`${name}: hooks receive the application's own request, with its session, and the log has no keys`, async (t) => {
      const { base, calls, records } = await start(t);
      const cookie = await signIn(base);
      const subscription = newSubscription();
      assert.equal((await sendJson(base, 'POST', '/webPush', subscription, { cookie })).status, 200);
      assert.equal((await store.subscriptions.findByEndpoint(subscription.endpoint))?.user, 'ada');
      assert.equal((await sendJson(base, 'DELETE', '/webPush', subscription, { cookie })).status, 204);
      assert.deepEqual(calls, ['subscribe ada from /push/webPush', 'unsubscribe ada']);
      const lines = records.filter(({ event }) => event === 'subscription');
      const { origin } = new URL(subscription.endpoint);
      assert.deepEqual(lines, [{ event: 'subscription', endpoint: `${origin}/…` }]);
      assert.ok(!JSON.stringify(records).includes(subscription.auth));
    });

    test(`${name}: without a login, nothing is stored, as the hook wants it`, async (t) => {
      const { base } = await start(t);
      const subscription = newSubscription();
      const refused = sendJson(base, 'POST', '/webPush', subscription);
      const { detail } = await assertProblem(refused, 401, 'ERR_UNAUTHENTICATED');
      assert.equal(detail, 'Sign in first.');
      assert.equal(await store.subscriptions.findByEndpoint(subscription.endpoint), undefined);
    });

    test(`${name}: without a login, what is stored may be sent again and renewed, as the hook wants it`, async (t) => {
      const { base } = await start(t);
      const { endpoint, p256dh, auth } = newSubscription();
      const former = { endpoint, p256dh, auth };
      const cookie = await signIn(base);
      assert.equal((await sendJson(base, 'POST', '/webPush', former, { cookie })).status, 200);
      assert.equal((await sendJson(base, 'POST', '/webPush', former)).status, 200);
      const renewed = newSubscription();
      const header = { 'deskbell-former-subscription': JSON.stringify({ endpoint, auth }) };
      assert.equal((await sendJson(base, 'POST', '/webPush', renewed, header)).status, 200);
      assert.equal((await store.subscriptions.findByEndpoint(renewed.endpoint))?.user, 'ada');
      assert.equal((await sendJson(base, 'DELETE', '/webPush/user', renewed)).status, 204);
      assert.equal((await sendJson(base, 'POST', '/webPush', renewed)).status, 200, 'signed out');
      assert.equal((await store.subscriptions.findByEndpoint(renewed.endpoint))?.user, undefined);
    });

    test(`${name}: what a page of another site can send with the cookie reaches neither store nor hook`, async (t) => {
      const { base, calls } = await start(t);
      const cookie = await signIn(base);
      const subscription = newSubscription();
      const body = JSON.stringify(subscription);
      const rows = await store.subscriptions.count();
      for (const path of ['/webPush', '/webPush/receipts', '/webPush/channels']) {
        for (const type of typesWithoutPreflight) {
          const response = await fetch(base + path, {
            method: 'POST',
            headers: { cookie, origin: 'https://evil.example', ...(type && { 'content-type': type }) },
            body: Buffer.from(body),
          });
          assert.equal(response.status, 415, type);
          assertNoCredentials(response);
        }
      }
      assert.deepEqual(calls, []);
      assert.equal(await store.subscriptions.count(), rows);
    });

    test(`${name}: no answer allows credentials, though the application allows them on its paths`, async (t) => {
      const { base } = await start(t);
      const cookie = await signIn(base);
      const { paths: described } = await readDescription(base);
      const paths = Object.keys(described).map((path) => path.replace(/\{.*\}/, '1'));
      const headers = { cookie, origin: 'https://evil.example' };
      for (const path of ['', '/nowhere', ...paths]) {
        for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
          assertNoCredentials(await fetch(base + path, { method, headers, redirect: 'manual' }));
        }
      }
      const preflight = { ...headers, 'access-control-request-method': 'POST' };
      for (const path of ['/nowhere/at/all', ...paths]) {
        for (const own of [headers, preflight]) {
          assertNoCredentials(await fetch(base + path, { method: 'OPTIONS', headers: own }));
        }
      }
    });
  }
});

/** As docs/users.md has it. */
function ownerOf(subscription: OfferedSubscription, user: string | undefined): UserAndTags | undefined {
  if (user === undefined && subscription.id === undefined && subscription.user === undefined) {
    throw new DeskbellError('ERR_UNAUTHENTICATED', 'Sign in first.');
  }
  return user === undefined ? undefined : { user };
}

/** Fetch standard, "CORS-safelisted request-header": none at all, or one of three types with any parameters. */
const typesWithoutPreflight = [
  '',
  'text/plain',
  'text/plain;charset=utf-8',
  'text/plain; application/json',
  'text/plain;application/json',
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; x=application/json',
  'multipart/form-data; boundary=application/json',
];

async function signIn(base: string): Promise<string> {
  const response = await fetch(new URL('/login', base), { method: 'POST' });
  assert.equal(response.status, 200);
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
}

function assertNoCredentials(response: Response): void {
  assert.equal(response.headers.get('access-control-allow-credentials'), null, response.url);
}
