// Which keys a service offers: as the database says at the time of the request, in one read for many requests.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { encodeBase64url } from '../../src/protocol/base64.ts';
import { createReadVapidKeys, type ReadVapidKeys } from '../../src/service/push/vapid-key.ts';
import type { Store } from '../../src/store/store.ts';
import { openTestStore, type OpenedStore } from '../store/test-database.ts';
import { newPoint } from './running-service.ts';

const [first, second] = [encodeBase64url(newPoint()), encodeBase64url(newPoint())];

describe('the keys of a service', () => {
  let opened: OpenedStore;
  let store: Store;
  let reads: number;
  /** Keys are being read. */
  let begun: PromiseWithResolvers<void>;
  let readKeys: ReadVapidKeys;

  beforeEach(async () => {
    opened = await openTestStore();
    store = opened.store;
    await store.vapidKeys.adopt(first);
    reads = 0;
    begun = Promise.withResolvers();
    const list: Store['vapidKeys']['list'] = () => {
      reads += 1;
      begun.resolve();
      return store.vapidKeys.list();
    };
    const given = { vapidPublicKey: first, previousVapidPublicKeys: [] };
    readKeys = createReadVapidKeys({ vapidKeys: { ...store.vapidKeys, list } }, given);
  });

  afterEach(() => opened.remove());

  test('are read once for the requests of one turn', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, readKeys));
    assert.equal(reads, 1);
    for (const { vapidPublicKey } of answers) assert.equal(vapidPublicKey, first);
  });

  test('are read again for a request that comes while they are being read', async () => {
    const earlier = readKeys();
    await begun.promise;
    const later = [readKeys(), readKeys()];
    await Promise.all([earlier, ...later]);
    assert.equal(reads, 2);
  });

  test('are the new ones as soon as they have changed', async () => {
    await readKeys();
    await store.vapidKeys.makeCurrent(second);
    const { vapidPublicKey, previousVapidPublicKeys } = await readKeys();
    assert.equal(vapidPublicKey, second);
    assert.deepEqual(previousVapidPublicKeys, [first]);
  });

  test('are without one that is retired, also where the service was given it', async () => {
    await store.vapidKeys.makeCurrent(second);
    const read = createReadVapidKeys(store, {
      vapidPublicKey: second,
      previousVapidPublicKeys: [first, 'K'],
    });
    assert.deepEqual((await read()).previousVapidPublicKeys, [first, first, 'K']);
    await store.vapidKeys.retire(first, { force: true });
    assert.deepEqual((await read()).previousVapidPublicKeys, ['K']);
  });

  test('fail for those who asked where they cannot be read, and are read for whoever asks next', async () => {
    let isAway = true;
    const list: Store['vapidKeys']['list'] = async () => {
      if (isAway) throw new Error('away');
      return store.vapidKeys.list();
    };
    const given = { vapidPublicKey: first, previousVapidPublicKeys: [] };
    const read = createReadVapidKeys({ vapidKeys: { ...store.vapidKeys, list } }, given);
    await Promise.all([assert.rejects(read(), /away/), assert.rejects(read(), /away/)]);
    isAway = false;
    assert.equal((await read()).vapidPublicKey, first);
  });
});
