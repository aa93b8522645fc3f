// Who may change the row of an endpoint, whatever database is behind the store: knowing the endpoint proves nothing.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Registration, StoredSubscription } from '../../src/store/subscriptions.ts';
import { madeUpSubscription, otherVapidPublicKey, vapidPublicKey } from './made-up-subscription.ts';
import { openForSuite, removeSubscriptions } from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';
import { refusalsOf } from '../../tools/refuses.ts';

const nowMs = 1_800_000_000_000;
const ada = { user: 'ada', tags: ['beta', 'de'] };
const inUse = { code: 'ERR_ENDPOINT_IN_USE' };

/** The endpoint of one subscription with the keys of another. */
const withKeysOf = (index: number, keys: number) => ({
  ...madeUpSubscription(keys),
  endpoint: madeUpSubscription(index).endpoint,
});
/** The keys of one subscription at an endpoint of its own. */
const moved = (index: number, path: string, origin = 'https://fcm.googleapis.com') => ({
  ...madeUpSubscription(index),
  endpoint: `${origin}/fcm/send/${path}`,
});
const ownerOf = ({ user, tags }: Partial<StoredSubscription> = {}) => ({ user, tags });

describe(`registrations: ${databaseName()}`, () => {
  const store = openForSuite(() => nowMs);
  beforeEach(() => removeSubscriptions(store));

  const register = (registration: Partial<Registration>) =>
    store.subscriptions.register({ subscription: madeUpSubscription(1), vapidPublicKey, ...registration });
  const read = (index: number) => store.subscriptions.findByEndpoint(madeUpSubscription(index).endpoint);

  const { endpoint, auth } = madeUpSubscription(1);
  const strangers: readonly (readonly [string, Partial<Registration>])[] = [
    ['without a proof', {}],
    ['with the auth of another subscription', { former: { endpoint, auth: madeUpSubscription(9).auth } }],
    ['with an auth of no length', { former: { endpoint, auth: new Uint8Array() } }],
    ['with the auth for another endpoint', { former: { endpoint: `${endpoint}x`, auth } }],
    ['with its own former subscription', { former: madeUpSubscription(2) }],
    ['as another user', { provenUser: 'bob', assign: { user: 'bob' } }],
    ['with a user that nobody has proved', { assign: ada }],
    [
      'in another spelling',
      { subscription: { ...withKeysOf(1, 5), endpoint: endpoint.replace('https', 'HTTPS') } },
    ],
  ];
  for (const [how, registration] of strangers) {
    test(`other keys for a known endpoint, ${how}, are refused and change nothing`, async () => {
      await register({ assign: ada });
      await register({ subscription: madeUpSubscription(2), assign: { user: 'mallory', tags: ['x'] } });
      const rows = [await read(1), await read(2)];
      await assert.rejects(
        register({ subscription: withKeysOf(1, 5), vapidPublicKey: otherVapidPublicKey, ...registration }),
        inUse,
      );
      assert.deepEqual([await read(1), await read(2)], rows);
    });
  }

  test('nobody proves to be the user of an anonymous row, and nothing moves to it from a stranger', async () => {
    await register({});
    await register({ subscription: madeUpSubscription(2), assign: ada });
    const rows = [await read(1), await read(2)];
    await assert.rejects(register({ subscription: withKeysOf(1, 5), provenUser: 'ada', assign: ada }), inUse);
    await assert.rejects(register({ subscription: withKeysOf(1, 5), former: madeUpSubscription(2) }), inUse);
    assert.deepEqual([await read(1), await read(2)], rows);
  });

  const permitted: readonly (readonly [string, Partial<Registration>])[] = [
    ['its stored auth', { former: { endpoint: endpoint.replace('https', 'HTTPS'), auth } }],
    ['its stored auth among the new keys', { subscription: { ...withKeysOf(1, 5), auth } }],
    ['its user', { provenUser: 'ada' }],
  ];
  for (const [what, registration] of permitted) {
    test(`other keys are taken with ${what}; id, user and tags stay`, async () => {
      const { id } = await register({ assign: ada });
      const stored = await register({
        subscription: withKeysOf(1, 5),
        vapidPublicKey: otherVapidPublicKey,
        ...registration,
      });
      assert.deepEqual(await read(1), stored);
      assert.equal(stored.id, id);
      assert.deepEqual(stored.p256dh, madeUpSubscription(5).p256dh);
      assert.equal(stored.vapidPublicKey, otherVapidPublicKey);
      assert.deepEqual(ownerOf(stored), ada);
    });
  }

  test('the same keys again need no proof, and import and other server-side code need none at all', async () => {
    const { id } = await register({ assign: ada });
    assert.equal((await register({})).id, id);
    await store.subscriptions.put(withKeysOf(1, 5), vapidPublicKey);
    assert.deepEqual((await read(1))?.auth, madeUpSubscription(5).auth);
    await store.subscriptions.putAll([{ subscription: withKeysOf(1, 6), vapidPublicKey }]);
    assert.deepEqual((await read(1))?.auth, madeUpSubscription(6).auth);
    assert.deepEqual(ownerOf(await read(1)), ada);
  });

  test('a refused one does not keep its neighbours of one turn from being stored', async () => {
    await register({ assign: ada });
    const results = await Promise.allSettled([
      register({ subscription: madeUpSubscription(3) }),
      register({ subscription: withKeysOf(1, 5), assign: { user: 'bob' }, provenUser: 'bob' }),
      register({ subscription: madeUpSubscription(4), assign: { user: 'bob' } }),
    ]);
    assert.deepEqual(pluck(results, 'status'), ['fulfilled', 'rejected', 'fulfilled']);
    assert.deepEqual(refusalsOf(results), [inUse.code]);
    assert.deepEqual(ownerOf(await read(1)), ada);
    assert.deepEqual(ownerOf(await read(4)), { user: 'bob', tags: [] });
    assert.equal(await store.subscriptions.count(), 3);
  });

  test('those of one turn come to the same as one after the other', async () => {
    await register({ assign: ada });
    await Promise.all([
      register({ subscription: madeUpSubscription(2), former: madeUpSubscription(1) }),
      register({ assign: { user: 'bob' } }),
    ]);
    assert.deepEqual(ownerOf(await read(2)), ada);
    assert.deepEqual(ownerOf(await read(1)), { user: 'bob', tags: [] });
  });

  const all = () => store.subscriptions.page({ afterId: 0, limit: 10 });

  test('a new endpoint with the keys of one row is that of the same browser, and replaces the row', async () => {
    const { id } = await register({
      assign: ada,
      language: 'de',
      timeZone: 'Europe/Berlin',
      channels: { news: false },
    });
    const subscription = moved(1, 'second');
    const stored = await register({ subscription, assign: { user: 'ada' }, timeZone: 'UTC' });
    assert.deepEqual(await all(), [stored]);
    assert.notEqual(stored.id, id);
    assert.deepEqual(ownerOf(stored), { user: 'ada', tags: [] });
    assert.deepEqual([stored.language, stored.timeZone, stored.channels], ['de', 'UTC', { news: false }]);
    await store.people.assign(stored.id, { user: null, tags: ['beta'] });
    const third = await register({ subscription: moved(1, 'third') });
    assert.deepEqual(await all(), [third]);
    assert.deepEqual(ownerOf(third), { user: undefined, tags: ['beta'] });
    const invited = await register({ subscription: moved(1, 'fourth'), assign: { user: 'bob' } });
    assert.deepEqual(await all(), [invited]);
  });

  test('those of one turn with the same keys replace each other', async () => {
    const paths = ['a', 'b', 'c'];
    const stored = await Promise.all(
      paths.map((path) => register({ subscription: moved(1, path), timeZone: 'UTC' })),
    );
    assert.deepEqual(await all(), [stored[2]]);
  });

  const others: readonly (readonly [string, Partial<Registration>, Partial<Registration>])[] = [
    ['of another user', { assign: ada }, { assign: { user: 'bob' } }],
    ['of a user, if nobody has signed in', { assign: ada }, {}],
    ['at another push service', {}, { subscription: moved(1, 'x', 'https://push.example') }],
    ['at another port', {}, { subscription: moved(1, 'x', 'https://fcm.googleapis.com:8443') }],
    ['with another auth', {}, { subscription: { ...moved(1, 'x'), auth: madeUpSubscription(2).auth } }],
    [
      'with another key of the same beginning',
      {},
      { subscription: { ...moved(1, 'x'), p256dh: madeUpSubscription(1).p256dh.with(64, 9) } },
    ],
  ];
  for (const [whose, first, second] of others) {
    test(`a new endpoint does not replace a row ${whose}`, async () => {
      const known = await register(first);
      const stored = await register({ subscription: moved(1, 'x'), ...second });
      assert.deepEqual(await all(), [known, stored]);
    });
  }

  test('a new endpoint replaces none of several rows with its keys, and import and other code keep both', async () => {
    await store.subscriptions.putAll([
      { subscription: moved(1, 'a'), vapidPublicKey },
      { subscription: moved(1, 'b'), vapidPublicKey },
    ]);
    await store.subscriptions.put(moved(1, 'c'), vapidPublicKey);
    await register({ subscription: moved(1, 'd') });
    assert.equal(await store.subscriptions.count(), 4);
  });

  test('removing and signing out need the right auth', async () => {
    await register({ assign: ada });
    for (const wrong of [madeUpSubscription(2).auth, auth.subarray(0, 15), new Uint8Array()]) {
      assert.equal(await store.subscriptions.removeByEndpoint(endpoint, wrong), false);
      assert.equal(await store.people.signOut(endpoint, wrong), false);
    }
    assert.deepEqual(ownerOf(await read(1)), ada);
    assert.equal(await store.subscriptions.removeByEndpoint(endpoint, auth), true);
    assert.equal(await store.subscriptions.removeByEndpoint(endpoint, auth), false);
    assert.equal(await read(1), undefined);
  });
});
