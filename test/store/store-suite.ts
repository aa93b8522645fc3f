// What every store must do, whatever database is behind it. Each database's test file runs this suite.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { StoredSubscription } from '../../src/store/subscriptions.ts';
import { madeUpSubscription, otherVapidPublicKey, vapidPublicKey } from './made-up-subscription.ts';
import { addSubscriptions, openForSuite, removeSubscriptions } from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';
import { refusalsOf, refuses } from '../../tools/refuses.ts';

const rowsOf = (dates: readonly (number | undefined)[]) =>
  dates.map((createdAtMs, index) => ({
    subscription: madeUpSubscription(index),
    vapidPublicKey,
    createdAtMs,
  }));

/** Its `auth` is too short. */
const bad = { ...madeUpSubscription(20), auth: new Uint8Array(15) };

describe(`store: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  const store = openForSuite(() => nowMs);

  beforeEach(() => removeSubscriptions(store));

  test('a stored subscription is found by id and by endpoint, byte for byte', async () => {
    const subscription = madeUpSubscription(1);
    const stored = await store.subscriptions.put(subscription, vapidPublicKey);

    assert.deepEqual(stored, {
      ...subscription,
      id: stored.id,
      vapidPublicKey,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
      user: undefined,
      tags: [],
      language: undefined,
      timeZone: undefined,
      channels: {},
    });
    assert.deepEqual(plain(await store.subscriptions.findById(stored.id)), plain(stored));
    assert.deepEqual(plain(await store.subscriptions.findByEndpoint(subscription.endpoint)), plain(stored));
  });

  test('a subscription without its VAPID key is refused, and the key named', async () => {
    const refused = { code: 'ERR_FIELD_TYPE', message: /^"vapidPublicKey" must be .*, not undefined\.$/ };
    const subscription = madeUpSubscription(1);
    const without = { subscription, vapidPublicKey: undefined as never };
    const { subscriptions } = store;
    await assert.rejects(subscriptions.put(subscription, without.vapidPublicKey), refused);
    await assert.rejects(subscriptions.putAll([without]), refused);
    await assert.rejects(subscriptions.register(without), refused);
    assert.equal(await subscriptions.count(), 0);
  });

  test('an endpoint keeps every character, also %2B and +, up to 4096', async () => {
    for (const endpoint of [
      'https://db5p.notify.windows.com/w/?token=BQYAAA%2B%2f+b%3d%3D',
      `https://fcm.googleapis.com/${'é'.repeat(4096 - 27)}`,
    ]) {
      await store.subscriptions.put({ ...madeUpSubscription(1), endpoint }, vapidPublicKey);
      assert.equal((await store.subscriptions.findByEndpoint(endpoint))?.endpoint, endpoint);
    }
  });

  test('the same endpoint again keeps row, id and birthday, and takes the new keys', async () => {
    const first = await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    nowMs += 1000;
    const second = await store.subscriptions.put(
      { ...madeUpSubscription(2), endpoint: first.endpoint },
      otherVapidPublicKey,
    );

    assert.equal(await store.subscriptions.count(), 1);
    assert.equal(second.id, first.id);
    assert.equal(second.createdAtMs, first.createdAtMs);
    assert.equal(second.updatedAtMs, nowMs);
    const found = await store.subscriptions.findById(first.id);
    assert.deepEqual([...(found?.auth ?? [])], [...madeUpSubscription(2).auth]);
    assert.deepEqual([...(found?.p256dh ?? [])], [...madeUpSubscription(2).p256dh]);
    assert.equal(found?.vapidPublicKey, otherVapidPublicKey);
  });

  test('every change of a row moves its updatedAtMs on, also within one millisecond', async () => {
    const first = await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    const second = await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    const third = await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    assert.ok(first.updatedAtMs < second.updatedAtMs && second.updatedAtMs < third.updatedAtMs);
  });

  test('an id is never used again', async () => {
    const first = await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    assert.equal(await store.subscriptions.removeById(first.id), true);
    const second = await store.subscriptions.put(madeUpSubscription(2), vapidPublicKey);
    assert.ok(second.id > first.id);
  });

  test('what is not there is not found, and removing it says so', async () => {
    assert.equal(await store.subscriptions.findById(1e15), undefined);
    assert.equal(await store.subscriptions.findByEndpoint('https://fcm.googleapis.com/none'), undefined);
    assert.equal(await store.subscriptions.removeById(1e15), false);
  });

  test('pages give each row once, in id order, whatever was removed in between', async () => {
    await addSubscriptions(store, 250);
    const all = await store.subscriptions.page({ afterId: 0, limit: 1000 });
    const gaps = all.filter((_, index) => index % 7 === 3);
    for (const { id } of gaps) await store.subscriptions.removeById(id);

    const seen: number[] = [];
    for (let afterId = 0; ;) {
      const page = await store.subscriptions.page({ afterId, limit: 32 });
      seen.push(...page.map(({ id }) => id));
      const last = page.at(-1);
      if (last === undefined) break;
      afterId = last.id;
      // a row behind the cursor that goes must not shift what is ahead of it
      await store.subscriptions.removeById(last.id);
    }
    assert.deepEqual(
      seen,
      all.filter((row) => !gaps.includes(row)).map(({ id }) => id),
    );
  });

  test('a page begins after afterId and ends with throughId', async () => {
    await addSubscriptions(store, 10);
    const ids = (await store.subscriptions.page({ afterId: 0, limit: 100 })).map(({ id }) => id);
    const range = { afterId: ids[2]!, throughId: ids[5]! };
    const read = async (limit: number) => pluck(await store.subscriptions.page({ ...range, limit }), 'id');
    assert.deepEqual([await read(100), await read(2)], [ids.slice(3, 6), ids.slice(3, 5)]);
  });

  test('pages of one push service have its rows alone, in id order, page by page', async () => {
    const origins = [
      'https://web.push.apple.com',
      'https://web.push.apple.com:8443',
      'http://web.push.apple.com',
      'https://web.push.apple.com.example',
      'https://fcm.googleapis.com',
    ];
    const put = async (origin: string, index: number) => {
      const subscription = madeUpSubscription(index);
      const endpoint = subscription.endpoint.replace('https://fcm.googleapis.com', origin);
      return store.subscriptions.put({ ...subscription, endpoint }, vapidPublicKey);
    };
    const rows: StoredSubscription[] = [];
    for (let index = 0; index < 25; index += 1) rows.push(await put(origins[index % 5]!, index));
    for (const [number, origin] of origins.entries()) {
      const expected: readonly StoredSubscription[] = rows.filter((_, index) => index % 5 === number);
      const first = await store.subscriptions.pageOfPushService(origin, { afterId: 0, limit: 3 });
      assert.deepEqual(first, expected.slice(0, 3), origin);
      const range = { afterId: first.at(-1)?.id ?? 0, limit: 3 };
      assert.deepEqual(await store.subscriptions.pageOfPushService(origin, range), expected.slice(3), origin);
    }
    const none = await store.subscriptions.pageOfPushService('https://nobody.example', {
      afterId: 0,
      limit: 3,
    });
    assert.deepEqual(none, []);

    // every third has the tag: of Apple's rows 0, 5, 10, 15 and 20 these are 0 and 15
    for (let index = 0; index < 25; index += 3)
      await store.people.assign(rows[index]!.id, { user: `user-${index}`, tags: ['news'] });
    const search = async (by: 'matching' | 'pushService', filter: object, afterId = 0, count = 4) => {
      const { found, ...looked } = await store.subscriptions.search({
        matching: { tags: { all: ['news'] } },
        pushService: origins[0]!,
        by,
        afterId,
        rows: count,
        ...filter,
      });
      return { ...looked, indexes: found.map(({ id }) => rows.findIndex((row) => row.id === id)) };
    };
    const idOf = (index: number) => rows[index]!.id;
    const first = { indexes: [0], rows: 4 };
    assert.deepEqual(await search('matching', {}), { ...first, throughId: idOf(9) });
    assert.deepEqual(await search('pushService', {}), {
      ...first,
      indexes: [0, 15],
      throughId: idOf(15),
    });
    const rest = { indexes: [15], rows: 4, throughId: idOf(21) };
    assert.deepEqual(await search('matching', {}, idOf(9)), rest);
    const end = { indexes: [], rows: 0, throughId: idOf(24) };
    assert.deepEqual(await search('matching', {}, idOf(24)), end);
    await store.people.assign(idOf(20), { user: 'USER-15' });
    const byUser = { matching: { user: 'user-15', tags: { none: ['beta'] } } };
    const fifteen = { indexes: [15], rows: 1, throughId: idOf(15) };
    assert.deepEqual(await search('matching', byUser), fifteen);
    assert.deepEqual((await search('pushService', byUser, 0, 9)).indexes, [15]);
    assert.deepEqual((await search('pushService', { pushService: 'https://nobody.example' })).rows, 0);
  });

  test('one bad row among many at once fails alone', async () => {
    const many = Array.from({ length: 50 }, (_, index) => (index === 20 ? bad : madeUpSubscription(index)));
    const results = await Promise.allSettled(many.map((row) => store.subscriptions.put(row, vapidPublicKey)));
    assert.equal(results[20]?.status, 'rejected');
    assert.deepEqual(refusalsOf(results), ['ERR_FIELD_VALUE']);
    assert.equal(await store.subscriptions.count(), 49);
  });

  test('putAll keeps the date of a row that is new, at the latest now', async () => {
    const dates = [nowMs - 1000, nowMs + 1e12, undefined];
    const stored = async () =>
      (await store.subscriptions.page({ afterId: 0, limit: 10 })).map(({ createdAtMs }) => createdAtMs);
    await store.subscriptions.putAll(rowsOf(dates));
    assert.deepEqual(await stored(), [nowMs - 1000, nowMs, nowMs]);
    await store.subscriptions.putAll(rowsOf(dates.map(() => nowMs - 5000)));
    assert.deepEqual(await stored(), [nowMs - 1000, nowMs, nowMs]);
  });

  test('visits are counted by push service and age; an import is none, whoever was here before', async () => {
    const rows = rowsOf(Array.from({ length: 6 }, () => undefined));
    const put = (index: number) => store.subscriptions.put(rows[index]!.subscription, vapidPublicKey);
    const dayMs = 24 * 60 * 60 * 1000;
    assert.equal(await store.subscriptions.putAll(rows.slice(0, 3)), 3);
    await put(1);
    nowMs += 50 * dayMs;
    await put(2);
    await put(3);
    nowMs += 20 * dayMs;
    await put(4);
    nowMs += 7 * dayMs;
    await put(5);
    assert.equal(await store.subscriptions.putAll(rows), 0);
    const [counted, ...others] = await store.visits.count();
    assert.deepEqual(others, []);
    assert.equal(counted?.pushService, new URL(rows[0]!.subscription.endpoint).origin);
    assert.deepEqual(counted.visits, {
      within7Days: 2,
      within30Days: 2,
      within90Days: 1,
      longerAgo: 0,
      notSinceImport: 1,
    });
    const [first] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    assert.equal(first!.updatedAtMs, first!.createdAtMs);
  });

  test('endpoints are found by their end, and have hosts', async () => {
    const ids: number[] = [];
    const paths = ['/wpush/v2/abc_d', '/wpush/v2/xbc_d', '/wpush/v2/abcXd'];
    for (const [index, host] of ['b.example', 'a.example:8443', 'b.example'].entries())
      ids.push(
        (
          await store.subscriptions.put(
            { ...madeUpSubscription(index), endpoint: `https://${host}${paths[index]}` },
            vapidPublicKey,
          )
        ).id,
      );
    assert.deepEqual(await store.endpoints.hosts(), ['a.example:8443', 'b.example']);
    assert.deepEqual(await store.endpoints.endingIn('bc_d', 9), ids.slice(0, 2));
    assert.deepEqual(await store.endpoints.endingIn('bc_d', 1), ids.slice(0, 1));
    assert.deepEqual(await store.endpoints.endingIn('BC_D', 9), []);
    assert.deepEqual(await store.endpoints.endingIn(`https://b.example${paths[2]}`, 9), ids.slice(2));
    assert.deepEqual(await store.endpoints.endingIn(`x${'y'.repeat(99)}`, 9), []);
  });

  test('putAll takes rows with one endpoint one after the other', async () => {
    const owned = { subscription: madeUpSubscription(1), vapidPublicKey };
    await store.subscriptions.putAll([
      { ...owned, language: 'de', assign: { user: '42', tags: ['news'] } },
      { subscription: madeUpSubscription(2), vapidPublicKey },
      { ...owned, timeZone: 'Europe/Berlin' },
      { ...owned, subscription: { ...madeUpSubscription(3), endpoint: owned.subscription.endpoint } },
    ]);

    const [row, ...others] = await store.subscriptions.page({ afterId: 0, limit: 10 });
    assert.equal(others.length, 1);
    const { user, tags, language, timeZone, p256dh } = row!;
    assert.deepEqual(
      { user, tags, language, timeZone, p256dh },
      {
        user: '42',
        tags: ['news'],
        language: 'de',
        timeZone: 'Europe/Berlin',
        p256dh: madeUpSubscription(3).p256dh,
      },
    );
  });

  test('putAll with one bad row stores none of them', async () => {
    const rows = [...rowsOf([undefined, undefined]), { subscription: bad, vapidPublicKey }];
    await refuses(store.subscriptions.putAll(rows), 'ERR_FIELD_VALUE');
    assert.equal(await store.subscriptions.count(), 0);
  });

  test('writes of one turn take effect in the order in which they were asked for', async () => {
    const { endpoint, auth } = madeUpSubscription(1);
    const [, removed, second] = await Promise.all([
      store.subscriptions.put(madeUpSubscription(1), vapidPublicKey),
      store.subscriptions.removeByEndpoint(endpoint, auth),
      store.subscriptions.put(madeUpSubscription(1), vapidPublicKey),
    ]);
    assert.equal(removed, true);
    assert.equal((await store.subscriptions.findByEndpoint(endpoint))?.id, second.id);
  });
});

/** Rows may come without a prototype; their contents are what counts. */
function plain(value: object | undefined): object | undefined {
  return value && { ...value };
}
