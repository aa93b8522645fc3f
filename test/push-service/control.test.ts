// The control resource: what other processes may ask for, and who may ask.
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import type { PushService, PushSubscriptionJson, SinkTally } from '../../src/push-service/index.ts';
import {
  createVapidSender,
  type Received,
  type Send,
  sendByHttp1,
  start,
  startSubscribed,
  versions,
  push,
} from './harness.ts';

const ask = (
  send: Send,
  service: PushService,
  method: string,
  resource: string,
  body?: unknown,
): Promise<Received> =>
  send(`${service.controlUrl}/${resource}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

for (const [version, send] of versions) {
  test(`faults are added, listed, cancelled and cleared over ${version}`, async (t) => {
    const service = await start(t);
    const [endpoint = ''] = [...service.createSinks(1)].map((sink) => sink.endpoint);
    const added = await ask(send, service, 'POST', 'faults', { kind: 'status', status: 503, retryAfter: 2 });
    assert.equal(added.status, 201);
    const fault = { kind: 'status', status: 503, retryAfter: 2 };
    assert.deepEqual(JSON.parse(added.body), { id: 1, fault, hits: 0 });
    assert.equal((await send(endpoint, push)).status, 503);
    const listed = await ask(send, service, 'GET', 'faults');
    assert.deepEqual(JSON.parse(listed.body), [{ id: 1, fault, hits: 1 }]);
    assert.equal((await ask(send, service, 'DELETE', 'faults/1')).status, 204);
    assert.equal((await ask(send, service, 'DELETE', 'faults/1')).status, 404);
    assert.equal((await send(endpoint, push)).status, 201);
    await ask(send, service, 'POST', 'faults', { kind: 'hang' });
    assert.equal((await ask(send, service, 'DELETE', 'faults')).status, 204);
    assert.equal((await send(endpoint, push)).status, 201);
  });

  test(`sinks are made as JSON Lines, counted and cleared over ${version}`, async (t) => {
    const service = await start(t);
    const { publicKey } = createVapidSender(service.origin);
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    t.after(() => process.off('warning', note));
    // enough for a dozen pages of the answer: Node warns of ten listeners that are left
    const made = await ask(send, service, 'POST', 'sinks', { count: 5000, vapidPublicKey: publicKey });
    assert.equal(made.status, 201);
    assert.equal(made.headers['content-type'], 'application/jsonl');
    const lines = made.body.trimEnd().split('\n');
    const sinks = lines.map((line) => JSON.parse(line) as PushSubscriptionJson);
    assert.equal(new Set(sinks.map(({ endpoint }) => endpoint)).size, 5000);
    assert.equal((await send(sinks[4999]?.endpoint ?? '', push)).status, 401, 'made for a key');
    const tally = await ask(send, service, 'GET', 'sinks');
    const [{ sinks: size, sinksByMessages } = {} as SinkTally] = JSON.parse(tally.body) as SinkTally[];
    assert.deepEqual([size, sinksByMessages], [5000, { 0: 5000 }]);
    assert.equal((await ask(send, service, 'DELETE', 'sinks')).status, 204);
    assert.equal((await ask(send, service, 'GET', 'sinks')).body, '[]\n');
    assert.deepEqual(warnings, []);
  });
}

test('statistics, the end of a subscription, and dropped connections', async (t) => {
  const { service, agent, endpoint } = await startSubscribed(t);
  const statistics = JSON.parse((await ask(sendByHttp1, service, 'GET', 'statistics')).body) as unknown;
  assert.deepEqual(statistics, {
    events: { connected: 1, registered: 1 },
    answers: {},
    subscriptions: 1,
    sinks: 0,
    connectedUserAgents: 1,
    undeliveredMessages: 0,
    undeliveredBytes: 0,
  });
  const token = endpoint.split('/').at(-1);
  assert.equal((await ask(sendByHttp1, service, 'DELETE', `subscriptions/${token}`)).status, 204);
  assert.equal((await ask(sendByHttp1, service, 'DELETE', `subscriptions/${token}`)).status, 404);
  assert.equal((await sendByHttp1(endpoint, push)).status, 410);
  assert.deepEqual(await agent.ask({}), {}, 'the user agent was not told');
  assert.equal((await ask(sendByHttp1, service, 'DELETE', 'connections')).status, 204);
  assert.equal((await agent.closed()).code, 1001);
});

test('what it does not understand is refused in words', async (t) => {
  const service = await start(t);
  const refused: [number, string, string, unknown?][] = [
    [404, 'GET', 'nothing'],
    [404, 'PUT', 'faults', {}],
    [404, 'GET', ''],
    [404, 'DELETE', 'subscriptions/unknown'],
    [404, 'DELETE', 'faults/x'],
    [400, 'POST', 'faults', { kind: 'fire' }],
    [400, 'POST', 'faults', 'kind'],
    [400, 'POST', 'faults'],
    [400, 'POST', 'sinks', { count: 0 }],
    [400, 'POST', 'sinks', { count: '5' }],
    [400, 'POST', 'sinks', { count: 1, vapidPublicKey: 'AAAA' }],
    [400, 'POST', 'sinks', { count: 1, vapidPublicKey: 5 }],
    [400, 'POST', 'faults', { kind: 'status', status: 500, body: 'x'.repeat(70_000) }],
  ];
  for (const [expected, method, resource, body] of refused) {
    const answer = await ask(sendByHttp1, service, method, resource, body);
    assert.equal(answer.status, expected, `${method} ${resource} ${answer.body}`);
    const { message } = JSON.parse(answer.body) as { message: string };
    assert.ok(message.length > 10 && !message.includes('is not a function'), message);
  }
});

test('a web page may not ask', async (t) => {
  const service = await start(t);
  for (const headers of [{ origin: 'https://page.test' }, { 'sec-fetch-site': 'same-origin' }]) {
    const answer = await sendByHttp1(`${service.controlUrl}/faults`, { headers, body: '{"kind":"hang"}' });
    assert.equal(answer.status, 403);
  }
  assert.deepEqual(service.faults.list(), []);
});

test('a page whose name leads to loopback may not ask: only names of loopback and its own are answered', async (t) => {
  const service = await start(t, { origin: 'http://push.test:8090' });
  const url = `http://127.0.0.1:${service.port}/control/statistics`;
  const statusFor = async (host: string): Promise<number> =>
    (await sendByHttp1(url, { method: 'GET', headers: { host } })).status;
  for (const host of [
    'attacker.test',
    'attacker.test:80',
    '127.0.0.1.attacker.test',
    'push.test',
    '10.0.0.1',
  ]) {
    assert.equal(await statusFor(host), 403, host);
  }
  for (const host of ['localhost', 'localhost:9', '127.0.0.1:8090', '[::1]:8090', 'push.test:8090']) {
    assert.equal(await statusFor(host), 200, host);
  }
});

const outside = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === 'IPv4' && !address.internal)?.address;
test('by default nobody reaches it by another address than 127.0.0.1', async (t) => {
  const { controlUrl } = await start(t);
  const statistics = `${controlUrl}/statistics`;
  assert.equal((await fetch(statistics)).status, 200);
  await assert.rejects(fetch(statistics.replace('127.0.0.1', '127.0.0.2')));
});

test('only loopback may ask', { skip: outside === undefined && 'there is no other address' }, async (t) => {
  const service = await start(t, { host: '0.0.0.0' });
  const url = `http://${outside}:${service.port}`;
  assert.equal((await sendByHttp1(`${url}/control/statistics`, { method: 'GET' })).status, 403);
  assert.equal((await sendByHttp1(`${url}/`, { method: 'GET' })).status, 200);
  assert.equal((await sendByHttp1(`${service.controlUrl}/statistics`, { method: 'GET' })).status, 200);
});
