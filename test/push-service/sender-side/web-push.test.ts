// The whole loop with somebody else's sender: npm `web-push` → this push service → user agent with `http_ece`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUserAgent } from '../../../src/push-service/index.ts';
import { start } from '../harness.ts';
import { generateVapidKeys, sendWith } from '../web-push-sender.ts';

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

test('web-push is told what is wrong as by a real push service', async (t) => {
  const service = await start(t, { tls: true });
  const agent = await createUserAgent({ webSocketUrl: service.webSocketUrl, ca: service.ca });
  t.after(() => agent.close());
  const keys = generateVapidKeys();
  const subscription = await agent.subscribe(keys.publicKey);
  await assert.rejects(sendWith(service, generateVapidKeys(), subscription, 'x'), { statusCode: 403 });
  await assert.rejects(sendWith(service, keys, subscription, 'x'.repeat(4000)), { statusCode: 413 });
  service.faults.inject({ kind: 'status', status: 429, retryAfter: 30, times: 1 });
  await assert.rejects(
    sendWith(service, keys, subscription, 'x'),
    (error: { statusCode?: number; headers?: Record<string, string> }) => {
      assert.deepEqual([error.statusCode, error.headers?.['retry-after']], [429, '30']);
      return true;
    },
  );
  await agent.unsubscribe(subscription.endpoint);
  await assert.rejects(sendWith(service, keys, subscription, 'x'), { statusCode: 410 });
});
