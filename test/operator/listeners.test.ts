// All routes of both listeners against each other: nothing of the operator's side is reached over the public listener, without a
// token, or from another origin, and nothing of the public service is on the operator's side.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import Fastify from 'fastify';
import type { Configuration } from '../../src/cli/configuration/configuration.ts';
import { openOperator, readListenerAccess } from '../../src/cli/serve/open-operator.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { checkHost, createOperator } from '../../src/operator/create-operator.ts';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { createMiddleware } from '../../src/service/create-handler.ts';
import { createServer } from '../../src/service/create-service.ts';
import type { MiddlewareOptions, ServerOptions } from '../../src/service/options.ts';
import { temporaryFolder } from '../cli/run-command.ts';
import { vapidPublicKey } from '../service/running-service.ts';
import { openAgain, usePostgres } from '../store/test-database.ts';
import { type Asked, collectRoutes } from './collect-routes.ts';
import { createVisitor, signIn } from './console-visitor.ts';
import {
  codeOf,
  optionsOf,
  type RunningOperator,
  silentLog,
  startOperator,
  startStage,
} from './running-operator.ts';

const nameOf = ({ method, path }: Asked): string => `${method} ${path}`;

/** With any header, `host` and `origin` too, which `fetch` sets itself. */
async function ask(
  port: number,
  headers: Record<string, string>,
  { method, path }: { readonly method?: string; readonly path: string } = { path: '/v1/keys' },
  body?: string,
) {
  const asked = request({ port, host: '127.0.0.1', method, path, headers, agent: false });
  const [response] = (await once(asked.end(body), 'response')) as [IncomingMessage];
  return { status: response.statusCode!, headers: response.headers, text: await text(response) };
}

/** They need the secret of a bell, wherever a request comes from. */
const isOfBells = ({ path }: { readonly path: string }): boolean => path.startsWith('/ring');

test('all routes of both listeners against each other', async (t) => {
  const { store, sender, add } = await startOperator(t);
  const where = { host: '127.0.0.1', port: 0 };
  const publicService = createServer({
    store,
    vapidPublicKey,
    sessionKey: randomBytes(32),
    receiptKey: randomBytes(32),
    registrationsPerMinute: 'off',
    logging: [],
    log: silentLog,
  });
  const operator = createOperator(optionsOf(store, sender));
  const publicRoutes = collectRoutes(publicService);
  const operatorRoutes = collectRoutes(operator);
  for (const app of [publicService, operator]) {
    await app.listen(where);
    t.after(() => app.close());
  }
  const [publicPort, operatorPort] = [publicService, operator].map(
    (app) => (app.server.address() as AddressInfo).port,
  ) as [number, number];
  assert(publicRoutes.length > 20 && operatorRoutes.length > 40);
  const authorization = `Bearer ${await add('shop', 'full')}`;
  const publicNames = new Set(publicRoutes.map(nameOf));
  const operatorNames = new Set(operatorRoutes.map(nameOf));
  const shared = [...operatorNames].filter((name) => publicNames.has(name)).toSorted();
  assert.deepEqual(shared, ['GET /', 'GET /openapi.json', 'HEAD /', 'HEAD /openapi.json']);

  await t.test('the public listener has no route of the operator’s, with a token either', async () => {
    for (const route of operatorRoutes.filter((known) => !shared.includes(nameOf(known)))) {
      const { status } = await ask(publicPort, { authorization }, route);
      assert.equal(status, 404, nameOf(route));
    }
    const description = await ask(publicPort, { authorization }, { path: '/openapi.json' });
    assert(!description.text.includes('/v1/messages'));
  });

  await t.test('without a token the operator’s listener shows its sign-in page and files alone', () => {
    const open = new Set(operatorRoutes.filter((route) => route.isOpen && !isOfBells(route)).map(nameOf));
    for (const name of open) assert.match(name, /^(?:GET|HEAD|POST) \/console\/(?:sign-in$|[\w.-]+\.\w+$)/);
  });

  await t.test(
    'from another origin and under another host nothing of it answers, with a token either',
    async () => {
      for (const route of operatorRoutes.filter((known) => !isOfBells(known))) {
        const ofPublic = { authorization, origin: `http://127.0.0.1:${publicPort}` };
        assert.equal((await ask(operatorPort, ofPublic, route)).status, 403, nameOf(route));
        const rebound = { authorization, host: `evil.example:${operatorPort}` };
        assert.equal((await ask(operatorPort, rebound, route)).status, 421, nameOf(route));
      }
    },
  );

  await t.test('the operator’s listener has no route of the public service', async () => {
    for (const route of publicRoutes.filter((known) => !shared.includes(nameOf(known)))) {
      const { status } = await ask(operatorPort, { authorization }, route);
      assert([404, 405].includes(status), `${nameOf(route)}: ${status}`);
    }
  });
});

