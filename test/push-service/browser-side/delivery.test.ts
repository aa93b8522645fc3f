// Store and forward: what waits, what expires, what replaces what, what comes again, and where it ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PushService, PushServiceEvent } from '../../../src/push-service/index.ts';
import {
  aes128gcmBody,
  channelA,
  channelB,
  connectRaw,
  encrypted,
  hello,
  type RawAgent,
  type Received,
  refusalOf,
  sendByHttp1,
  start,
  startSubscribed,
  subscribeRaw,
} from '../harness.ts';
import { until } from '../../../tools/until.ts';

function push(endpoint: string, headers: Record<string, string> = {}): Promise<Received> {
  return sendByHttp1(endpoint, { headers: { ttl: '60', ...encrypted, ...headers }, body: aes128gcmBody() });
}

/** Goes away and is known to be away. */
async function leave(service: PushService, agent: RawAgent): Promise<void> {
  const before = service.statistics().connectedUserAgents;
  agent.socket.close();
  await agent.closed();
  await until(() => service.statistics().connectedUserAgents !== before, 'the user agent to be away');
}

/** Comes back and takes what waits for it. */
async function comeBack(
  t: Parameters<typeof connectRaw>[0],
  service: PushService,
  uaid: string,
): Promise<{ agent: RawAgent; versions: unknown[] }> {
  const agent = await connectRaw(t, service);
  await agent.ask({ ...hello, uaid });
  const versions: unknown[] = [];
  agent.send({}); // its answer comes after everything that was waiting
  for (;;) {
    const frame = await agent.receive();
    if (frame['messageType'] === undefined) return { agent, versions };
    versions.push(frame['version']);
  }
}

const versionOf = ({ headers }: Received): string | undefined => headers['location']?.split('/').at(-1);

test('a message comes again after each reconnect until it is acknowledged', async (t) => {
  const { service, agent, uaid, endpoint } = await startSubscribed(t);
  const version = versionOf(await push(endpoint));
  assert.equal((await agent.receive())['version'], version);
  await leave(service, agent);
  const second = await comeBack(t, service, uaid);
  assert.deepEqual(second.versions, [version]);
  await leave(service, second.agent);
  const third = await comeBack(t, service, uaid);
  assert.deepEqual(third.versions, [version]);
  await third.agent.ask({}); // nothing else is on its way
  third.agent.send({ messageType: 'ack', updates: [{ channelID: channelA, version, code: 102 }] });
  await third.agent.ask({});
  await leave(service, third.agent);
  assert.deepEqual((await comeBack(t, service, uaid)).versions, []);
});

test('a message does not outlive its TTL', async (t) => {
  let now = Date.now();
  const { service, agent, uaid, endpoint } = await startSubscribed(t, { now: () => now });
  await leave(service, agent);
  await push(endpoint, { ttl: '10' });
  const longer = await push(endpoint, { ttl: '1000' });
  now += 10_000;
  assert.deepEqual((await comeBack(t, service, uaid)).versions, [versionOf(longer)]);
  assert.equal(service.statistics().undeliveredMessages, 1);
});

test('a message does not outlive the longest TTL, whatever its sender asks for', async (t) => {
  let now = Date.now();
  const options = { now: () => now, limits: { maxTtlSeconds: 60 } };
  const { service, agent, uaid, endpoint } = await startSubscribed(t, options);
  await leave(service, agent);
  assert.equal((await push(endpoint, { ttl: '3600' })).headers['ttl'], '60');
  now += 60_000;
  assert.deepEqual((await comeBack(t, service, uaid)).versions, []);
  assert.equal(service.statistics().events.dropped, 1);
});

test('TTL 0 reaches a user agent that is connected, and nobody later', async (t) => {
  const { service, agent, uaid, endpoint } = await startSubscribed(t);
  const live = await push(endpoint, { ttl: '0' });
  assert.equal((await agent.receive())['version'], versionOf(live));
  assert.equal(service.statistics().undeliveredMessages, 0);
  await leave(service, agent);
  assert.equal((await push(endpoint, { ttl: '0' })).status, 201);
  assert.deepEqual((await comeBack(t, service, uaid)).versions, []);
});

test('a topic replaces the undelivered message of the same topic and subscription only', async (t) => {
  const { service, agent, uaid, endpoint } = await startSubscribed(t);
  const { pushEndpoint } = await agent.ask({ messageType: 'register', channelID: channelB });
  await leave(service, agent);
  const replaced = await push(endpoint, { topic: 'news' });
  const kept = [
    await push(endpoint, { topic: 'weather' }),
    await push(endpoint),
    await push(endpoint, { topic: 'news' }),
    await push(String(pushEndpoint), { topic: 'news' }),
  ];
  assert.equal((await sendByHttp1(replaced.headers['location'] ?? '', { method: 'DELETE' })).status, 404);
  assert.deepEqual((await comeBack(t, service, uaid)).versions, kept.map(versionOf));
});

test('a topic with TTL 0 takes the older message away even where nobody is there to get the newer', async (t) => {
  const { service, agent, uaid, endpoint } = await startSubscribed(t);
  await leave(service, agent);
  await push(endpoint, { topic: 'news' });
  await push(endpoint, { topic: 'news', ttl: '0' });
  assert.deepEqual((await comeBack(t, service, uaid)).versions, []);
});

test('DELETE of the message resource withdraws a message once', async (t) => {
  const { service, agent, uaid, endpoint } = await startSubscribed(t);
  await leave(service, agent);
  const location = (await push(endpoint)).headers['location'] ?? '';
  assert.equal((await sendByHttp1(location, { method: 'DELETE' })).status, 204);
  assert.equal((await sendByHttp1(location, { method: 'DELETE' })).status, 404);
  assert.deepEqual((await comeBack(t, service, uaid)).versions, []);
});

