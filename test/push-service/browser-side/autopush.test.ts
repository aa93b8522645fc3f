// The user agents' protocol, frame by frame.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import {
  aes128gcmBody,
  channelA,
  channelB,
  connectRaw,
  createVapidSender,
  encrypted,
  hello,
  sendByHttp1,
  start,
  startSubscribed,
  subscribeRaw,
} from '../harness.ts';
import type { PushServiceEvent } from '../../../src/push-service/index.ts';
import { until } from '../../../tools/until.ts';

const body = aes128gcmBody();
const push = { headers: { ttl: '60', ...encrypted }, body };

test('hello gives a uaid of 32 hexadecimal digits and says use_webpush', async (t) => {
  const agent = await connectRaw(t, await start(t));
  const { uaid, ...rest } = await agent.ask(hello);
  assert.match(String(uaid), /^[0-9a-f]{32}$/);
  assert.deepEqual(rest, { messageType: 'hello', status: 200, use_webpush: true, broadcasts: {} });
  assert.equal(agent.socket.protocol, 'push-notification');
});

test('register gives an endpoint of this service', async (t) => {
  const service = await start(t);
  const agent = await connectRaw(t, service);
  await agent.ask(hello);
  // Firefox pads the key
  const key = `${createVapidSender(service.origin).publicKey}=`;
  const answer = await agent.ask({ messageType: 'register', channelID: channelA, key });
  assert.equal(answer['messageType'], 'register');
  assert.equal(answer['channelID'], channelA);
  assert.equal(answer['status'], 200);
  assert.ok(String(answer['pushEndpoint']).startsWith(`${service.origin}/wpush/`));
  const again = await agent.ask({ messageType: 'register', channelID: channelA, key: key.slice(0, -1) });
  assert.equal(again['pushEndpoint'], answer['pushEndpoint'], 'the same channel and key: the same endpoint');
  const other = createVapidSender(service.origin).publicKey;
  const conflict = await agent.ask({ messageType: 'register', channelID: channelA, key: other });
  assert.equal(conflict['status'], 409);
  const second = await agent.ask({ messageType: 'register', channelID: channelB, key });
  assert.notEqual(second['pushEndpoint'], answer['pushEndpoint']);
});

test('register refuses what is not a channel or a key', async (t) => {
  const agent = await connectRaw(t, await start(t));
  await agent.ask(hello);
  for (const wrong of [
    { channelID: 'x' },
    { channelID: 7 },
    {},
    { channelID: channelA, key: 'AAAA' },
    { channelID: channelA, key: '!' },
    { channelID: channelA, key: 5 },
  ]) {
    const { status, reason } = await agent.ask({ messageType: 'register', ...wrong });
    assert.equal(status, 400);
    assert.equal(typeof reason, 'string');
  }
});

test('a message reaches the user agent as a notification with what it needs to decrypt', async (t) => {
  const { agent, endpoint } = await startSubscribed(t);
  const { headers } = await sendByHttp1(endpoint, push);
  assert.deepEqual(await agent.receive(), {
    messageType: 'notification',
    channelID: channelA,
    version: headers['location']?.split('/').at(-1),
    data: body.toString('base64url'),
    headers: { encoding: 'aes128gcm' },
  });
});

test('a push without payload has neither data nor headers', async (t) => {
  const { agent, endpoint } = await startSubscribed(t);
  await sendByHttp1(endpoint, { headers: { ttl: '60' } });
  const { version, ...rest } = await agent.receive();
  assert.equal(typeof version, 'string');
  assert.deepEqual(rest, { messageType: 'notification', channelID: channelA });
});

test('aesgcm passes on salt and sender key, but not the VAPID key', async (t) => {
  const { agent, endpoint } = await startSubscribed(t);
  const { origin } = new URL(endpoint);
  const sender = createVapidSender(origin);
  await sendByHttp1(endpoint, {
    headers: {
      ttl: '60',
      'content-encoding': 'aesgcm',
      encryption: 'salt="c2FsdA"',
      'crypto-key': `dh=ZGg;p256ecdsa=${sender.publicKey}`,
      authorization: `WebPush ${sender.token()}`,
    },
    body: 'x',
  });
  const { headers } = await agent.receive();
  assert.deepEqual(headers, { encoding: 'aesgcm', encryption: 'salt=c2FsdA', crypto_key: 'dh=ZGg' });
});

