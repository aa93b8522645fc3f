// What every store must know of VAPID keys: which one services offer, and how many subscriptions each still has.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { madeUpSubscription } from './made-up-subscription.ts';
import { openForEachTest } from './store-under-test.ts';
import { databaseName } from './test-database.ts';

const [first, second, third] = ['C', 'D', 'E'].map((letter) => `B${letter.repeat(86)}`) as [
  string,
  string,
  string,
];

describe(`VAPID keys: ${databaseName()}`, () => {
  const store = openForEachTest(Date.now);

  const states = async () =>
    Object.fromEntries((await store.vapidKeys.list()).map(({ publicKey, state }) => [publicKey, state]));

  test('the first key that is adopted stays the current one', async () => {
    assert.equal(await store.vapidKeys.current(), undefined);
    assert.equal(await store.vapidKeys.adopt(first), first);
    assert.equal(await store.vapidKeys.adopt(second), first);
    assert.deepEqual(await states(), { [first]: 'current' });
  });

  test('a next key is offered once it is made current, and the former one is kept', async () => {
    await store.vapidKeys.adopt(first);
    assert.equal(await store.vapidKeys.prepare(second), second);
    assert.equal(await store.vapidKeys.current(), first);
    assert.equal(await store.vapidKeys.prepare(third), second, 'one key at a time is next');
    await store.vapidKeys.makeCurrent(second);
    await store.vapidKeys.makeCurrent(second);
    assert.deepEqual(await states(), { [first]: 'previous', [second]: 'current' });
  });

  test('a key that subscriptions name is none of ours until it is adopted', async () => {
    await store.subscriptions.put(madeUpSubscription(1), first);
    assert.deepEqual(await states(), { [first]: undefined });
    await store.vapidKeys.adopt(first);
    assert.deepEqual(await states(), { [first]: 'current' });
  });

  test('subscriptions are counted by key', async () => {
    for (const [index, key] of [first, first, second].entries()) {
      await store.subscriptions.put(madeUpSubscription(index + 1), key);
    }
    // counted with its new key only
    await store.subscriptions.put(madeUpSubscription(2), second);
    await store.vapidKeys.adopt(third);
    assert.deepEqual(
      await store.vapidKeys.countSubscriptions(),
      new Map([
        [first, 1],
        [second, 2],
      ]),
    );
  });

  test('a key is retired once no subscription was made with it, or by force, unless it is the current one', async () => {
    await store.vapidKeys.adopt(first);
    await assert.rejects(store.vapidKeys.retire(first, { force: true }), { code: 'ERR_KEY_IN_USE' });
    assert.equal(await store.vapidKeys.current(), first);
    await store.vapidKeys.makeCurrent(second);
    const { id } = await store.subscriptions.put(madeUpSubscription(1), first);
    assert.equal(await store.vapidKeys.retire(first, { force: false }), 1);
    assert.equal((await states())[first], 'previous');
    assert.equal(await store.vapidKeys.retire(first, { force: true }), 1);
    assert.equal((await states())[first], 'retired');

    await store.vapidKeys.makeCurrent(third);
    await store.subscriptions.removeById(id);
    assert.equal(await store.vapidKeys.retire(second, { force: false }), 0);
    assert.equal((await states())[second], 'retired');
  });

  test('a key that takes the place of all others leaves them retired', async () => {
    await store.subscriptions.put(madeUpSubscription(1), third);
    await store.vapidKeys.adopt(first);
    await store.vapidKeys.prepare(second);
    const replacement = `B${'F'.repeat(86)}`;
    await store.vapidKeys.replaceAll(replacement);
    assert.deepEqual(await states(), {
      [first]: 'retired',
      [second]: 'retired',
      [third]: undefined,
      [replacement]: 'current',
    });
  });
});
