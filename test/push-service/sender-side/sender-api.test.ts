// Every rule for senders (RFC 8030) and every refusal, over both versions of HTTP.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUserAgent } from '../../../src/push-service/index.ts';
import {
  aes128gcmBody,
  encrypted,
  refusalOf,
  sendByHttp1,
  type Sending,
  start,
  startSubscribed,
  versions,
  push,
} from '../harness.ts';
import { generateVapidKeys, sendWith } from '../web-push-sender.ts';

const withHeaders = (headers: Record<string, string>): Sending => ({
  ...push,
  headers: { ...push.headers, ...headers },
});

const accepted: [string, Sending, { ttl?: string }?][] = [
  ['a message with TTL', push],
  ['a message without payload', { headers: { ttl: '60' } }],
  ['TTL 0', withHeaders({ ttl: '0' })],
  ['a TTL over 30 days, cut to 30 days', withHeaders({ ttl: '9999999999' }), { ttl: '2592000' }],
  ['every urgency', withHeaders({ urgency: 'very-low' })],
  ['an urgency in capitals', withHeaders({ urgency: 'HIGH' })],
  ['a topic of 32 characters', withHeaders({ topic: 'abcdefghijklmnopqrstuvwxyz-_0123' })],
  ['a body of 4096 bytes', { ...push, body: aes128gcmBody(4096 - 86) }],
  [
    'aesgcm with its two headers',
    {
      headers: { ttl: '60', 'content-encoding': 'aesgcm', encryption: 'salt=AAAA', 'crypto-key': 'dh=BBBB' },
      body: 'x',
    },
  ],
];

const refused: [string, number, number | null, Sending][] = [
  ['no TTL', 400, 111, { ...push, headers: encrypted }],
  ['a TTL that is no number', 400, 112, withHeaders({ ttl: 'soon' })],
  ['a negative TTL', 400, 112, withHeaders({ ttl: '-1' })],
  ['a TTL with a fraction', 400, 112, withHeaders({ ttl: '1.5' })],
  ['two TTLs', 400, 112, withHeaders({ ttl: '60, 60' })],
  ['an empty TTL', 400, 112, withHeaders({ ttl: '' })],
  ['a topic of 33 characters', 400, 113, withHeaders({ topic: 'a'.repeat(33) })],
  ['a topic beyond base64url', 400, 113, withHeaders({ topic: 'a+b' })],
  ['an empty topic', 400, 113, withHeaders({ topic: '' })],
  ['an unknown urgency', 400, null, withHeaders({ urgency: 'medium' })],
  ['two urgencies', 400, null, withHeaders({ urgency: 'low, high' })],
  ['a payload without content coding', 400, 110, { ...push, headers: { ttl: '60' } }],
  ['a payload in gzip', 400, 110, withHeaders({ 'content-encoding': 'gzip' })],
  ['aes128gcm that is too short', 400, 110, { ...push, body: aes128gcmBody(16) }],
  ['aes128gcm with a keyid that is no point', 400, 110, { ...push, body: Buffer.alloc(200) }],
  ['aes128gcm in more than one record', 400, 110, { ...push, body: inTwoRecords() }],
  ['aesgcm without salt', 400, 110, withHeaders({ 'content-encoding': 'aesgcm', 'crypto-key': 'dh=B' })],
  [
    'aesgcm without the sender key',
    400,
    110,
    withHeaders({ 'content-encoding': 'aesgcm', encryption: 'salt=A' }),
  ],
  ['a body of 4097 bytes', 413, 104, { ...push, body: aes128gcmBody(4097 - 86) }],
  ['a body of 300 kB', 413, 104, { ...push, body: Buffer.alloc(300_000) }],
];

function inTwoRecords(): Buffer {
  const body = aes128gcmBody(100);
  body.writeUInt32BE(50, 16);
  return body;
}

for (const [version, send] of versions) {
  test(`accepts over ${version}`, async (t) => {
    const { service, endpoint } = await startSubscribed(t);
    for (const [title, sending, { ttl } = {}] of accepted) {
      await t.test(title, async () => {
        const { status, headers, body } = await send(endpoint, sending);
        assert.equal(status, 201, body);
        assert.match(String(headers['location']), new RegExp(`^${service.origin}/m/[\\w-]{22}$`));
        assert.equal(headers['ttl'], ttl ?? sending.headers?.['ttl']);
        assert.equal(body, '');
      });
    }
  });

  test(`refuses over ${version}`, async (t) => {
    const { service, endpoint, agent } = await startSubscribed(t);
    for (const [title, code, errno, sending] of refused) {
      await t.test(title, async () => {
        assert.deepEqual(refusalOf(await send(endpoint, sending)), { status: code, code, errno });
      });
    }
    assert.deepEqual(service.statistics().undeliveredMessages, 0);
    assert.deepEqual(agent.pending, [], 'nothing that was refused reaches the user agent');
  });

  test(`answers for what is not there over ${version}`, async (t) => {
    const { service, endpoint, agent } = await startSubscribed(t);
    const unknown = await send(`${service.origin}/wpush/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`, push);
    assert.deepEqual(refusalOf(unknown), { status: 404, code: 404, errno: 102 });
    await agent.ask({ messageType: 'unregister', channelID: '11111111-1111-4111-8111-111111111111' });
    assert.deepEqual(refusalOf(await send(endpoint, push)), { status: 410, code: 410, errno: 106 });

    const wrongMethod = await send(endpoint, { method: 'GET' });
    assert.deepEqual([wrongMethod.status, wrongMethod.headers['allow']], [405, 'POST']);
    const notDelete = await send(`${service.origin}/m/x`, { method: 'GET' });
    assert.deepEqual([notDelete.status, notDelete.headers['allow']], [405, 'DELETE']);
    assert.equal((await send(`${service.origin}/elsewhere`)).status, 404);
    assert.equal((await send(`${endpoint}/further`, push)).status, 404);
    assert.equal((await send(`${service.origin}/`, { method: 'GET' })).status, 200);
  });
}

