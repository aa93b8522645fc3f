// What every store must do where its sending is paused.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import {
  addSubscriptions,
  commitNext,
  commitRows,
  madeUpBroadcast,
  madeUpSchedule,
  openForEachTest,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';

const origin = 'https://fcm.googleapis.com';
const firstAtMs = Date.UTC(2027, 0, 4, 8);
const leaseMs = 10_000;
const hourMs = 3_600_000;

describe(`a pause of sending: ${databaseName()}`, () => {
  let nowMs = firstAtMs;
  const store = openForEachTest(() => nowMs);
  beforeEach(async () => {
    nowMs = firstAtMs;
    await addSubscriptions(store, 3);
  });

  const create = async (startAtMs = nowMs): Promise<number> =>
    (await store.broadcasts.create(madeUpBroadcast(startAtMs))).broadcast.id;
  const stateOf = async (id: number) => (await store.broadcasts.find(id))?.state;
  const lease = () => store.webhooks.lease({ limit: 10, leaseMs });

  test('has broadcasts of before wait, those with rows to try again and those of later too', async () => {
    const retried = await create();
    await commitNext(store, withRetry(origin, nowMs, { delayMs: 1 }));
    const [later, cancelled] = [await create(nowMs + hourMs), await create()];
    await store.broadcasts.cancel(cancelled);
    const paused = await create();
    await store.broadcasts.pause(paused);
    const pause = await store.sending.pause('restored');
    assert.deepEqual(pause, { sinceMs: nowMs, reason: 'restored', broadcastIds: [retried, later] });
    assert.deepEqual(await store.sending.findPause(), pause);
    nowMs += 2 * hourMs;
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined);
    assert.equal(await store.leases.leaseRetries({ leaseMs, limit: 10 }), undefined);

    const asked = await create();
    assert.equal((await store.leases.leaseSlice({ leaseMs }))?.broadcast.id, asked, 'somebody asked for it');
    const again = await store.sending.pause('asked');
    assert.deepEqual(again, { ...pause, reason: 'asked', broadcastIds: [retried, later, asked] });

    assert.deepEqual(await store.sending.resume({ withBroadcasts: true }), [retried, later, asked]);
    assert.equal(await store.sending.findPause(), undefined);
    const states = await Promise.all([retried, later, asked, paused, cancelled].map(stateOf));
    assert.deepEqual(states, ['running', 'running', 'running', 'paused', 'cancelled']);
    assert.ok(await store.leases.leaseRetries({ leaseMs, limit: 10 }));
  });

  test('ends without the broadcasts, unless they are asked for', async () => {
    const id = await create();
    await store.sending.pause('restored');
    assert.deepEqual(await store.sending.resume({ withBroadcasts: false }), []);
    assert.equal(await store.sending.findPause(), undefined);
    assert.equal(await stateOf(id), 'paused');
    assert.deepEqual(await store.sending.resume({ withBroadcasts: true }), []);
    assert.equal(await stateOf(id), 'paused');
  });

  test('has messages outside broadcasts that are over wait, until sending is resumed in any way', async () => {
    const id = await create();
    await commitNext(store, withRetry(origin, nowMs, { delayMs: hourMs, isOutside: true }));
    assert.equal(await stateOf(id), 'done');
    const { broadcastIds } = await store.sending.pause('restored');
    assert.deepEqual(broadcastIds, [], 'it is over');
    nowMs += hourMs;
    assert.equal(await store.leases.leaseRetries({ leaseMs, limit: 10 }), undefined);
    assert.deepEqual(await store.sending.resume({ withBroadcasts: false }), []);
    const retries = await store.leases.leaseRetries({ leaseMs, limit: 10 });
    assert.equal(retries?.rows.length, 3);
    await commitRows(
      store,
      retries!,
      retries!.rows.map((row) => ({ ...withResult(origin, 'accepted')(row), wasOutside: true })),
    );
    nowMs += 1000;
    while (await store.retention.prune({ broadcastsBeforeMs: nowMs }));
    assert.equal(await stateOf(id), undefined, 'retention may delete it');
  });

  test('has schedules and webhook events wait', async () => {
    const { id } = await store.schedules.add(madeUpSchedule({ nextAtMs: nowMs }));
    await store.webhooks.watch();
    await create();
    await commitNext(store, withResult(origin, 'accepted'));
    await store.sending.pause('asked');
    assert.equal(await store.schedules.takeDue(leaseMs), undefined);
    assert.deepEqual(await lease(), []);
    assert.equal((await store.webhooks.backlog()).waiting, 1);
    await store.sending.resume({ withBroadcasts: false });
    assert.equal((await store.schedules.takeDue(leaseMs))?.id, id);
    assert.equal((await lease()).length, 1);
  });
});
