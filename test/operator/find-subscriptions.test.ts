// Searches of subscriptions by push service, where it has few of very many rows, and of broadcasts among very many.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSubscriptions, searchBatchSize, searchBroadcasts } from '../../src/operator/searches.ts';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import type { Broadcast, BroadcastSummary } from '../../src/store/broadcasts.ts';
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
    return [found.items.map(({ id }) => id), found.next];
  };
  const last = rows - 4;
  assert.deepEqual(await find(apple), [[last + 1, last + 2, last + 3], last + 3]);
  assert.deepEqual(await find(apple, undefined, 4), [[last + 1, last + 2, last + 3, last + 4], undefined]);
  assert.deepEqual(await find(google), [[1, 2, 3], 3]);
  assert.deepEqual(await find('https://nobody.example'), [[], undefined]);
  for (const none of ['no origin', 'mailto:ops@example.org'])
    assert.deepEqual(await find(none), [[], undefined]);
  for (const written of [`${apple}/`, 'https://Web.push.apple.com:443'])
    assert.deepEqual(await find(written, undefined, 1), [[last + 1], last + 1], written);
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

const payloadOf = (title: string) => Buffer.from(JSON.stringify({ title, message: '' }));

test('of very many broadcasts all that fit are found, some thousands looked at for each page', async () => {
  const [tea, coffee] = [payloadOf('Tea'), payloadOf('Coffee')];
  const all = Array.from({ length: searchBatchSize + 700 }, (_, index): BroadcastSummary => {
    const id = searchBatchSize + 700 - index;
    return { id, state: 'done', startAtMs: 0, payload: [1, 650, 5000].includes(id) ? tea : coffee };
  });
  const store = {
    summaries: async ({ beforeId = Infinity, limit }: { beforeId?: number | undefined; limit: number }) =>
      all.filter(({ id }) => id < beforeId).slice(0, limit),
    findAll: async (ids: readonly number[]) => ids.map((id) => ({ id }) as Broadcast),
  };
  const find = async (limit: number, beforeId?: number) => {
    const found = await searchBroadcasts(store, { text: 'tea' }, { limit, beforeId });
    return [found.items.map(({ id }) => id), found.next];
  };
  // one page looks through as far as 701
  assert.deepEqual(await find(9), [[5000], 701]);
  assert.deepEqual(await find(9, 701), [[650, 1], undefined]);
  assert.deepEqual(await find(1, 701), [[650], 650]);
});
