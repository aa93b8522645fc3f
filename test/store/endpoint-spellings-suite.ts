// One row per endpoint, in whatever spelling of scheme, host and port, and the optional limit on rows, whatever database
// is behind the store.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import type { Subscription } from '../../src/protocol/subscription.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import {
  addSubscriptions,
  madeUpBroadcast,
  openForEachTest,
  openList,
  recordAnswer,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';

const path = '/fcm/send/aB%2B+c%2b?Q=%3D';
const normal = `https://fcm.googleapis.com${path}`;
const spellings = [
  normal,
  `https://fcm.googleapis.com:443${path}`,
  `HTTPS://fcm.googleapis.com${path}`,
  `https://FCM.GoogleAPIs.com${path}`,
  `Https://FCM.googleapis.COM:443${path}`,
  `https://fcm.GOOGLEAPIS.com:443${path}`,
];

const spelled = (endpoint: string, index = 1): Subscription => ({
  ...madeUpSubscription(index),
  endpoint,
});

describe(`endpoint spellings: ${databaseName()}`, () => {
  const store = openForEachTest(() => 1_800_000_000_000);

  test('all of them are admitted and make one row, in the normal spelling and with the newest keys', async () => {
    const policy = createEndpointPolicy();
    for (const [index, endpoint] of spellings.entries()) {
      assert.equal(policy.check(endpoint), undefined);
      await store.subscriptions.put(spelled(endpoint, index), vapidPublicKey);
    }
    const rows = await store.subscriptions.page({ afterId: 0, limit: 10 });
    assert.deepEqual(pluck(rows, 'endpoint'), [normal]);
    assert.deepEqual([...(rows[0]?.auth ?? [])], [...madeUpSubscription(spellings.length - 1).auth]);
  });

  test('all of them find it, and remove it', async () => {
    for (const endpoint of spellings) {
      const { id, auth } = await store.subscriptions.put(spelled(normal), vapidPublicKey);
      assert.equal((await store.subscriptions.findByEndpoint(endpoint))?.id, id);
      assert.equal(await store.subscriptions.removeByEndpoint(endpoint, auth), true);
    }
  });

  test('another path or query is another endpoint, also in the case of its letters', async () => {
    await store.subscriptions.put(spelled(normal), vapidPublicKey);
    await store.subscriptions.put(spelled(normal.replace('%2B', '%2b')), vapidPublicKey);
    await store.subscriptions.put(spelled(normal.replace('/send', '/SEND')), vapidPublicKey);
    await store.subscriptions.put(spelled(normal.replace('https:', 'http:')), vapidPublicKey);
    assert.equal(await store.subscriptions.count(), 4);
  });

  test('a list of recipients has each once', async () => {
    const audienceId = await openList(
      store,
      spellings.map((endpoint) => spelled(endpoint)),
    );
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(1_800_000_000_000, { audienceId }));
    assert.equal(broadcast.recipients, 1);
  });

  test('a single message that is gone deletes the row in whatever spelling it was sent', async () => {
    await store.subscriptions.put(spelled(normal), vapidPublicKey);
    const subscription = spelled(spellings[4] ?? '');
    const origin = 'https://fcm.googleapis.com';
    await recordAnswer(store, subscription, 'gone', origin);
    assert.equal(await store.subscriptions.count(), 0);
  });
});

describe(`limit on subscriptions: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  let warnings: string[] = [];
  beforeEach(() => (warnings = []));
  const store = openForEachTest(() => nowMs, {
    maxSubscriptions: 10,
    onWarning: (warning) => {
      warnings.push(warning);
      throw new Error('the application has a fault');
    },
  });

  const put = (index: number) => store.subscriptions.put(madeUpSubscription(index), vapidPublicKey);

  test('a new row beyond it is refused, rows that are there are updated, and room is used again', async () => {
    const stored = [];
    for (let index = 0; index < 10; index += 1) stored.push(await put(index));
    await assert.rejects(put(10), { code: 'ERR_SUBSCRIPTION_LIMIT', message: /limit of 10 subscriptions/ });
    for (let index = 0; index < 10; index += 1) assert.equal((await put(index)).id, stored[index]?.id);
    const together = await Promise.allSettled([put(0), put(10)]);
    assert.deepEqual(pluck(together, 'status'), ['fulfilled', 'rejected']);
    assert.equal(await store.subscriptions.count(), 10);

    await store.subscriptions.removeById(stored[0]?.id ?? 0);
    nowMs += 1000;
    await put(11);
    assert.equal(await store.subscriptions.count(), 10);
  });

  test('rows of one transaction are all stored or none', async () => {
    await assert.rejects(addSubscriptions(store, 11), { code: 'ERR_SUBSCRIPTION_LIMIT' });
    assert.equal(await store.subscriptions.count(), 0);
    nowMs += 1000;
    await addSubscriptions(store, 10);
    assert.equal(await store.subscriptions.count(), 10);
  });

  test('the operator is warned once when nine tenths are stored, and once when it is reached', async () => {
    for (let index = 0; index < 9; index += 1) await put(index);
    assert.deepEqual(warnings, []);
    await put(9);
    assert.deepEqual(warnings, ['9 of at most 10 subscriptions are stored.']);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      nowMs += 1000;
      await assert.rejects(put(10));
    }
    assert.equal(warnings.length, 2);
    assert.match(warnings[1] ?? '', /^10 of at most 10 subscriptions are stored: new ones are refused/);
  });
});