test('DELETE of a message that has arrived is 404', async (t) => {
  const { agent, endpoint } = await startSubscribed(t);
  const answer = await push(endpoint);
  const { version } = await agent.receive();
  agent.send({ messageType: 'ack', updates: [{ channelID: channelA, version, code: 100 }] });
  await agent.ask({});
  assert.equal((await sendByHttp1(answer.headers['location'] ?? '', { method: 'DELETE' })).status, 404);
});

test('a subscription holds so many messages and no more: 429 with Retry-After', async (t) => {
  let now = Date.now();
  const { service, agent, endpoint } = await startSubscribed(t, {
    limits: { maxMessagesPerSubscription: 3 },
    now: () => now,
  });
  await leave(service, agent);
  for (const headers of [{ topic: 'a' }, {}, { ttl: '10' }]) {
    assert.equal((await push(endpoint, headers)).status, 201);
  }
  const refused = await push(endpoint);
  assert.deepEqual(refusalOf(refused), { status: 429, code: 429, errno: 201 });
  assert.match(refused.headers['retry-after'] ?? '', /^\d+$/);
  assert.equal((await push(endpoint, { topic: 'a' })).status, 201, 'a replacement needs no further room');
  assert.equal((await push(endpoint, { ttl: '0' })).status, 201, 'what is not kept needs none');
  now += 10_000;
  assert.equal((await push(endpoint)).status, 201, 'an expired one has made room');
});

test('all subscriptions together hold so many bytes and no more: 503 with Retry-After', async (t) => {
  let now = Date.now();
  // a stored message counts for its body and 512 bytes
  const service = await start(t, { limits: { maxStoredBytes: 2 * (126 + 512) }, now: () => now });
  const first = await subscribeRaw(t, service);
  const second = await subscribeRaw(t, service);
  assert.equal((await push(first.endpoint, { ttl: '10' })).status, 201);
  assert.equal((await push(second.endpoint, { topic: 'a' })).status, 201);
  const refused = await push(second.endpoint);
  assert.deepEqual(refusalOf(refused), { status: 503, code: 503, errno: 201 });
  assert.match(refused.headers['retry-after'] ?? '', /^\d+$/);
  assert.equal((await push(second.endpoint, { topic: 'a' })).status, 201);
  now += 10_000;
  assert.equal((await push(second.endpoint)).status, 201, 'one that expired elsewhere has made room');
});

test('so many subscriptions and no more: register is answered with 503', async (t) => {
  const { agent } = await startSubscribed(t, { limits: { maxSubscriptions: 1 } });
  const register = { messageType: 'register', channelID: channelB };
  assert.equal((await agent.ask(register))['status'], 503);
  await agent.ask({ messageType: 'unregister', channelID: channelA });
  assert.equal((await agent.ask(register))['status'], 200);
});

test('an expired subscription is 410, its messages are gone, and the user agent is not told', async (t) => {
  const { service, agent, uaid, endpoint } = await startSubscribed(t);
  await leave(service, agent);
  await push(endpoint);
  assert.equal(service.expire(endpoint), true);
  assert.equal(service.expire(endpoint), false);
  assert.deepEqual(refusalOf(await push(endpoint)), { status: 410, code: 410, errno: 106 });
  assert.equal(service.statistics().undeliveredMessages, 0);
  const agentAgain = await connectRaw(t, service);
  // it was away and has no subscription left: there is nothing to know it by
  assert.notEqual((await agentAgain.ask({ ...hello, uaid }))['uaid'], uaid);
});

test('a user agent that leaves without a subscription is forgotten', async (t) => {
  const service = await start(t);
  const agent = await connectRaw(t, service);
  const { uaid } = await agent.ask(hello);
  await leave(service, agent);
  const again = await connectRaw(t, service);
  assert.notEqual((await again.ask({ ...hello, uaid }))['uaid'], uaid);
});

test('events tell the story of a message, without its endpoint', async (t) => {
  const events: unknown[] = [];
  const { service, agent, uaid, endpoint } = await startSubscribed(t, {
    onEvent: (event) => events.push(event),
  });
  const subscription = endpoint.split('/').at(-1)?.slice(0, 8);
  const version = versionOf(await push(endpoint));
  await agent.receive();
  agent.send({ messageType: 'ack', updates: [{ channelID: channelA, version, code: 100 }] });
  agent.send({ messageType: 'nack', version, code: 302 });
  await agent.ask({ messageType: 'unregister', channelID: channelA });
  await leave(service, agent);
  assert.deepEqual(events, [
    { type: 'connected', uaid, isKnown: false },
    { type: 'registered', subscription },
    { type: 'delivered', subscription, version },
    { type: 'answered', method: 'POST', status: 201, subscription },
    { type: 'acknowledged', subscription, version, code: 100 },
    { type: 'reported', version, code: 302 },
    { type: 'unregistered', subscription },
    { type: 'disconnected', uaid },
  ]);
  assert.ok(!JSON.stringify(events).includes(endpoint));
});

test('the acknowledgement of a message with TTL 0 names its subscription', async (t) => {
  const events: PushServiceEvent[] = [];
  const { agent, endpoint } = await startSubscribed(t, { onEvent: (event) => events.push(event) });
  const version = versionOf(await push(endpoint, { ttl: '0' }));
  await agent.receive();
  agent.send({ messageType: 'ack', updates: [{ channelID: channelA, version, code: 100 }] });
  await agent.ask({});
  const subscription = endpoint.split('/').at(-1)?.slice(0, 8);
  assert.deepEqual(events.at(-1), { type: 'acknowledged', subscription, version, code: 100 });
});
