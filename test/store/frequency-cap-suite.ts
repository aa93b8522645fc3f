// What every store must do to keep a cap on how often one person is reached.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NewBroadcast } from '../../src/store/broadcasts.ts';
import type { SliceLease } from '../../src/store/leases.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import {
  commitNext,
  commitRows,
  commitSlices,
  leaseNext,
  madeUpBroadcast,
  openForEachTest,
  openList,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';

const origin = 'https://fcm.googleapis.com';
const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
const leaseMs = 10_000;

describe(`cap per person: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  const store = openForEachTest(() => nowMs);

  const put = async (index: number, user?: string): Promise<number> => {
    const assign = user === undefined ? undefined : { user };
    return (await store.subscriptions.put(madeUpSubscription(index), vapidPublicKey, { assign })).id;
  };

  const start = async (perPerson?: string, changes: Partial<NewBroadcast> = {}): Promise<number> =>
    (await store.broadcasts.create(madeUpBroadcast(nowMs, { perPerson, sliceRows: 2, ...changes }))).broadcast
      .id;

  const lease = (broadcastId: number) => leaseNext(store, broadcastId);

  const read = (slice: SliceLease) => store.ledger.readRows(slice, slice.cursor, 1000);

  /** Gives every row that may be sent the result, and what is capped that. @returns the counts that are not 0 */
  const settle = async (broadcastId: number, result: 'accepted' | 'rejected' = 'accepted') => {
    await commitSlices(store, broadcastId, (recipient) =>
      recipient.isCapped
        ? { recipient, origin, attempts: 0, result: 'capped' }
        : { recipient, origin, attempts: 1, result },
    );
    const broadcast = await store.broadcasts.find(broadcastId);
    assert.equal(broadcast?.state, 'done');
    return Object.fromEntries(Object.entries(broadcast.counts).filter(([, count]) => count > 0));
  };

  test('counts a person once per broadcast, with all devices, and those without a user by themselves', async () => {
    for (const index of [1, 2, 3, 4, 5]) await put(index, index > 3 ? undefined : 'ada');
    assert.equal((await store.broadcasts.find(await start('2/day')))?.perPerson, '2/day');
    assert.deepEqual(await settle(1), { accepted: 5 });
    const second = await start('2/day', { sliceRows: 100 });
    await put(6, 'ada');
    await put(7);
    assert.deepEqual(await settle(second), { accepted: 5 });
    assert.deepEqual(await settle(await start('2/day')), { accepted: 1, capped: 6 });
    assert.deepEqual(await settle(await start('3/day')), { accepted: 7 });
    const [interval] = await store.statistics.outcomesOf(3);
    assert.deepEqual([interval?.accepted, interval?.capped], [1, 6]);
    assert.equal((await store.statistics.outcomeTotals())[0]?.capped, 6);
    assert.equal((await store.broadcasts.find(3))?.origins[0]?.capped, 6);
  });

  test('looks back as long as it says, and at broadcasts with a cap only', async () => {
    await put(1, 'ada');
    assert.deepEqual(await settle(await start()), { accepted: 1 });
    assert.deepEqual(await settle(await start('1/hour')), { accepted: 1 });
    nowMs += hourMs - 1;
    assert.deepEqual(await settle(await start('1/hour')), { capped: 1 });
    assert.deepEqual(await settle(await start()), { accepted: 1 });
    nowMs += 1;
    assert.deepEqual(await settle(await start('1/day')), { capped: 1 });
    assert.deepEqual(await settle(await start('1/hour')), { accepted: 1 });
  });

  test('counts what may still be accepted as long as its broadcast runs, and what was not no longer', async () => {
    await put(1, 'ada');
    const [first, second] = [await start('1/day'), await start('1/day')];
    const slice = await lease(first);
    assert.ok(slice);
    const [row] = await read(slice);
    assert.equal(row?.isCapped, undefined);
    const [again] = await read(slice);
    assert.equal(again?.isCapped, undefined, 'its own reach does not count');
    assert.deepEqual(await settle(second), { capped: 1 });
    await store.leases.release(slice);
    assert.deepEqual(await settle(first, 'rejected'), { rejected: 1 });
    assert.deepEqual(await settle(await start('1/day')), { accepted: 1 });
  });

  test('counts from the first of the devices that accepts', async () => {
    for (const index of [1, 2]) await put(index, 'ada');
    const id = await start('1/hour', { sliceRows: 1 });
    for (const laterMs of [0, hourMs / 2]) {
      nowMs += laterMs;
      await commitNext(store, withResult(origin, 'accepted'), id);
    }
    assert.equal((await store.broadcasts.find(id))?.counts.accepted, 2);
    nowMs += hourMs / 2;
    assert.deepEqual(await settle(await start('1/hour')), { accepted: 2 });
  });

  test('counts what a broadcast that is paused may still send', async () => {
    await put(1, 'ada');
    const id = await start('1/day');
    const slice = await lease(id);
    await read(slice);
    await store.leases.release(slice);
    await store.broadcasts.pause(id);
    assert.deepEqual(await settle(await start('1/day')), { capped: 1 });
    await store.broadcasts.resume(id);
    assert.deepEqual(await settle(id), { accepted: 1 });
    nowMs += dayMs;
    const cancelled = await start('1/day');
    const given = await lease(cancelled);
    await read(given);
    await store.leases.release(given);
    await store.broadcasts.cancel(cancelled);
    assert.deepEqual(
      await settle(await start('1/day')),
      { accepted: 1 },
      'one that is cancelled sends nothing',
    );
  });

  test('holds where broadcasts reach the same persons at once', async () => {
    for (let index = 0; index < 400; index += 1) await put(index, `user ${index % 200}`);
    const slices: SliceLease[] = [];
    for (let broadcast = 1; broadcast <= 8; broadcast += 1) {
      await start('2/day', { sliceRows: 1000 });
      slices.push(await lease(broadcast));
    }
    // connections are there, so that all of them read at once
    await Promise.all(slices.map(({ broadcastId }) => store.broadcasts.find(broadcastId)));
    const pages = await Promise.all(slices.map(read));
    const mayBeSent = pages.flat().filter(({ isCapped }) => !isCapped);
    assert.deepEqual([pages.flat().length, mayBeSent.length], [3200, 800]);
  });

  test('is kept for a row that was tried again, from its acceptance on', async () => {
    await put(1, 'ada');
    const id = await start('1/hour', { expiresAtMs: nowMs + dayMs });
    const retry = { delayMs: 2 * hourMs, expiresAtMs: nowMs + dayMs };
    await commitNext(store, withRetry(origin, nowMs, retry), id);
    nowMs += 2 * hourMs;
    assert.deepEqual(await settle(await start('1/hour')), { capped: 1 });
    const due = await store.leases.leaseRetries({ leaseMs, limit: 10, broadcastId: id });
    assert.equal(due?.rows.length, 1);
    await commitRows(store, due, due.rows.map(withResult(origin, 'accepted')));
    nowMs += hourMs - 1;
    assert.deepEqual(await settle(await start('1/hour')), { capped: 1 });
  });

  const toList = async () => ({ audienceId: await openList(store, [1, 2, 3]) });

  test('finds persons in lists, and lets pass what is no stored subscription', async () => {
    await put(1, 'ada');
    await put(2, 'ada');
    const first = await start('1/day', { ...(await toList()), sliceRows: 10 });
    const slice = await lease(first);
    assert.equal((await read(slice)).length, 3);
    const passing = { accepted: 1, capped: 2 };
    assert.deepEqual(await settle(await start('1/day', await toList())), passing, 'while one runs');
    await store.leases.release(slice);
    assert.deepEqual(await settle(first), { accepted: 3 });
    assert.deepEqual(await settle(await start('1/day', await toList())), passing);
  });

  test('outlives its broadcasts, until retention takes it away or the person is removed', async () => {
    await put(1, 'ada');
    await put(2);
    const pruneAll = async (limits: object) => {
      while (await store.retention.prune(limits));
    };
    await settle(await start('1/week'));
    nowMs += dayMs;
    await pruneAll({ broadcastsBeforeMs: nowMs });
    assert.equal(await store.broadcasts.find(1), undefined);
    await pruneAll({ contactsBeforeMs: nowMs - dayMs });
    assert.deepEqual(await settle(await start('1/week')), { capped: 2 });
    await store.people.remove('ada');
    await put(3, 'ada');
    assert.deepEqual(await settle(await start('1/week')), { accepted: 1, capped: 1 });
    await pruneAll({ contactsBeforeMs: nowMs + 1 });
    assert.deepEqual(await settle(await start('1/week')), { accepted: 2 });
  });
});
