// Registrations and removals over HTTP: one row per endpoint in whatever spelling, and the optional limit on rows.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Problem } from '../../src/http/problem.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { newSubscription, sendJson, startService } from './running-service.ts';

const spell = (endpoint: string): string[] => [
  endpoint,
  endpoint.replace('https:', 'HTTPS:'),
  endpoint.replace('mozilla.com/', 'mozilla.com:443/'),
  endpoint.replace('updates.push', 'Updates.PUSH'),
  endpoint.replace('https:', 'Https:').replace('mozilla.com/', 'MOZILLA.com:443/'),
];

test('one endpoint in five spellings is one row, and any of them removes it', async (t) => {
  const { base, store } = await startService({}, t);
  const subscription = newSubscription();
  const spellings = spell(subscription.endpoint);
  for (const endpoint of spellings) {
    assert.equal((await sendJson(base, 'POST', '/webPush', { ...subscription, endpoint })).status, 200);
  }
  const rows = await store.subscriptions.page({ afterId: 0, limit: 10 });
  assert.deepEqual(
    rows.map(({ endpoint }) => endpoint),
    [subscription.endpoint],
  );
  for (const endpoint of spellings) {
    await sendJson(base, 'POST', '/webPush', subscription);
    const { auth } = subscription;
    assert.equal((await sendJson(base, 'DELETE', '/webPush', { endpoint, auth })).status, 204);
    assert.equal(await store.subscriptions.count(), 0, endpoint);
  }
});

test('beyond the limit a new subscription is a 503, and a stored one is still updated', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-limit-'));
  const store = await openSqliteStore({
    path: join(folder, 'deskbell.db'),
    subscriptionLimit: { maxSubscriptions: 2 },
  });
  t.after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  const { base } = await startService({ store }, t);
  const stored = newSubscription();
  for (const subscription of [stored, newSubscription()]) {
    assert.equal((await sendJson(base, 'POST', '/webPush', subscription)).status, 200);
  }
  const refused = await sendJson(base, 'POST', '/webPush', newSubscription());
  assert.equal(refused.status, 503);
  assert.equal(((await refused.json()) as Problem).code, 'ERR_SUBSCRIPTION_LIMIT');
  const { auth } = newSubscription();
  assert.equal((await sendJson(base, 'POST', '/webPush', { ...stored, auth })).status, 200);
  assert.equal(await store.subscriptions.count(), 2);
  const found = await store.subscriptions.findByEndpoint(stored.endpoint);
  assert.equal(Buffer.from(found?.auth ?? []).toString('base64'), auth);
});