test('a route that does not say what it changes, or what it is, cannot be added', async (t) => {
  const { store, sender } = await startOperator(t);
  const app = createOperator(optionsOf(store, sender));
  assert.throws(() => app.post('/v1/unsaid', async () => ''), /does not say what it changes/);
  await app.close();
});

// Several operator's listeners on one PostgreSQL database, as several `serve` processes have them.

usePostgres();

test('who has signed in to the console at one listener is signed in to all, and signs out of all', async (t) => {
  const stage = await startStage(t, [{}]);
  const store = await openAgain(stage.store);
  const another = createOperator(optionsOf(store, stage.sender));
  const base = await another.listen({ host: '127.0.0.1', port: 0 });
  t.after(async () => {
    await another.close();
    await store.close();
  });
  const { broadcast } = await stage.sender.createBroadcast('all', { title: 'Ding', message: 'dong' });
  const other = createVisitor({ base });
  const visitor = await signIn(stage);
  other.cookie = visitor.cookie;
  const page = `/console/broadcasts/${broadcast.id}`;
  assert.deepEqual([(await other.open(page)).url, other.page.status], [page, 200]);
  await visitor.open(page);
  assert.equal(csrfOf(other.page.html), csrfOf(visitor.page.html), 'a form of one is taken by the other');
  await other.submit(`${page}/pause`);
  assert.equal((await stage.store.broadcasts.find(broadcast.id))?.state, 'paused');
  await other.submit('/console/sign-out');
  assert.match((await visitor.open(page)).url, /sign-in/);
});

const csrfOf = (html: string): string | undefined => /name="csrf" value="([\w-]+)"/.exec(html)?.[1];

// Who a client is behind a proxy: what a trusted proxy says last, whatever the client has sent before it.

/** A wrong attempt to sign in, through a proxy that speaks TLS, or directly. */
function guess({ port }: RunningOperator, forwardedFor: string, scheme = 'https') {
  const host = `127.0.0.1:${port}`;
  const headers = {
    host,
    origin: `${scheme}://${host}`,
    'content-type': 'application/x-www-form-urlencoded',
    'x-forwarded-for': forwardedFor,
  };
  return ask(port, headers, { method: 'POST', path: '/console/sign-in' }, 'token=guess');
}

const clientsOf = ({ records }: RunningOperator): readonly unknown[] =>
  records.flatMap((record) => ('client' in record ? [record.client] : []));

test('a client has ten attempts a minute to sign in, behind a proxy each its own, and the log names it', async (t) => {
  const operator = await startOperator(t, { isBehindProxy: true });
  const startedMs = performance.now();
  for (let attempt = 0; attempt < 10; attempt += 1)
    assert.equal((await guess(operator, '192.0.2.66')).status, 403);
  const { status, headers } = await guess(operator, '192.0.2.66');
  const [waitSeconds, passedSeconds] = [
    Number(headers['retry-after']),
    (performance.now() - startedMs) / 1000,
  ];
  assert.equal(status, 429);
  assert.ok(waitSeconds <= 60 && waitSeconds >= Math.floor(60 - passedSeconds), String(waitSeconds));
  assert.equal((await guess(operator, '192.0.2.1')).status, 403);
  assert.deepEqual(new Set(clientsOf(operator)), new Set(['192.0.2.66', '192.0.2.1']));
});

test('what a client writes before the proxy’s own words makes it nobody else', async (t) => {
  const operator = await startOperator(t, { isBehindProxy: true });
  // of an internal network, as the example for nginx lets in
  const client = '10.1.2.66';
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 11; attempt += 1) {
    statuses.push((await guess(operator, `198.51.100.${attempt}, 127.0.0.1, ${client}`)).status);
  }
  assert.deepEqual(statuses.slice(-2), [403, 429]);
  assert.deepEqual(new Set(clientsOf(operator)), new Set([client]));
});

test('of further proxies those are believed that are named', async (t) => {
  const configuration = {
    operatorBehindProxy: true,
    operatorHosts: ['ops.example.org'],
    trustProxy: ['203.0.113.0/24'],
  };
  const access = (await readListenerAccess('127.0.0.1:0', configuration as unknown as Configuration))!;
  assert.deepEqual(access.hosts, ['ops.example.org']);
  const operator = await startOperator(t, access);
  await guess(operator, '198.51.100.1, 192.0.2.1, 203.0.113.7');
  await guess(operator, '198.51.100.1, 192.0.2.2, 203.0.114.7');
  assert.deepEqual(clientsOf(operator), ['192.0.2.1', '203.0.114.7']);
});

