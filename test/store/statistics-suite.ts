// What every store must count over time: subscriptions by day and key, outcomes by push service.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import type { SingleAnswer } from '../../src/delivery/single/answer-log.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import { outcomeWidths } from '../../src/store/statistics.ts';
import {
  madeUpSubscription,
  noOutcomes,
  otherVapidPublicKey,
  vapidPublicKey,
} from './made-up-subscription.ts';
import {
  commitSlice,
  madeUpBroadcast,
  openForEachTest,
  recordAnswer,
  type StoreUnderTest,
  withResult,
} from './store-under-test.ts';

const leaseMs = 10_000;
const dayMs = 24 * 60 * 60 * 1000;
const midnightMs = Date.UTC(2027, 0, 15);
const fcm = 'fcm.googleapis.com';

export function describeStatistics(name: string, prepare: () => Promise<StoreUnderTest>): void {
  describe(`statistics: ${name}`, () => {
    let nowMs = midnightMs;
    beforeEach(() => (nowMs = midnightMs));
    const store = openForEachTest(prepare, () => nowMs);

    const put = (index: number, key = vapidPublicKey) =>
      store.subscriptions.put(madeUpSubscription(index), key);

    const createBroadcast = async (): Promise<Broadcast> =>
      (await store.broadcasts.create(madeUpBroadcast(nowMs, { expiresAtMs: nowMs + dayMs, sliceRows: 1 })))
        .broadcast;

    /** Commits the next row of the broadcast. */
    const commitNext = async (broadcastId: number, changes: Partial<RowResult> = {}) => {
      const slice = await store.leases.leaseSlice({ leaseMs, broadcastId });
      assert.ok(slice);
      const origin = `https://${fcm}`;
      await commitSlice(store, slice, withResult(origin, 'accepted', changes), leaseMs);
    };

    const none = {
      attempts: 0,
      ...noOutcomes,
    };

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

    test('a subscription is lost once, however it leaves, and it is said why and by whom', async () => {
      const rows = [await put(1), await put(2), await put(3), await put(4)];
      await store.subscriptions.removeById(rows[0]!.id, 'ada');
      await store.subscriptions.removeById(rows[0]!.id);
      await store.subscriptions.removeByEndpoint(rows[1]!.endpoint, rows[1]!.auth);
      const subscription = rows[2]!;
      await recordAnswer(store, subscription, 'gone', `https://${fcm}`);
      const days = await store.statistics.subscriptionDays(0);
      assert.equal(
        days.reduce((sum, { lost }) => sum + lost, 0),
        3,
      );
      assert.equal(await store.subscriptions.count(), 1);
      await store.people.assign(rows[3]!.id, { user: 'bob' });
      const former = rows[3]!;
      const again = { subscription: madeUpSubscription(5), vapidPublicKey };
      await store.subscriptions.register({ ...again, former, replacesFormer: true });
      await store.people.remove('bob', 'eve');
      const origin = `https://${fcm}`;
      const listed = await store.losses.list({ limit: 9 });
      assert.deepEqual(
        listed.map(({ subscriptionId, reason, removedBy, origin: from }) => [
          subscriptionId,
          reason,
          removedBy,
          from,
        ]),
        [
          [undefined, 'removed', 'eve', origin],
          [former.id, 'replaced', undefined, origin],
          [rows[2]!.id, 'gone', undefined, origin],
          [rows[1]!.id, 'unsubscribed', undefined, origin],
          [rows[0]!.id, 'removed', 'ada', origin],
        ],
      );
      const [newest] = await store.losses.list({ reason: 'removed', origins: [origin], limit: 1 });
      const rest = await store.losses.list({ reason: 'removed', beforeId: newest!.id, limit: 9 });
      assert.equal(rest.length, 1);
      const [lost] = await store.losses.list({ subscriptionId: former.id, limit: 9 });
      assert.equal(lost?.reason, 'replaced');
      const since = { sinceMs: lost.atMs - dayMs, untilMs: lost.atMs + dayMs };
      assert.equal((await store.losses.list({ ...since, limit: 9 })).length, 5);
      for (const other of [
        { sinceMs: since.untilMs },
        { untilMs: since.sinceMs },
        { origins: ['https://fcm'] },
      ])
        assert.deepEqual(await store.losses.list({ ...other, limit: 9 }), []);
      const counts = await store.losses.countByDay();
      assert.deepEqual(counts.map(({ reason, subscriptions }) => [reason, subscriptions]).toSorted(), [
        ['gone', 1],
        ['removed', 2],
        ['replaced', 1],
        ['unsubscribed', 1],
      ]);
      nowMs = Date.now() + 91 * dayMs;
      while (await store.retention.prune({}));
      assert.deepEqual(await store.losses.countByDay(), []);
    });

    test('a subscription that changes its key is counted with the new one', async () => {
      await put(1);
      await put(2);
      await put(2, otherVapidPublicKey);
      assert.deepEqual(
        await store.vapidKeys.countSubscriptions(),
        new Map([
          [vapidPublicKey, 1],
          [otherVapidPublicKey, 1],
        ]),
      );
      assert.equal(await store.subscriptions.count(), 2);
    });

    test('outcomes are counted by push service and interval, all together and by broadcast', async () => {
      for (let index = 0; index < 4; index += 1) await put(index);
      const { id } = await createBroadcast();
      await commitNext(id);
      await commitNext(id, { origin: 'https://db5p.notify.windows.com', result: 'rejected' });
      nowMs += 999;
      await commitNext(id);
      nowMs += 10_001;
      await commitNext(id);

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
        await commitNext(id);
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
      await commitNext(id);
      await commitNext(id, { origin: 'https://db5p.notify.windows.com', result: 'gone' });
      nowMs += 2 * outcomeWidths.coarse.keptMs;
      await commitNext((await createBroadcast()).id);
      assert.equal((await store.statistics.outcomes({ width: 'coarse', sinceMs: 0 })).length, 1);
      assert.deepEqual(await store.statistics.outcomeTotals(), [
        { pushService: fcm, ...none, attempts: 2, accepted: 2 },
        { pushService: 'notify.windows.com', ...none, attempts: 1, gone: 1 },
      ]);
    });

    test('the backlog is what running broadcasts have left; alarms of paused ones stay in it', async () => {
      for (let index = 0; index < 4; index += 1) await put(index);
      const empty = {
        pendingRows: 0,
        sendableRows: 0,
        retryRows: 0,
        deferredRows: 0,
        suspendedRows: 0,
        alarms: [],
      };
      assert.deepEqual(await store.statistics.backlog(), empty);
      const { id } = await createBroadcast();
      assert.deepEqual(await store.statistics.backlog(), { ...empty, pendingRows: 4, sendableRows: 4 });
      await commitNext(id);
      const retry = { delayMs: 1000, attempts: 1, deferrals: 0, expiresAtMs: nowMs + dayMs };
      await commitNext(id, { result: 'retry', retry });
      const alarm = { reason: 'vapid-refused', detail: 'BadJwtToken' };
      await commitNext(id, { result: 'rejected', alarm });
      const alarms = [{ reason: 'vapid-refused', count: 1 }];
      assert.deepEqual(await store.statistics.backlog(), {
        ...empty,
        pendingRows: 2,
        sendableRows: 1,
        retryRows: 1,
        alarms,
      });
      // put off without having been tried, then tried
      const putOff = { delayMs: 0, attempts: 0, deferrals: 1, expiresAtMs: nowMs + dayMs };
      await commitNext(id, { result: 'retry', attempts: 0, retry: putOff });
      assert.deepEqual(await store.statistics.backlog(), {
        ...empty,
        pendingRows: 2,
        retryRows: 1,
        deferredRows: 1,
        alarms,
      });
      const { waiting, toRetry } = await store.broadcasts.get(id);
      assert.deepEqual([waiting, toRetry], [2, 1]);
      const leased = await store.leases.leaseRetries({ leaseMs: 10_000, broadcastId: id, limit: 10 });
      assert.equal(leased?.rows.length, 1);
      await store.ledger.commit({
        broadcastId: id,
        fenceToken: leased.fenceToken,
        rows: leased.rows.map(withResult(`https://${fcm}`, 'retry', { retry })),
        leaseMs: 10_000,
      });
      assert.deepEqual(await store.statistics.backlog(), { ...empty, pendingRows: 2, retryRows: 2, alarms });
      assert.equal((await store.broadcasts.get(id)).toRetry, 2);
      await store.broadcasts.pause(id);
      assert.deepEqual(await store.statistics.backlog(), { ...empty, alarms });
      await store.broadcasts.cancel(id);
      await store.broadcasts.create(madeUpBroadcast(nowMs + dayMs));
      assert.deepEqual(await store.statistics.backlog(), empty, 'what is scheduled is no backlog');
    });

    test('a single message is counted, and what is old is dropped', async () => {
      const told = (answer: SingleAnswer) =>
        recordAnswer(store, madeUpSubscription(1), answer, `https://${fcm}`);
      await told('accepted');
      nowMs += outcomeWidths.fine.keptMs + 1;
      await told('refused');
      assert.deepEqual(
        (await store.statistics.outcomes({ width: 'fine', sinceMs: 0 })).map(({ rejected }) => rejected),
        [1],
      );
      const coarse = await store.statistics.outcomes({ width: 'coarse', sinceMs: 0 });
      assert.deepEqual(
        coarse.map(({ accepted }) => accepted),
        [1, 0],
      );
    });
  });
}
