// Searches of subscriptions by push service, where it has few of very many rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSubscriptions } from '../../src/operator/find-subscriptions.ts';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import { openTestStore } from '../store/test-database.ts';

const apple = 'https://web.push.apple.com';
const google = 'https://fcm.googleapis.com';
/** More than a search looks at. */
const rows = 12_000;

test('few subscriptions of a push service or with a tag are found at once among very many', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  await store.subscriptions.putAll(
    Array.from({ length: rows }, (_, index) => {
      const subscription = madeUpSubscription(index);
      const isApple = index >= rows - 4;
      return {
        subscription: {
          ...subscription,
          endpoint: isApple ? subscription.endpoint.replace(google, apple) : subscription.endpoint,
        },
        vapidPublicKey,
        // the last of each push service has the rare tag
        assign: { tags: index === rows - 1 || index === rows - 5 ? ['news', 'rare'] : ['news'] },
      };
    }),
  );
  const find = async (
    pushService: string,
    tags?: { readonly all?: string[]; readonly none?: string[] },
    limit = 3,
    afterId?: number,
  ) => {
    const filter = { pushService, matching: tags && { tags } };
    const found = await findSubscriptions(store.subscriptions, filter, { afterId, limit });
    return [found.subscriptions.map(({ id }) => id), found.nextAfterId];
  };
  const last = rows - 4;
  assert.deepEqual(await find(apple), [[last + 1, last + 2, last + 3], last + 3]);
  assert.deepEqual(await find(apple, undefined, 4), [[last + 1, last + 2, last + 3, last + 4], undefined]);
  assert.deepEqual(await find(google), [[1, 2, 3], 3]);
  assert.deepEqual(await find('https://nobody.example'), [[], undefined]);
  assert.deepEqual(await find('no origin'), [[], undefined]);
  // the rarer of the two says where to look
  assert.deepEqual(await find(apple, { all: ['news'] }), [[last + 1, last + 2, last + 3], last + 3]);
  assert.deepEqual(await find(apple, { all: ['news'] }, 3, last + 3), [[last + 4], undefined]);
  assert.deepEqual(await find(apple, { all: ['news'], none: ['rare'] }, 4), [
    [last + 1, last + 2, last + 3],
    undefined,
  ]);
  assert.deepEqual(await find(google, { all: ['rare'] }), [[last], undefined]);
  assert.deepEqual(await find('https://nobody.example', { all: ['news'] }), [[], undefined]);
});
