// Subscriptions without a user agent: like any other towards the sender, and exact in their counts.
import assert from 'node:assert/strict';
import { ECDH } from 'node:crypto';
import { test } from 'node:test';
import { aes128gcmBody, createVapidSender, encrypted, refusalOf, sendByHttp1, start } from '../harness.ts';

const push = { headers: { ttl: '60', ...encrypted }, body: aes128gcmBody() };

test('each sink has an endpoint, a point on P-256 and 16 bytes of its own', async (t) => {
  const service = await start(t);
  const sinks = [...service.createSinks(50)];
  for (const { endpoint, p256dh, auth } of sinks) {
    assert.ok(endpoint.startsWith(`${service.origin}/wpush/`));
    ECDH.convertKey(p256dh, 'prime256v1', 'base64url');
    assert.equal(Buffer.from(auth, 'base64url').length, 16);
  }
  for (const member of ['endpoint', 'p256dh', 'auth'] as const) {
    assert.equal(new Set(sinks.map((sink) => sink[member])).size, 50);
  }
});

test('a sink makes the same demands on a sender as any subscription', async (t) => {
  const service = await start(t);
  const sender = createVapidSender(service.origin);
  const [{ endpoint } = { endpoint: '' }] = service.createSinks(1, { vapidPublicKey: sender.publicKey });
  assert.equal((await sendByHttp1(endpoint, push)).status, 401);
  const authorization = sender.authorize();
  const signed = { ...push, headers: { ...push.headers, authorization } };
  assert.equal((await sendByHttp1(endpoint, { ...signed, headers: { authorization } })).status, 400);
  assert.equal((await sendByHttp1(endpoint, signed)).status, 201);
  assert.equal(service.tallySinks()[0]?.messages, 1);
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
