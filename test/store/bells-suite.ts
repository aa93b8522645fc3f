// Bells, whatever database is behind the store.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { bellSecretPattern, createBellSecret, hashBellSecret, keptRequests } from '../../src/store/bells.ts';
import { addSubscriptions, madeUpBroadcast, openForEachTest } from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';

const minuteMs = 60_000;
const startMs = 30_000_000 * minuteMs;
const encodeNothing = (): Uint8Array => Buffer.from('{}');

describe(`bells: ${databaseName()}`, () => {
  let nowMs = startMs;
  const store = openForEachTest(() => nowMs);
  beforeEach(() => (nowMs = startMs));
  const secretHash = hashBellSecret(createBellSecret());
  const settings = {
    channel: 'news',
    title: 'Ünits',
    url: '/a',
    urgency: 'high',
    textFrom: '/a~1b/0',
  } as const;
  const add = (bell: object = {}) =>
    store.bells.add({ name: 'alerts', audience: 'all', secretHash, ...bell });

  test('a secret is a topic of ntfy and a token of Gotify, and no two are the same', () => {
    const secrets = Array.from({ length: 100 }, createBellSecret);
    for (const secret of secrets) {
      assert.match(secret, bellSecretPattern);
      assert.equal(secret.length, 15);
    }
    assert.equal(new Set(secrets).size, 100);
  });

  test('a bell is found by its name and its secret, until it is removed', async () => {
    const audience = { user: 'ada', tags: { any: ['ops'] } };
    const added = await add({ ...settings, audience });
    const bell = { id: added.id, name: 'alerts', audience, ...settings, createdAtMs: nowMs };
    assert.deepEqual(added, { ...bell, lastRequestAtMs: undefined });
    assert.deepEqual(await store.bells.get('alerts'), added);
    assert.deepEqual(await store.bells.findBySecret(secretHash), added);
    assert.equal(await store.bells.findBySecret(hashBellSecret('other')), undefined);
    await assert.rejects(add({ secretHash: hashBellSecret('other') }), { code: 'ERR_BELL_EXISTS' });
    // the answer was lost
    assert.equal((await add()).id, added.id);
    const first = await add({ name: 'a', secretHash: hashBellSecret('a') });
    assert.deepEqual(pluck(await store.bells.list(), 'id'), [first.id, added.id]);
    assert.equal(await store.bells.remove('alerts'), true);
    assert.equal(await store.bells.remove('alerts'), false);
    assert.equal(await store.bells.findBySecret(secretHash), undefined);
    await assert.rejects(store.bells.get('alerts'), { code: 'ERR_BELL_NOT_FOUND' });
  });

  test('another secret replaces the former one', async () => {
    const { id } = await add();
    const other = hashBellSecret('other');
    await store.bells.rotate('alerts', other);
    assert.equal(await store.bells.findBySecret(secretHash), undefined);
    assert.equal((await store.bells.findBySecret(other))?.id, id);
    await assert.rejects(store.bells.rotate('none', secretHash), { code: 'ERR_BELL_NOT_FOUND' });
  });

  test('the last ten requests are kept, each bell has its own', async () => {
    const { id } = await add();
    const other = await add({ name: 'other', secretHash: hashBellSecret('other') });
    await store.bells.note(other.id, { tool: 'Text', outcome: 'nothing' });
    for (let index = 0; index <= keptRequests; index += 1) {
      nowMs += 1;
      await store.bells.note(id, { tool: `Tool ${index}`, outcome: 'rung', broadcastId: index });
    }
    const request = {
      tool: 'JSON',
      outcome: 'folded',
      leftOut: 'an icon',
      shape: '{"a":"number"}',
    } as const;
    await store.bells.note(id, request);
    const requests = await store.bells.requests(id);
    assert.equal(requests.length, keptRequests);
    assert.deepEqual(requests[0], { atMs: nowMs, broadcastId: undefined, ...request });
    assert.deepEqual(
      pluck(requests.slice(1), 'broadcastId'),
      Array.from({ length: keptRequests - 1 }, (_, index) => keptRequests - index),
    );
    assert.equal((await store.bells.get('alerts')).lastRequestAtMs, nowMs);
    assert.equal((await store.bells.requests(other.id)).length, 1);
    await store.bells.remove('alerts');
    await store.bells.note(id, request);
    assert.deepEqual(await store.bells.requests(id), []);
  });

  test('over the limit of a minute, requests are counted in one broadcast that is sent after it', async () => {
    const { id } = await add();
    const encode = ({ count, sinceMs }: { count: number; sinceMs: number }) =>
      Buffer.from(`{"title":"${count} since ${sinceMs - startMs}","message":""}`);
    const admit = () => store.bells.admit(id, 2, encode);
    const rings = 'rings';
    nowMs += 10_000;
    assert.deepEqual([await admit(), await admit()], [rings, rings]);
    nowMs += 1000;
    const startAtMs = startMs + minuteMs + 5000;
    const fold = { count: 1, sinceMs: nowMs };
    assert.deepEqual(await admit(), { ...fold, startAtMs });
    const draft = madeUpBroadcast(nowMs, { startAtMs, payload: encode(fold) });
    const { broadcast } = await store.broadcasts.create(draft);
    await store.bells.foldInto(id, broadcast.id, startAtMs, encode);
    const folded = broadcast.id;
    nowMs += 40_000;
    assert.deepEqual([await admit(), await admit()], [folded, folded]);
    const payload = async (broadcastId: number) =>
      Buffer.from((await store.broadcasts.get(broadcastId)).payload).toString();
    assert.match(await payload(broadcast.id), /"3 since 11000"/);

    // the next minute begins anew, and its broadcast goes on counting
    nowMs = startMs + minuteMs;
    assert.deepEqual([await admit(), await admit()], [rings, rings]);
    const next = { count: 4, sinceMs: startMs + 11_000 };
    const opens = { ...next, startAtMs: startAtMs + minuteMs };
    assert.deepEqual(await admit(), opens);
    assert.match(await payload(broadcast.id), /"3 since 11000"/);
    // the process ended before it was made
    assert.deepEqual(await admit(), { ...opens, count: 5 });

    // a minute without any ends the count
    nowMs += 2 * minuteMs;
    assert.deepEqual([await admit(), await admit()], [rings, rings]);
    assert.deepEqual(await admit(), { count: 1, sinceMs: nowMs, startAtMs: nowMs + minuteMs + 5000 });
    await store.bells.remove('alerts');
    assert.equal(await admit(), 'rings');
  });

  test('what counts is made anew if an operator has cancelled it', async () => {
    const { id } = await add();
    await addSubscriptions(store, 1);
    const startAtMs = startMs + minuteMs + 5000;
    const opens = { sinceMs: startMs, startAtMs };
    assert.deepEqual(await store.bells.admit(id, 0, encodeNothing), { ...opens, count: 1 });
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs, { startAtMs }));
    await store.bells.foldInto(id, broadcast.id, startAtMs, encodeNothing);
    assert.equal(await store.bells.admit(id, 0, encodeNothing), broadcast.id);
    await store.broadcasts.cancel(broadcast.id);
    assert.deepEqual(await store.bells.admit(id, 0, encodeNothing), { ...opens, count: 3 });
  });
});
