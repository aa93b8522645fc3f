// Who a client is behind a proxy: what a trusted proxy says last, whatever the client has sent before it.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import type { Configuration } from '../../src/cli/configuration/configuration.ts';
import { readListenerAccess } from '../../src/cli/serve/open-operator.ts';
import { createMiddleware } from '../../src/service/create-middleware.ts';
import { createServer } from '../../src/service/create-service.ts';
import type { MiddlewareOptions, ServerOptions } from '../../src/service/options.ts';
import { startOperator, type RunningOperator } from './running-operator.ts';

/** A wrong attempt to sign in. @param from an address of this machine that the connection comes from */
function guess({ port }: RunningOperator, forwardedFor: string, from = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      host: `127.0.0.1:${port}`,
      origin: `https://127.0.0.1:${port}`,
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': forwardedFor,
    };
    request({ port, localAddress: from, path: '/console/sign-in', method: 'POST', headers }, (response) => {
      resolve(response.resume().statusCode!);
    })
      .on('error', reject)
      .end('token=guess');
  });
}

const clientsOf = ({ records }: RunningOperator): readonly unknown[] =>
  records.flatMap((record) => ('client' in record ? [record.client] : []));

test('behind a proxy each client has its own attempts to sign in, and the log names it', async (t) => {
  const operator = await startOperator(t, { isBehindProxy: true });
  for (let attempt = 0; attempt < 10; attempt += 1) assert.equal(await guess(operator, '192.0.2.66'), 403);
  assert.equal(await guess(operator, '192.0.2.66'), 429);
  assert.equal(await guess(operator, '192.0.2.1'), 403);
  assert.deepEqual(new Set(clientsOf(operator)), new Set(['192.0.2.66', '192.0.2.1']));
});

test('what a client writes before the proxy’s own words makes it nobody else', async (t) => {
  const operator = await startOperator(t, { isBehindProxy: true });
  // of an internal network, as the example for nginx lets in
  const client = '10.1.2.66';
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 11; attempt += 1) {
    statuses.push(await guess(operator, `198.51.100.${attempt}, 127.0.0.1, ${client}`));
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

/** Without TLS, and without a proxy that provides it. */
function guessDirectly({ base }: RunningOperator, forwardedFor: string): Promise<Response> {
  return fetch(`${base}/console/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ token: 'guess' }),
    headers: { origin: base, 'x-forwarded-for': forwardedFor },
  });
}

test('a proxy that is named is believed also without --operator-behind-proxy', async (t) => {
  const configuration = { operatorBehindProxy: false, operatorHosts: [], trustProxy: ['127.0.0.1'] };
  const operator = await startOperator(
    t,
    await readListenerAccess('127.0.0.1:0', configuration as unknown as Configuration),
  );
  await guessDirectly(operator, '198.51.100.1, 192.0.2.1');
  assert.deepEqual(clientsOf(operator), ['192.0.2.1']);
});

test('without a proxy the header says nothing', async (t) => {
  // nor does it where the proxies that are named are on other machines
  for (const trustProxy of [[], ['203.0.113.0/24']]) {
    const direct = await startOperator(t, { trustProxy });
    await guessDirectly(direct, '192.0.2.1');
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