test('a body over 1 MB is refused without being read to its end', async (t) => {
  const { endpoint } = await startSubscribed(t);
  for (const [, send] of versions) {
    const result = await send(endpoint, { ...push, body: Buffer.alloc(3_000_000) }).catch(
      (error: unknown) => error,
    );
    // a sender that is still writing may see the refusal or the end of the connection
    if (!(result instanceof Error)) assert.equal((result as { status: number }).status, 413);
  }
  assert.equal((await versions[0]![1](endpoint, push)).status, 201);
});

test('bodies are not looked at where checksBodies is false', async (t) => {
  const { endpoint } = await startSubscribed(t, { checksBodies: false });
  for (const [, send] of versions) {
    assert.equal((await send(endpoint, { ...push, body: 'anything' })).status, 201);
  }
});

test('maxBodyBytes moves the limit', async (t) => {
  const { endpoint } = await startSubscribed(t, { limits: { maxBodyBytes: 200 } });
  for (const [, send] of versions) {
    assert.equal((await send(endpoint, { ...push, body: aes128gcmBody(114) })).status, 201);
    assert.equal((await send(endpoint, { ...push, body: aes128gcmBody(115) })).status, 413);
  }
});

// Subscriptions without a user agent: like any other towards the sender, and exact in their counts.

test('each sink has an endpoint and keys of its own', async (t) => {
  const service = await start(t);
  const sinks = [...service.createSinks(50)];
  for (const member of ['endpoint', 'p256dh', 'auth'] as const) {
    assert.equal(new Set(sinks.map((sink) => sink[member])).size, 50);
  }
});

test('the tally says how many sinks have had how many messages, batch by batch', async (t) => {
  const service = await start(t);
  const first = [...service.createSinks(10)];
  const second = [...service.createSinks(3)];
  for (const { endpoint } of first.slice(0, 4)) await sendByHttp1(endpoint, push);
  for (let i = 0; i < 3; i += 1) await sendByHttp1(first[0]?.endpoint ?? '', push);
  const [one, two] = service.tallySinks();
  assert.deepEqual([one?.sinks, one?.messages, one?.sinksByMessages], [10, 7, { 0: 6, 1: 3, 4: 1 }]);
  assert.deepEqual([two?.sinks, two?.messages, two?.sinksByMessages], [3, 0, { 0: 3 }]);
  assert.equal(service.expire(second[1]?.endpoint ?? ''), true);
  assert.deepEqual(service.tallySinks()[1]?.sinksByMessages, { 0: 2 });
  assert.equal(refusalOf(await sendByHttp1(second[1]?.endpoint ?? '', push)).errno, 106);
  service.clearSinks();
  assert.deepEqual(service.tallySinks(), []);
  assert.equal(refusalOf(await sendByHttp1(first[0]?.endpoint ?? '', push)).errno, 102);
});

test('endpoints that only look like a sink are unknown', async (t) => {
  const service = await start(t);
  const [{ endpoint } = { endpoint: '' }] = service.createSinks(5);
  const batch = endpoint.slice(0, endpoint.lastIndexOf('-'));
  for (const index of ['5', '99999999999', '-1', '1.5', '01', '', 'x']) {
    assert.equal(refusalOf(await sendByHttp1(`${batch}-${index}`, push)).errno, 102, index);
  }
});

test('there are so many sinks and no more', async (t) => {
  const service = await start(t, { limits: { maxSinks: 100 } });
  service.createSinks(60);
  assert.throws(() => service.createSinks(41), { name: 'RangeError', message: /from 1 to 40, not 41/ });
  for (const count of [0, -1, 1.5, NaN]) assert.throws(() => service.createSinks(count), RangeError);
  assert.throws(() => service.createSinks(1, { vapidPublicKey: 'x' }), TypeError);
  assert.equal(service.statistics().sinks, 60);
});

test('a million sinks cost megabytes, not gigabytes', async (t) => {
  const service = await start(t);
  const before = process.memoryUsage();
  const iterator = service.createSinks(1_000_000)[Symbol.iterator]();
  const { value } = iterator.next();
  const after = process.memoryUsage();
  const grownMb = (after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers) / 2 ** 20;
  assert.ok(grownMb < 20, `${grownMb} MB`);
  assert.equal((await sendByHttp1((value as { endpoint: string }).endpoint, push)).status, 201);
});

// The whole loop with somebody else's sender: npm `web-push` → this push service → user agent with `http_ece`.

test('web-push, as it comes, reaches the user agent in both content codings', async (t) => {
  const service = await start(t, { tls: true });
  const agent = await createUserAgent({ webSocketUrl: service.webSocketUrl, ca: service.ca });
  t.after(() => agent.close());
  const keys = generateVapidKeys();
  const subscription = await agent.subscribe(keys.publicKey);
  for (const contentEncoding of ['aes128gcm', 'aesgcm'] as const) {
    for (const payload of ['x', 'Grüße 👋', 'long '.repeat(700)]) {
      const { statusCode, headers } = await sendWith(service, keys, subscription, payload, {
        contentEncoding,
        TTL: 5,
        urgency: 'high',
        topic: 'news',
      });
      assert.deepEqual([statusCode, headers['ttl']], [201, '5']);
      assert.equal((await agent.nextMessage()).text(), payload);
    }
  }
  const { statusCode } = await sendWith(service, keys, subscription, undefined);
  assert.equal(statusCode, 201);
  assert.equal((await agent.nextMessage()).data, undefined);
});
