// What every store must count over time: subscriptions by day and key, outcomes by push service.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import type { SingleAnswer } from '../../src/delivery/single/answer-log.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import { outcomeWidths } from '../../src/store/statistics.ts';
import { madeUpSubscription, noOutcomes, vapidPublicKey } from './made-up-subscription.ts';
import {
  commitNext,
  madeUpBroadcast,
  openForEachTest,
  recordAnswer,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';

const dayMs = 24 * 60 * 60 * 1000;
const midnightMs = Date.UTC(2027, 0, 15);
const fcm = 'fcm.googleapis.com';

describe(`statistics: ${databaseName()}`, () => {
  let nowMs = midnightMs;
  beforeEach(() => (nowMs = midnightMs));
  const store = openForEachTest(() => nowMs);

  const put = (index: number, key = vapidPublicKey) =>
    store.subscriptions.put(madeUpSubscription(index), key);

  const createBroadcast = async (): Promise<Broadcast> =>
    (await store.broadcasts.create(madeUpBroadcast(nowMs, { expiresAtMs: nowMs + dayMs, sliceRows: 1 })))
      .broadcast;

  const commitOne = (broadcastId: number, changes: Partial<RowResult> = {}) =>
    commitNext(store, withResult(`https://${fcm}`, 'accepted', changes), broadcastId);

  const none = { attempts: 0, ...noOutcomes };

  test('subscriptions are counted on the day they came; a renewal is no new one', async () => {
    await put(1);
    nowMs += dayMs - 1;
    await put(2);
    await put(1);
    nowMs += 1;
    await put(3);
    assert.deepEqual(await store.statistics.subscriptionDays(midnightMs), [
      { startMs: midnightMs, gained: 2, lost: 0 },
      { startMs: midnightMs + dayMs, gained: 1, lost: 0 },
    ]);
    assert.deepEqual(await store.statistics.subscriptionDays(midnightMs + dayMs), [
      { startMs: midnightMs + dayMs, gained: 1, lost: 0 },
    ]);
  });

  test('a subscription is lost once; losses are found by reason, push service, subscription and time, for 90 days', async () => {
    const rows = [await put(1), await put(2), await put(3)];
    await store.subscriptions.removeById(rows[0]!.id, 'ada');
    await store.subscriptions.removeById(rows[0]!.id);
    await store.subscriptions.removeById(rows[1]!.id);
    await recordAnswer(store, rows[2]!, 'gone', `https://${fcm}`);
    const days = await store.statistics.subscriptionDays(0);
    assert.equal(
      days.reduce((sum, { lost }) => sum + lost, 0),
      3,
    );
    const origins = [`https://${fcm}`];
    const [newest] = await store.losses.list({ reason: 'removed', origins, limit: 1 });
    assert.equal(newest?.subscriptionId, rows[1]!.id);
    const rest = await store.losses.list({ reason: 'removed', beforeId: newest.id, limit: 9 });
    assert.deepEqual(pluck(rest, 'subscriptionId', 'removedBy'), [[rows[0]!.id, 'ada']]);
    const [lost] = await store.losses.list({ subscriptionId: rows[2]!.id, limit: 9 });
    assert.equal(lost?.reason, 'gone');
    const since = { sinceMs: lost.atMs - dayMs, untilMs: lost.atMs + dayMs };
    assert.equal((await store.losses.list({ ...since, limit: 9 })).length, 3);
    for (const other of [
      { sinceMs: since.untilMs },
      { untilMs: since.sinceMs },
      { origins: ['https://fcm'] },
    ])
      assert.deepEqual(await store.losses.list({ ...other, limit: 9 }), []);
    assert.equal((await store.losses.countByDay()).length, 2);
    nowMs = Date.now() + 91 * dayMs;
    while (await store.retention.prune({}));
    assert.deepEqual(await store.losses.countByDay(), []);
  });

  test('outcomes are counted by push service and interval, all together and by broadcast', async () => {
    for (let index = 0; index < 4; index += 1) await put(index);
    const { id } = await createBroadcast();
    await commitOne(id);
    await commitOne(id, { origin: 'https://db5p.notify.windows.com', result: 'rejected' });
    nowMs += 999;
    await commitOne(id);
    nowMs += 10_001;
    await commitOne(id);

    const windows = 'notify.windows.com';
    const accepted = { ...none, attempts: 1, accepted: 1 };
    const two = { ...none, attempts: 2, accepted: 2 };
    const rejected = { ...none, attempts: 1, rejected: 1 };
    assert.deepEqual(await store.statistics.outcomesOf(id), [
      { startMs: midnightMs, widthMs: 1000, pushService: fcm, ...two },
      { startMs: midnightMs, widthMs: 1000, pushService: windows, ...rejected },
      { startMs: midnightMs + 11_000, widthMs: 1000, pushService: fcm, ...accepted },
    ]);
    const fine = { widthMs: 10_000 };
    assert.deepEqual(await store.statistics.outcomes({ width: 'fine', sinceMs: midnightMs }), [
      { startMs: midnightMs, ...fine, pushService: fcm, ...two },
      { startMs: midnightMs, ...fine, pushService: windows, ...rejected },
      { startMs: midnightMs + 10_000, ...fine, pushService: fcm, ...accepted },
    ]);
    assert.deepEqual(await store.statistics.outcomes({ width: 'coarse', sinceMs: midnightMs }), [
      { startMs: midnightMs, widthMs: 600_000, pushService: fcm, ...none, attempts: 3, accepted: 3 },
      { startMs: midnightMs, widthMs: 600_000, pushService: windows, ...rejected },
    ]);
  });

  test('the intervals of a broadcast grow with its age', async () => {
    for (let index = 0; index < 3; index += 1) await put(index);
    const { id } = await createBroadcast();
    for (const elapsedMs of [119_000, 125_000, 2 * 60 * 60 * 1000]) {
      nowMs = midnightMs + elapsedMs;
      await commitOne(id);
    }
    const intervals = await store.statistics.outcomesOf(id);
    assert.deepEqual(
      intervals.map(({ startMs, widthMs }) => [startMs - midnightMs, widthMs]),
      [
        [119_000, 1000],
        [120_000, 10_000],
        [7_200_000, 60_000],
      ],
    );
  });

  test('totals only grow: what the intervals drop stays in them', async () => {
    for (let index = 0; index < 3; index += 1) await put(index);
    assert.deepEqual(await store.statistics.outcomeTotals(), []);
    const { id } = await createBroadcast();
    await commitOne(id);
    await commitOne(id, { origin: 'https://db5p.notify.windows.com', result: 'gone' });
    nowMs += 2 * outcomeWidths.coarse.keptMs;
    await commitOne((await createBroadcast()).id);
    assert.equal((await store.statistics.outcomes({ width: 'coarse', sinceMs: 0 })).length, 1);
    assert.deepEqual(await store.statistics.outcomeTotals(), [
      { pushService: fcm, ...none, attempts: 2, accepted: 2 },
      { pushService: 'notify.windows.com', ...none, attempts: 1, gone: 1 },
    ]);
  });

  test('alarms of a paused broadcast stay in the backlog, its rows do not', async () => {
    for (let index = 0; index < 3; index += 1) await put(index);
    const { id } = await createBroadcast();
    await commitOne(id, { result: 'rejected', alarm: { reason: 'vapid-refused', detail: 'BadJwtToken' } });
    await commitNext(store, withRetry(`https://${fcm}`, nowMs, { delayMs: 1000 }), id);
    await store.broadcasts.pause(id);
    const { pendingRows, retryRows, alarms } = await store.statistics.backlog();
    assert.deepEqual([pendingRows, retryRows, alarms], [0, 0, [{ reason: 'vapid-refused', count: 1 }]]);
  });

  test('a single message is counted, and what is old is dropped', async () => {
    const told = (answer: SingleAnswer) =>
      recordAnswer(store, madeUpSubscription(1), answer, `https://${fcm}`);
    await told('accepted');
    nowMs += outcomeWidths.fine.keptMs + 1;
    await told('refused');
    assert.deepEqual(pluck(await store.statistics.outcomes({ width: 'fine', sinceMs: 0 }), 'rejected'), [1]);
    const coarse = await store.statistics.outcomes({ width: 'coarse', sinceMs: 0 });
    assert.deepEqual(pluck(coarse, 'accepted'), [1, 0]);
  });
});
