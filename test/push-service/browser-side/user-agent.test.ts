// The user agent that comes with the push service, against it, with messages from the independent `web-push`.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { WebSocketServer } from 'ws';
import {
  createUserAgent,
  startPushService,
  type PushServiceOptions,
  type UserAgent,
} from '../../../src/push-service/index.ts';
import { sendByHttp1, start } from '../harness.ts';
import { generateVapidKeys, pushWith } from '../web-push-sender.ts';
import { until } from '../../../tools/until.ts';

async function connectAgent(t: TestContext, webSocketUrl: string, acknowledges = true): Promise<UserAgent> {
  const agent = await createUserAgent({ webSocketUrl, acknowledges });
  t.after(() => agent.close());
  return agent;
}

/** A push service with a user agent, and a key pair to subscribe with. */
async function startWithAgent(t: TestContext, options?: PushServiceOptions, acknowledges?: boolean) {
  const service = await start(t, options);
  const agent = await connectAgent(t, service.webSocketUrl, acknowledges);
  return { service, agent, keys: generateVapidKeys() };
}

test('messages are decrypted and read as a stream, each subscription under its endpoint', async (t) => {
  const { agent, keys } = await startWithAgent(t);
  const first = await agent.subscribe(keys.publicKey);
  const second = await agent.subscribe(keys.publicKey);
  assert.deepEqual(agent.endpoints, [first.endpoint, second.endpoint]);
  await pushWith(keys, first, JSON.stringify({ title: 'Grüße', message: '👋' }));
  await pushWith(keys, second, 'text');
  await sendByHttp1(first.endpoint, { headers: { ttl: '9' } }).then(({ status }) =>
    assert.equal(status, 401),
  );
  const seen: unknown[] = [];
  for await (const message of agent.messages) {
    seen.push([message.endpoint, seen.length === 0 ? message.json() : message.text()]);
    if (seen.length === 2) break;
  }
  assert.deepEqual(seen, [
    [first.endpoint, { title: 'Grüße', message: '👋' }],
    [second.endpoint, 'text'],
  ]);
  // leaving the loop has not ended the stream
  await pushWith(keys, first, 'more');
  assert.equal((await agent.nextMessage()).text(), 'more');
});

test('what is not for its keys is thrown at the reader, and the next message comes all the same', async (t) => {
  const codes: number[] = [];
  const { agent, keys } = await startWithAgent(t, {
    onEvent: (event) => event.type === 'acknowledged' && codes.push(event.code),
  });
  const subscription = await agent.subscribe(keys.publicKey);
  const other = await agent.subscribe(keys.publicKey);
  await pushWith(keys, { ...other, endpoint: subscription.endpoint }, 'for the other');
  await pushWith(keys, subscription, 'good');
  await assert.rejects(agent.nextMessage(), /cannot be decrypted/);
  assert.equal((await agent.nextMessage()).text(), 'good');
  await until(() => codes.length >= 2, 'both acknowledgements');
  assert.deepEqual(codes, [101, 100]);
});

test('disconnected on purpose it stays away until it is told to connect', async (t) => {
  const { service, agent, keys } = await startWithAgent(t);
  const subscription = await agent.subscribe(keys.publicKey);
  await agent.disconnect();
  await pushWith(keys, subscription, 'later');
  await assert.rejects(agent.nextMessage(300), /nothing came within 300 ms/);
  assert.equal(service.statistics().connectedUserAgents, 0);
  await assert.rejects(agent.subscribe(), /not connected/);
  await agent.connect();
  assert.equal((await agent.nextMessage()).text(), 'later');
});

test('connect right after disconnect, without waiting, ends connected', async (t) => {
  const { service, agent } = await startWithAgent(t);
  const { endpoint } = await agent.subscribe();
  const leaving = agent.disconnect();
  await Promise.all([agent.connect(), agent.connect(), leaving]);
  await sendByHttp1(endpoint, { headers: { ttl: '9' } });
  assert.equal((await agent.nextMessage()).endpoint, endpoint);
  assert.equal(service.statistics().connectedUserAgents, 1);
});

test('without acknowledging, a message comes again after each reconnect and is shown once', async (t) => {
  const { service, agent, keys } = await startWithAgent(t, {}, false);
  await pushWith(keys, await agent.subscribe(keys.publicKey), 'again');
  assert.equal((await agent.nextMessage()).text(), 'again');
  for (let deliveries = 2; deliveries < 4; deliveries += 1) {
    await agent.disconnect();
    await agent.connect();
    await until(() => service.statistics().events.delivered === deliveries, `delivery ${deliveries}`);
  }
  await assert.rejects(agent.nextMessage(50), /nothing came/);
  assert.equal(service.statistics().undeliveredMessages, 1);
});