test('a proxy that is named is believed also without --operator-behind-proxy', async (t) => {
  const configuration = { operatorBehindProxy: false, operatorHosts: [], trustProxy: ['127.0.0.1'] };
  const operator = await startOperator(
    t,
    await readListenerAccess('127.0.0.1:0', configuration as unknown as Configuration),
  );
  await guess(operator, '198.51.100.1, 192.0.2.1', 'http');
  assert.deepEqual(clientsOf(operator), ['192.0.2.1']);
});

test('without a proxy the header says nothing', async (t) => {
  // nor does it where the proxies that are named are on other machines
  for (const trustProxy of [[], ['203.0.113.0/24']]) {
    const direct = await startOperator(t, { trustProxy });
    await guess(direct, '192.0.2.1', 'http');
    assert.deepEqual(clientsOf(direct), ['127.0.0.1']);
  }
});

test('a number of hops, which would trust nobody, is refused', () => {
  const options = { trustProxy: 1 } as unknown as ServerOptions & MiddlewareOptions;
  for (const create of [createServer, createMiddleware]) {
    assert.throws(() => create(options), {
      code: 'ERR_CONFIGURATION',
      message: /"trustProxy" .*address or range/,
    });
  }
});

// Who reaches the operator's listener: by a token, by its own addresses, and from its own pages only.

test('a request without a token, with a wrong one, or with one that was removed is a 401', async (t) => {
  const { base, store, add } = await startOperator(t);
  const token = await add('shop', 'full');
  const askKeys = (headers: Record<string, string>) => fetch(`${base}/v1/keys`, { headers });
  assert.equal((await askKeys({ authorization: `Bearer ${token}` })).status, 200);
  for (const authorization of [
    '',
    'Bearer',
    `Bearer ${token}x`,
    `Bearer ${token} x`,
    `Basic ${token}`,
    token,
  ]) {
    const response = await askKeys(authorization === '' ? {} : { authorization });
    assert.equal(response.status, 401, authorization);
    assert.equal(response.headers.get('www-authenticate'), 'Bearer realm="deskbell"');
    assert.equal(await codeOf(response), 'ERR_TOKEN_INVALID');
  }
  assert.equal((await askKeys({ cookie: `token=${token}` })).status, 401);
  assert.equal((await fetch(`${base}/v1/keys?token=${token}&access_token=${token}`)).status, 401);
  await store.operators.remove('shop');
  assert.equal((await askKeys({ authorization: `Bearer ${token}` })).status, 401);
});

test('another Host than the listener’s own is a 421, whatever the token', async (t) => {
  const { port, add } = await startOperator(t, { hosts: ['Ops.example.org'] });
  const authorization = `Bearer ${await add('shop', 'full')}`;
  for (const host of [
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    `LOCALHOST:${port}`,
    `[::1]:${port}`,
    'ops.example.org',
    `ops.example.org:${port}`,
  ]) {
    assert.equal((await ask(port, { host, authorization })).status, 200, host);
  }
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1',
    '127.0.0.1:8080',
    'ops.example.org:1',
    `127.0.0.1.evil.example:${port}`,
    `xops.example.org:${port}`,
  ]) {
    const { status, text: body } = await ask(port, { host, authorization });
    assert.deepEqual([status, JSON.parse(body).code], [421, 'ERR_HOST_REFUSED'], host);
  }
});

test('beyond loopback it is not reached as localhost, and its port is left out where it is the usual one', async (t) => {
  for (const [options, listensOn, hosts] of [
    [{ host: '0.0.0.0', isBehindProxy: true }, 8081, { '0.0.0.0:8081': 200, 'localhost:8081': 421 }],
    [{ host: '0.0.0.0', isBehindProxy: true }, 443, { '0.0.0.0': 200, '0.0.0.0:443': 200 }],
    [{ isBehindProxy: true }, 80, { '127.0.0.1': 421, '127.0.0.1:80': 200 }],
    [{}, 80, { '127.0.0.1': 200, localhost: 200 }],
    [{}, 443, { '127.0.0.1': 421, '127.0.0.1:443': 200 }],
  ] as const) {
    const { app, port, add } = await startOperator(t, options);
    const authorization = `Bearer ${await add('shop', 'full')}`;
    t.mock.method(app.server, 'address', () => ({ port: listensOn }));
    for (const [host, expected] of Object.entries(hosts))
      assert.equal((await ask(port, { host, authorization })).status, expected, `${listensOn}: ${host}`);
  }
  for (const [listensOn, host] of [
    ['127.0.0.2', '127.0.0.2:8081'],
    ['2001:DB8::1', '[2001:db8::1]:8081'],
  ] as const) {
    const app = Fastify();
    checkHost(app, { host: listensOn, hosts: [], isSecure: true });
    app.get('/', () => 'answered');
    t.mock.method(app.server, 'address', () => ({ port: 8081 }));
    assert.equal((await app.inject({ url: '/', headers: { host } })).body, 'answered', host);
  }
});

