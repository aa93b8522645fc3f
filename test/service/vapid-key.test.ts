// The key that a registration was made with: named by the client in Deskbell-Vapid-Key, stored with the row.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { encodeBase64url } from '../../src/protocol/bytes.ts';
import { createReadVapidKeys, type ReadVapidKeys } from '../../src/service/push/vapid-key.ts';
import type { Store } from '../../src/store/store.ts';
import { type OpenedStore, openTestStore } from '../store/test-database.ts';
import {
  assertProblem,
  newPoint,
  newSubscription,
  type RunningService,
  sendJson,
  startService,
  startServiceForSuite,
  vapidPublicKey,
} from './running-service.ts';

const previous = [encodeBase64url(newPoint()), encodeBase64url(newPoint())];

describe('POST /webPush', () => {
  const service = startServiceForSuite({ previousVapidPublicKeys: previous });

  for (const [what, headers, expected] of [
    ['the current key where the client names none', {}, vapidPublicKey],
    ['the current key where the client names it', { 'deskbell-vapid-key': vapidPublicKey }, vapidPublicKey],
    ['a previous key where the client names it', { 'deskbell-vapid-key': previous[1]! }, previous[1]],
    ['a key that is named with padding', { 'deskbell-vapid-key': `${previous[0]}=` }, previous[0]],
  ] as const) {
    test(`stores ${what}`, async () => {
      const subscription = newSubscription();
      const response = await sendJson(service.base, 'POST', '/webPush', subscription, headers);
      assert.equal(response.status, 200);
      const stored = await service.store.subscriptions.findByEndpoint(subscription.endpoint);
      assert.equal(stored?.vapidPublicKey, expected);
    });
  }

  for (const [what, key] of [
    ['another key', encodeBase64url(newPoint())],
    ['no key', 'x'],
    ['an empty one', ''],
    ['two keys', `${vapidPublicKey}, ${previous[0]}`],
  ] as const) {
    test(`answers 409 with the current key to ${what}, and stores and writes nothing`, async () => {
      const subscription = newSubscription();
      const written = service.records.length;
      const response = await sendJson(service.base, 'POST', '/webPush', subscription, {
        'deskbell-vapid-key': key,
      });
      const problem = await assertProblem(response, 409, 'ERR_VAPID_KEY_UNKNOWN');
      assert.equal(problem.vapidPublicKey, vapidPublicKey);
      assert.equal(await service.store.subscriptions.findByEndpoint(subscription.endpoint), undefined);
      const events = service.records.slice(written).filter(({ event }) => event === 'subscription');
      assert.deepEqual(events, []);
    });
  }

  test('names the key of a row anew when its browser subscribes anew', async () => {
    const subscription = newSubscription();
    for (const key of [previous[0]!, vapidPublicKey]) {
      await sendJson(service.base, 'POST', '/webPush', subscription, { 'deskbell-vapid-key': key });
      const stored = await service.store.subscriptions.findByEndpoint(subscription.endpoint);
      assert.equal(stored?.vapidPublicKey, key);
    }
  });
});

describe('a service whose key the store knows', () => {
  const [next] = previous as [string, string];
  const ofOption = encodeBase64url(newPoint());
  let service: RunningService;

  beforeEach(async () => {
    service = await startService({ previousVapidPublicKeys: [ofOption] });
    await service.store.vapidKeys.adopt(vapidPublicKey);
  });
  afterEach(() => service.close());

  const askForKey = (etag = ''): Promise<Response> =>
    fetch(`${service.base}/vapidKey`, { headers: { 'if-none-match': etag } });
  const register = (key: string): Promise<Response> =>
    sendJson(service.base, 'POST', '/webPush', newSubscription(), { 'deskbell-vapid-key': key });

  test('offers another key from the moment on in which it is current, and not while it is next', async () => {
    const etag = (await askForKey()).headers.get('etag') ?? '';
    await service.store.vapidKeys.prepare(next);
    assert.equal((await askForKey(etag)).status, 304);
    assert.equal((await register(next)).status, 409);

    await service.store.vapidKeys.makeCurrent(next);
    const changed = await askForKey(etag);
    assert.equal(changed.status, 200);
    assert.equal(await changed.json(), next);
    for (const key of [next, vapidPublicKey, ofOption]) assert.equal((await register(key)).status, 200);
    const subscription = newSubscription();
    await sendJson(service.base, 'POST', '/webPush', subscription);
    const stored = await service.store.subscriptions.findByEndpoint(subscription.endpoint);
    assert.equal(stored?.vapidPublicKey, next, 'where the client names none');
  });

  test('takes and offers no key that is retired, not those of its own options either', async () => {
    for (const key of [ofOption, next]) await service.store.vapidKeys.makeCurrent(key);
    for (const key of [vapidPublicKey, ofOption]) {
      await service.store.vapidKeys.retire(key, { force: true });
      const problem = await assertProblem(register(key), 409, 'ERR_VAPID_KEY_UNKNOWN');
      assert.equal(problem.vapidPublicKey, next);
    }
    assert.equal(await (await askForKey()).json(), next);
  });
});

describe('a service whose key the store does not know', () => {
  test('offers it whatever key is current in the store', async (t) => {
    const service = await startService({}, t);
    await service.store.vapidKeys.adopt(previous[0]!);
    assert.equal(await (await fetch(`${service.base}/vapidKey`)).json(), vapidPublicKey);
  });
});

describe('the service', () => {
  for (const [name, value] of [
    ['previousVapidPublicKeys', vapidPublicKey],
    ['pushServices', 'https://push.example.org'],
    ['logging', 'filter'],
    ['logging', ['filters']],
    ['authenticate', ['getWithArgs']],
    ['authenticate', 'some'],
    ['sessionKey', new Uint8Array(31)],
  ] as const) {
    test(`is not made where ${name} is ${JSON.stringify(value)?.slice(0, 40)}, which it says`, async () => {
      await assert.rejects(startService({ [name]: value }), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'ERR_CONFIGURATION');
        assert.ok(error.message.includes(name), error.message);
        return true;
      });
    });
  }
});

// Which keys a service offers: as the database says at the time of the request, in one read for many requests.

const first = encodeBase64url(newPoint());

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
    for (const { vapidPublicKey: current } of answers) assert.equal(current, first);
  });

  test('are read again for a request that comes while they are being read', async () => {
    const earlier = readKeys();
    await begun.promise;
    const later = [readKeys(), readKeys()];
    await Promise.all([earlier, ...later]);
    assert.equal(reads, 2);
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