test('a push service that has forgotten it gives another uaid, and its subscriptions are lost', async (t) => {
  const first = await startPushService();
  const agent = await connectAgent(t, first.webSocketUrl);
  await agent.subscribe();
  const { uaid } = agent;
  await first.close();
  const second = await start(t, { port: first.port });
  await until(() => agent.uaid !== uaid, 'another uaid');
  assert.deepEqual(agent.endpoints, []);
  const { endpoint } = await agent.subscribe();
  assert.equal((await sendByHttp1(endpoint, { headers: { ttl: '9' } })).status, 201);
  await agent.nextMessage();
  assert.equal(second.statistics().subscriptions, 1);
});

test('unsubscribe ends the subscription at the push service', async (t) => {
  const { agent } = await startWithAgent(t);
  const { endpoint } = await agent.subscribe();
  assert.equal(await agent.unsubscribe(endpoint), true);
  assert.equal(await agent.unsubscribe(endpoint), false);
  assert.equal((await sendByHttp1(endpoint, { headers: { ttl: '9' } })).status, 410);
  assert.deepEqual(agent.endpoints, []);
});

test('a slow reader holds the stream up and misses nothing', async (t) => {
  const { agent } = await startWithAgent(t, {
    limits: { maxMessagesPerSubscription: 5000 },
    checksBodies: false,
  });
  const { endpoint } = await agent.subscribe();
  for (let i = 0; i < 1500; i += 1) await sendByHttp1(endpoint, { headers: { ttl: '60' } });
  const versions = new Set<string>();
  for await (const { version } of agent.messages) if (versions.add(version).size === 1500) break;
  assert.equal(versions.size, 1500);
});

test('close ends the stream after what has arrived', async (t) => {
  const { service, agent } = await startWithAgent(t);
  const { endpoint } = await agent.subscribe();
  await sendByHttp1(endpoint, { headers: { ttl: '9' } });
  await until(() => service.statistics().events.acknowledged === 1, 'the acknowledgement');
  await agent.close();
  await agent.close();
  const seen: string[] = [];
  for await (const message of agent.messages) seen.push(message.endpoint);
  assert.deepEqual(seen, [endpoint]);
  await assert.rejects(agent.nextMessage(), /closed/);
});

test('what the push service refuses, and one that is not there, are errors in words', async (t) => {
  const { agent } = await startWithAgent(t);
  await assert.rejects(agent.subscribe('AAAA'), /refuses to register: key must be/);
  const gone = await startPushService();
  await gone.close();
  const message = new RegExp(
    `the push service at ${gone.webSocketUrl} cannot be used \\(.*ECONNREFUSED.*\\)$`,
  );
  await assert.rejects(createUserAgent({ webSocketUrl: gone.webSocketUrl }), { message });
  const { webSocketUrl } = await start(t, { tls: true });
  await assert.rejects(createUserAgent({ webSocketUrl }), /cannot be used \(self-signed certificate.*\)$/);
});

test('a push service that selects no subprotocol, as autopush-rs, is gone on with, as by Firefox', async (t) => {
  let offered: string | undefined;
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: () => false });
  t.after(() => server.close());
  await once(server, 'listening');
  server.on('connection', (socket, request) => {
    offered = request.headers['sec-websocket-protocol'];
    socket.on('message', () =>
      socket.send(JSON.stringify({ messageType: 'hello', uaid: 'abc', status: 200, use_webpush: true })),
    );
  });
  const { port } = server.address() as AddressInfo;
  const agent = await createUserAgent({ webSocketUrl: `ws://127.0.0.1:${port}/` });
  assert.equal(agent.uaid, 'abc');
  assert.equal(offered, 'push-notification');
  await agent.close();
});

test('a push service that selects another subprotocol than the offered one is refused', async (t) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: () => 'chat' });
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await assert.rejects(createUserAgent({ webSocketUrl: `ws://127.0.0.1:${port}/` }), /cannot be used/);
});

test('"ca" that is not an array of strings fails at once, and its value is not repeated', async () => {
  for (const [ca, message] of [
    ['-----BEGIN CERTIFICATE-----', /^"ca" must be an array of strings, not a string: put it in \[ \]$/],
    [[Buffer.from('x')], /^"ca\[0\]" must be a string, not object$/],
    [{}, /^"ca" must be an array of strings, not object$/],
  ] as const) {
    const options = { webSocketUrl: 'ws://127.0.0.1:1/', ca: ca as readonly string[] };
    await assert.rejects(createUserAgent(options), { name: 'TypeError', message });
  }
});
