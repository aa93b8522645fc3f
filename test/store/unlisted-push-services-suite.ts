// What every store must do about push services that nobody has listed: count them, and keep to how many there may be.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { withUnlisted } from '../../src/store/unlisted-push-services.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { openForEachTest, type StoreUnderTest } from './store-under-test.ts';

const max = 3;
const firstAtMs = Date.UTC(2027, 0, 4);
const originOf = (number: number): string => `https://up${number}.example.net`;

export function describeUnlistedPushServices(name: string, prepare: () => Promise<StoreUnderTest>): void {
  describe(`push services that nobody has listed: ${name}`, () => {
    let nowMs = firstAtMs;
    const store = openForEachTest(prepare, () => nowMs);
    beforeEach(() => {
      nowMs = firstAtMs;
    });

    let made = 0;
    const register = async (number: number): Promise<number> => {
      made += 1;
      const subscription = { ...madeUpSubscription(made), endpoint: `${originOf(number)}/topic${made}?up=1` };
      const stored = await withUnlisted(store, originOf(number), max, () =>
        store.subscriptions.put(subscription, vapidPublicKey),
      );
      return stored.id;
    };
    const full = {
      code: 'ERR_PUSH_SERVICE_LIMIT',
      message: /^up9\.example\.net would be one push service too many/,
    };

    test('are as many as there may be, even where all come at once', async () => {
      const results = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(register));
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, max);
      assert.equal((await store.unlisted.list()).length, max);
      assert.equal(await store.subscriptions.count(), max);
    });

    test('take any number of subscriptions each', async () => {
      for (const number of [1, 2, 3, 3, 2, 1]) await register(number);
      await assert.rejects(register(9), full);
      assert.equal(await store.subscriptions.count(), 6);
    });

    test('make way for another one when their last subscription has left', async () => {
      const ids = [await register(1), await register(2), await register(3)];
      await register(2);
      await store.subscriptions.removeById(ids[1]!);
      nowMs += 61_000;
      await assert.rejects(register(9), full);
      await store.subscriptions.removeById(ids[0]!);
      await register(9);
      assert.deepEqual(await store.unlisted.list(), [2, 3, 9].map(originOf));
    });

    test('take no place where nothing was stored', async () => {
      const refused = new Error('The application refuses it.');
      const fail = () => withUnlisted(store, originOf(1), max, () => Promise.reject(refused));
      await assert.rejects(fail, refused);
      assert.deepEqual(await store.unlisted.list(), []);
      await register(1);
      await assert.rejects(fail, refused);
      assert.deepEqual(await store.unlisted.list(), [originOf(1)]);
    });
  });
}
