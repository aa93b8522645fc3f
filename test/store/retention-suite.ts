// What every store must do to keep what is over only as long as it is told.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RetentionLimits } from '../../src/store/retention.ts';
import type { Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import { madeUpSubscription } from './made-up-subscription.ts';
import {
  addSubscriptions,
  commitNext,
  commitSlices,
  madeUpBroadcast,
  openForEachTest,
  recordAnswer,
  withResult,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';

const origin = 'https://fcm.googleapis.com';
const dayMs = 24 * 60 * 60 * 1000;

const limitsBefore = (beforeMs: number): RetentionLimits => ({
  broadcastsBeforeMs: beforeMs,
  attemptsBeforeMs: beforeMs,
});

describe(`retention: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  const store = openForEachTest(() => nowMs);

  /** @returns how many steps it took */
  const pruneAll = async (limits: RetentionLimits): Promise<number> => {
    for (let steps = 0; ; steps += 1) if (!(await store.retention.prune(limits))) return steps;
  };

  /** Each row gets an attempt. */
  const rejected = (recipient: Recipient): RowResult =>
    withResult(origin, 'rejected', { record: { atMs: nowMs, attempt: 1, status: 400 } })(recipient);
  const finish = () => commitSlices(store, undefined, rejected);

  /** A broadcast that is done. */
  const deliver = async (changes: object = {}): Promise<number> => {
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs, changes));
    await finish();
    return broadcast.id;
  };

  const left = async () => {
    const broadcasts = await store.broadcasts.list({ limit: 100 });
    let attempts = 0;
    for (const { id: broadcastId } of broadcasts)
      attempts += (await store.attempts.list({ broadcastId, limit: 100_000 })).length;
    return { broadcasts: broadcasts.map(({ id }) => id), attempts };
  };

  test('deletes subscriptions that ended 30 days ago, though none ends after them', async () => {
    await addSubscriptions(store, 2);
    const end = (index: number) => recordAnswer(store, madeUpSubscription(index), 'gone', origin);
    await end(0);
    nowMs += 29 * dayMs;
    await end(1);
    const ended = async () => (await store.ended.list(10)).map(({ id }) => id);
    const [first, second] = await ended();
    const goneAtMs = (await store.ended.list(10)).map((one) => one.goneAtMs);
    assert.deepEqual(goneAtMs, [nowMs - 29 * dayMs, nowMs]);
    nowMs += dayMs;
    await pruneAll({});
    assert.deepEqual(await ended(), [first, second]);
    nowMs += 1;
    await pruneAll({});
    assert.deepEqual(await ended(), [second]);
  });

  test('deletes broadcasts that ended before, with their attempts, and keeps what runs however old it is', async () => {
    await addSubscriptions(store, 30);
    const old = await deliver({ idempotencyKey: 'old' });
    const running = (
      await store.broadcasts.create(madeUpBroadcast(nowMs, { expiresAtMs: nowMs + 900 * dayMs }))
    ).broadcast.id;
    const cancelled = (await store.broadcasts.create(madeUpBroadcast(nowMs))).broadcast.id;
    await store.broadcasts.cancel(cancelled);
    nowMs += 10 * dayMs;
    const paused = (await store.broadcasts.create(madeUpBroadcast(nowMs + dayMs))).broadcast.id;
    await store.broadcasts.pause(running);
    const recent = await deliver();
    await store.broadcasts.resume(running);

    assert.equal(await pruneAll({}), 0);
    assert.equal(await pruneAll({ broadcastsBeforeMs: nowMs - 11 * dayMs }), 0);
    assert.equal(await pruneAll({ broadcastsBeforeMs: nowMs - 9 * dayMs }), 2);
    assert.deepEqual(await left(), { broadcasts: [recent, paused, running], attempts: 30 });
    const again = await store.broadcasts.create(madeUpBroadcast(nowMs, { idempotencyKey: 'old' }));
    assert.ok(again.isNew && again.broadcast.id > old, 'its key is free, and its id is not used again');
  });

  test('counts from the end of a broadcast, not from its start', async () => {
    await addSubscriptions(store, 30);
    const id = (await store.broadcasts.create(madeUpBroadcast(nowMs, { expiresAtMs: nowMs + 100 * dayMs })))
      .broadcast.id;
    nowMs += 50 * dayMs;
    await finish();
    assert.equal(await pruneAll(limitsBefore(nowMs)), 0);
    assert.deepEqual(await left(), { broadcasts: [id], attempts: 30 });
    assert.ok((await pruneAll(limitsBefore(nowMs + 1))) > 0);
    assert.deepEqual(await left(), { broadcasts: [], attempts: 0 });
  });

  test('keeps a broadcast that is paused, with its attempts, long after its time is over', async () => {
    await addSubscriptions(store, 30);
    const { id } = (await store.broadcasts.create(madeUpBroadcast(nowMs))).broadcast;
    await commitNext(store, rejected);
    await store.broadcasts.pause(id);
    nowMs += 900 * dayMs;
    assert.equal(await pruneAll(limitsBefore(nowMs)), 0);
    assert.deepEqual(await left(), { broadcasts: [id], attempts: 10 });
  });

  test('deletes attempts by themselves, in steps', async () => {
    await addSubscriptions(store, 6000);
    const id = await deliver();
    nowMs += dayMs;
    assert.ok((await pruneAll({ attemptsBeforeMs: nowMs })) >= 2);
    assert.deepEqual(await left(), { broadcasts: [id], attempts: 0 });
    assert.equal((await store.broadcasts.find(id))?.counts.rejected, 6000);
    assert.equal((await store.attempts.countAnswers([id]))[0]?.rows, 6000, 'its answers stay counted');
  });

  test('leaves a broadcast as long as it is known who reported receipts of it, which is 30 days', async () => {
    await addSubscriptions(store, 1);
    const id = await deliver({ receiptActions: [] });
    nowMs += 30 * dayMs - 1;
    assert.equal(await pruneAll({ broadcastsBeforeMs: nowMs }), 0);
    nowMs += 1;
    assert.equal(await pruneAll({ broadcastsBeforeMs: nowMs }), 2, 'who reported, and the broadcast');
    assert.equal(await store.broadcasts.find(id), undefined);
  });

  test('deletes requests for single messages after a day, and webhook events after three', async () => {
    await store.webhooks.watch();
    await addSubscriptions(store, 1);
    await deliver();
    const startMs = nowMs;
    const begin = (byte: number) =>
      store.messageRequests.begin({
        key: 'order-7',
        contentHash: new Uint8Array(32).fill(byte),
        claim: `claim ${byte}`,
      });
    assert.equal(await begin(1), undefined);
    nowMs += dayMs;
    await pruneAll({});
    await assert.rejects(begin(2), { code: 'ERR_IDEMPOTENCY_KEY' });
    nowMs += 1;
    await pruneAll({});
    // asked by a clock that is behind: beginning itself deletes what is older
    nowMs = startMs;
    assert.equal(await begin(2), undefined);

    nowMs = startMs + 3 * dayMs;
    await pruneAll({});
    assert.equal((await store.webhooks.backlog()).waiting, 1, 'that the broadcast is done');
    nowMs += 1;
    await pruneAll({});
    assert.equal((await store.webhooks.backlog()).waiting, 0);
  });

  test('deletes audit records from before', async () => {
    await store.audit.begin({ operator: 'ann', action: 'broadcast.pause' });
    nowMs += 10 * dayMs;
    await store.audit.begin({ operator: 'bob', action: 'broadcast.resume' });
    await pruneAll({ ...limitsBefore(nowMs), auditBeforeMs: nowMs - 11 * dayMs });
    assert.equal((await store.audit.list({ limit: 10 })).length, 2, 'they have a time of their own');
    await pruneAll({ auditBeforeMs: nowMs });
    const records = await store.audit.list({ limit: 10 });
    assert.deepEqual(pluck(records, 'operator'), ['bob']);
  });

  test('gives room back to the disk', async () => {
    await addSubscriptions(store, 100);
    while (await store.retention.shrink());
    assert.equal(await store.retention.shrink(), false);
  });
});