test('a request from a page of another origin is a 403, with a valid token too, and no answer permits one', async (t) => {
  const { port, base, add } = await startOperator(t);
  const host = `127.0.0.1:${port}`;
  const authorization = `Bearer ${await add('shop', 'full')}`;
  assert.equal((await ask(port, { host, authorization, origin: base })).status, 200);
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `https://${host}` },
    { origin: `http://127.0.0.1:${port + 1}` },
    { origin: `${base}.evil.example` },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
  ]) {
    const { status, text: body } = await ask(port, { host, authorization, ...(headers as object) });
    assert.deepEqual([status, JSON.parse(body).code], [403, 'ERR_ORIGIN_REFUSED'], JSON.stringify(headers));
  }
  const preflight = await fetch(`${base}/v1/keys`, {
    method: 'OPTIONS',
    headers: { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' },
  });
  assert(preflight.status >= 400);
  for (const response of [preflight, await fetch(`${base}/v1/keys`), await fetch(`${base}/nothing`)]) {
    assert.equal(response.headers.get('access-control-allow-origin'), null);
    assert.equal(response.headers.get('cache-control'), 'no-store');
  }
});

test('without options it has the limits of the public service', async (t) => {
  const { app, port, add } = await startOperator(t);
  const { maxConnections, headersTimeout, requestTimeout } = app.server;
  assert.deepEqual([maxConnections, headersTimeout, requestTimeout], [10_000, 10_000, 30_000]);
  const authorization = `Bearer ${await add('shop', 'full')}`;
  for (const [length, status] of [
    [16_000, 200],
    [16_384, 431],
  ] as const) {
    const headers = { host: `127.0.0.1:${port}`, authorization, x: 'x'.repeat(length) };
    assert.equal((await ask(port, headers)).status, status, `${length} bytes`);
  }
});

test('beyond loopback it starts with TLS or behind a proxy only', async (t) => {
  const { store, sender } = await startOperator(t);
  const base = optionsOf(store, sender);
  const tls = makeCertificate(['127.0.0.1']);
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'ops.example.org', '127.evil.example']) {
    assert.throws(
      () => createOperator({ ...base, host }),
      (error) => error instanceof DeskbellError && error.code === 'ERR_CONFIGURATION',
      host,
    );
    createOperator({ ...base, host, isBehindProxy: true });
    createOperator({ ...base, host, tls });
  }
  for (const host of ['127.0.0.1', '127.8.9.1', 'localhost', '::1']) createOperator({ ...base, host });
});

test('it speaks TLS with the certificate that it is given', async (t) => {
  const { cert, key } = makeCertificate(['127.0.0.1']);
  const folder = await temporaryFolder();
  const files = { operatorCert: join(folder, 'cert.pem'), operatorKey: join(folder, 'key.pem') };
  await writeFile(files.operatorCert, cert);
  await writeFile(files.operatorKey, key);
  const access = (await readListenerAccess('127.0.0.1:0', files as unknown as Configuration))!;
  assert.deepEqual(access.tls, { cert, key });
  const { port, add, store, sender } = await startOperator(t, access);
  const parts = optionsOf(store, sender);
  const data = { store, sessionKey: Buffer.alloc(32) };
  const opened = await openOperator(access, data, parts);
  await opened.close();
  assert.match(opened.address, /^https:\/\/127\.0\.0\.1:\d+$/);
  const token = await add('shop', 'read');
  const { get } = await import('node:https');
  for (const [origin, expected] of [
    [`https://127.0.0.1:${port}`, 200],
    [`http://127.0.0.1:${port}`, 403],
  ] as const) {
    const headers = { authorization: `Bearer ${token}`, origin };
    const status = await new Promise((resolve, reject) => {
      get({ port, host: '127.0.0.1', path: '/v1/keys', ca: cert, headers }, (response) =>
        resolve(response.resume().statusCode),
      ).on('error', reject);
    });
    assert.equal(status, expected, origin);
  }
});