test('unregister ends the subscription, and is answered for an unknown channel too', async (t) => {
  const { service, agent, endpoint } = await startSubscribed(t);
  const unregister = { messageType: 'unregister', channelID: channelA, code: 200 };
  const answer = { messageType: 'unregister', channelID: channelA, status: 200 };
  assert.deepEqual(await agent.ask(unregister), answer);
  assert.deepEqual(await agent.ask(unregister), answer);
  assert.equal((await sendByHttp1(endpoint, push)).status, 410);
  assert.equal(service.statistics().subscriptions, 0);
});

test('a ping is answered once, and none is ever sent', async (t) => {
  const agent = await connectRaw(t, await start(t));
  assert.deepEqual(await agent.ask({}), {}, 'before hello');
  await agent.ask(hello);
  assert.deepEqual(await agent.ask({}), {});
  assert.deepEqual(await agent.ask({ messageType: 'ping' }), {});
  agent.send({ messageType: 'broadcast_subscribe', broadcasts: {} });
  assert.deepEqual(await agent.ask({}), {}, 'a broadcast subscription is passed over');
  assert.deepEqual(agent.pending, []);
});

test('acknowledging what is unknown, or not ours, changes nothing', async (t) => {
  const { service, agent, endpoint } = await startSubscribed(t);
  const { agent: other } = await subscribeRaw(t, service);
  await sendByHttp1(endpoint, push);
  const { version } = await agent.receive();
  const update = { channelID: channelA, version, code: 100 };
  other.send({ messageType: 'ack', updates: [update] });
  agent.send({ messageType: 'ack', updates: [{ ...update, version: 'unknown' }, null, 7] });
  agent.send({ messageType: 'ack' });
  agent.send({ messageType: 'nack', version, code: 302 });
  await Promise.all([agent.ask({}), other.ask({})]);
  assert.equal(service.statistics().undeliveredMessages, 1);
  agent.send({ messageType: 'ack', updates: [update] });
  await agent.ask({});
  assert.equal(service.statistics().undeliveredMessages, 0);
});

const violations: [string, unknown[]][] = [
  ['anything before hello', [{ messageType: 'register', channelID: channelA }]],
  ['a second hello', [hello, hello]],
  ['a hello without use_webpush', [{ messageType: 'hello' }]],
  ['an unknown messageType', [hello, { messageType: 'dance' }]],
  ['a frame that is not JSON', ['{']],
  ['a frame that is not an object', ['[]']],
];
for (const [title, frames] of violations) {
  test(`${title} closes the connection with 4400 and a reason`, async (t) => {
    const agent = await connectRaw(t, await start(t));
    for (const frame of frames) agent.send(frame);
    const { code, reason } = await agent.closed();
    assert.equal(code, 4400);
    assert.notEqual(reason, '');
  });
}

test('a binary frame closes the connection, an overlong one too', async (t) => {
  const service = await start(t);
  const binary = await connectRaw(t, service);
  binary.socket.send(Buffer.from('{}'));
  assert.equal((await binary.closed()).code, 4400);
  const overlong = await connectRaw(t, service);
  overlong.send({ ...hello, filler: 'x'.repeat(70_000) });
  assert.equal((await overlong.closed()).code, 1009);
});

test('the same uaid connected again takes the place of the older connection', async (t) => {
  const events: PushServiceEvent[] = [];
  const onEvent = (event: PushServiceEvent) => events.push(event);
  const { service, agent, uaid, endpoint } = await startSubscribed(t, { onEvent });
  const newer = await connectRaw(t, service);
  assert.equal((await newer.ask({ ...hello, uaid }))['uaid'], uaid);
  assert.equal((await agent.closed()).code, 1000);
  assert.deepEqual(
    events.filter(({ type }) => type.endsWith('connected')),
    [
      { type: 'connected', uaid, isKnown: false },
      { type: 'disconnected', uaid },
      { type: 'connected', uaid, isKnown: true },
    ],
  );
  await sendByHttp1(endpoint, push);
  assert.equal((await newer.receive())['messageType'], 'notification');
});

test('a user agent that does not answer a close, as Firefox does not, is dropped all the same', async (t) => {
  const service = await start(t);
  const socket = connect(service.port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.write(
    'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
      'sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  const greeting = Buffer.from(JSON.stringify(hello));
  // final text frame, masked with zeros
  socket.write(Buffer.concat([Buffer.of(0x81, 0x80 | greeting.length, 0, 0, 0, 0), greeting]));
  await until(() => service.statistics().connectedUserAgents, 'the user agent to be connected');
  service.disconnectUserAgents();
  await once(socket.resume(), 'end');
});
