// Who reaches the operator's listener: by a token, by its own addresses, and from its own pages only.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import Fastify from 'fastify';
import type { Configuration } from '../../src/cli/configuration/configuration.ts';
import { openOperator, readListenerAccess } from '../../src/cli/serve/open-operator.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { createMetrics } from '../../src/operator/metrics/metrics.ts';
import { checkHost, createOperator } from '../../src/operator/create-operator.ts';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { temporaryFolder } from '../cli/run-command.ts';
import { codeOf, startOperator } from './running-operator.ts';

/** `fetch` sets Host and Origin itself. */
function askAs(port: number, headers: Record<string, string>): Promise<{ status: number; code?: string }> {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path: '/v1/keys', headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode!, ...(JSON.parse(text) as object) }));
    })
      .on('error', reject)
      .end();
  });
}

test('a request without a token, with a wrong one, or with one that was removed is a 401', async (t) => {
  const { base, store, add } = await startOperator(t);
  const token = await add('shop', 'full');
  const ask = (headers: Record<string, string>) => fetch(`${base}/v1/keys`, { headers });
  assert.equal((await ask({ authorization: `Bearer ${token}` })).status, 200);
  for (const authorization of [
    '',
    'Bearer',
    `Bearer ${token}x`,
    `Bearer ${token} x`,
    `Basic ${token}`,
    token,
  ]) {
    const response = await ask(authorization === '' ? {} : { authorization });
    assert.equal(response.status, 401, authorization);
    assert.equal(response.headers.get('www-authenticate'), 'Bearer realm="deskbell"');
    assert.equal(await codeOf(response), 'ERR_TOKEN_INVALID');
  }
  assert.equal((await ask({ cookie: `token=${token}` })).status, 401);
  assert.equal((await fetch(`${base}/v1/keys?token=${token}&access_token=${token}`)).status, 401);
  await store.operators.remove('shop');
  assert.equal((await ask({ authorization: `Bearer ${token}` })).status, 401);
});

test('a token for metrics alone reads nothing else', async (t) => {
  const { base, add } = await startOperator(t);
  const response = await fetch(`${base}/v1/keys`, {
    headers: { authorization: `Bearer ${await add('prometheus', 'metrics')}` },
  });
  assert.equal(response.status, 403);
  assert.equal(await codeOf(response), 'ERR_TOKEN_ROLE');
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
    assert.equal((await askAs(port, { host, authorization })).status, 200, host);
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
    const { status, code } = await askAs(port, { host, authorization });
    assert.deepEqual({ status, code }, { status: 421, code: 'ERR_HOST_REFUSED' }, host);
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
      assert.equal((await askAs(port, { host, authorization })).status, expected, `${listensOn}: ${host}`);
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
  assert.equal((await askAs(port, { host, authorization, origin: base })).status, 200);
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `https://${host}` },
    { origin: `http://127.0.0.1:${port + 1}` },
    { origin: `${base}.evil.example` },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
  ]) {
    const { status, code } = await askAs(port, { host, authorization, ...(headers as object) });
    assert.deepEqual({ status, code }, { status: 403, code: 'ERR_ORIGIN_REFUSED' }, JSON.stringify(headers));
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
    assert.equal((await askAs(port, headers)).status, status, `${length} bytes`);
  }
});

test('beyond loopback it starts with TLS or behind a proxy only', async (t) => {
  const { store, sender } = await startOperator(t);
  const log = { info: () => {}, error: () => {} };
  const base = { store, sender, log, hashPerson: String, port: 0, metrics: createMetrics(store) };
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
  const parts = { sender, metrics: createMetrics(store), log: { info: () => {}, error: () => {} } };
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
