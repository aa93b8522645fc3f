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
    const register = async (number: number, mayReplace = false): Promise<number> => {
      made += 1;
      const subscription = { ...madeUpSubscription(made), endpoint: `${originOf(number)}/topic${made}?up=1` };
      const put = () => store.subscriptions.put(subscription, vapidPublicKey);
      return (await withUnlisted(store, originOf(number), max, put, mayReplace)).id;
    };
    /** Each later than the one before. */
    const registerAll = async (...numbers: readonly number[]): Promise<void> => {
      for (const number of numbers) {
        await register(number, true);
        nowMs += 1000;
      }
    };
    let commits = 0;
    const accept = async (number: number): Promise<void> => {
      commits += 1;
      const none = { gone: 0, refused: 0, other: 0, goneSubscriptions: [], acceptedEndpoints: [] };
      const answer = { vapidPublicKey, accepted: 1, hasRefused: false, refusalsInRow: 0 };
      await store.ledger.recordAnswers({
        id: `00000000-0000-4000-8000-${String(commits).padStart(12, '0')}`,
        origins: [{ origin: originOf(number), accepted: 1, ...none }],
        answers: [{ origin: originOf(number), ...answer }],
      });
    };
    const states = async (...numbers: readonly number[]) => {
      const origins = numbers.map(originOf);
      return { places: await store.unlisted.list(), dormant: await store.unlisted.dormantAmong(origins) };
    };
    const full = {
      code: 'ERR_PUSH_SERVICE_LIMIT',
      message: /^up9\.example\.net would be one push service too many/,
    };

    test('are as many as there may be, even where all come at once', async () => {
      const results = await Promise.allSettled([1, 2, 3, 4, 5, 6].map((number) => register(number)));
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

    test('lose their places to others, the longest known first, unless they have accepted a message', async () => {
      await registerAll(1, 2, 3);
      await accept(1);
      assert.equal(await store.unlisted.countProven(), 1);
      await registerAll(9);
      assert.deepEqual(await states(1, 2, 3, 9), { places: [1, 3, 9].map(originOf), dormant: [originOf(2)] });
      assert.equal(await store.subscriptions.count(), 4, 'subscriptions stay');
      await registerAll(7, 8);
      assert.deepEqual(await states(1, 2, 3, 9), {
        places: [1, 7, 8].map(originOf),
        dormant: [2, 3, 9].map(originOf),
      });
      for (const number of [7, 8]) await accept(number);
      nowMs += 61_000;
      await assert.rejects(register(9, true), full);
    });

    test('of an import take no place of another', async () => {
      await registerAll(1, 2, 3);
      await assert.rejects(register(9), full);
    });

    test('are dormant where nothing reached them, until one of their subscriptions registers or they accept a message', async () => {
      await registerAll(1, 2, 3);
      await accept(1);
      await store.unlisted.setDormant([1, 2, 3].map(originOf));
      assert.deepEqual(await states(1, 2, 3, 4), { places: [originOf(1)], dormant: [2, 3].map(originOf) });
      assert.deepEqual(await store.unlisted.among([1, 2, 4].map(originOf)), [1, 2].map(originOf));
      await registerAll(2);
      await accept(3);
      assert.deepEqual(await states(2, 3), { places: [1, 2, 3].map(originOf), dormant: [] });
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
