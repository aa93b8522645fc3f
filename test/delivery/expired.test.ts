// What is left of a broadcast when its time is over: workers take it as always, and send nothing of it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readAlarms } from '../../src/delivery/alarms/read-alarms.ts';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import { until } from '../../tools/until.ts';
import { madeUpBroadcast, openIds } from '../store/store-under-test.ts';
import { assertDone, message, openBroadcastBench, timesReceived } from './broadcast-bench.ts';

describe('a broadcast whose time is over', () => {
  for (const [name, isToAll] of [
    ['all', true],
    ['some', false],
  ] as const) {
    test(`to ${name} sends nothing more, and tells expired rows from those that were removed`, async () => {
      await using bench = await openBroadcastBench();
      const pushService = await bench.startPushService({ rows: 50 });
      const { store } = bench;
      const ids = Array.from({ length: 50 }, (_, index) => index + 1);
      const draft = madeUpBroadcast(Date.now() - 2 * 3_600_000, {
        audienceId: isToAll ? undefined : await openIds(store, ids),
      });
      const { broadcast } = await store.broadcasts.create(draft);
      for (const id of [1, 20, 21, 50]) await store.subscriptions.removeById(id);
      const run = await bench.createSender().resume(broadcast.id);
      const done = await run.finished;
      assertDone(done, { expired: 46, removed: 4 });
      const raised = done.alarms.map(({ origin, reason, rows }) => [origin, reason, rows]);
      assert.deepEqual(raised, [['', 'expired-unsent', 46]]);
      const { standing } = await readAlarms(store, async () => []);
      const alarm = standing.find(({ kind }) => kind === 'expired-unsent');
      assert.deepEqual([alarm?.count, alarm?.broadcastIds, alarm?.pushService], [46, [broadcast.id], '']);
      assert.match(
        `${alarm?.what} ${alarm?.remedy}`,
        /^Messages expired before any of their broadcast was sent\. .*clock/,
      );
      assert.equal(done.origins[0]?.expired, 46);
      assert.deepEqual(timesReceived(pushService), { 0: 50 });
    });
  }

  test('sends nothing again where the time of a message is over before it can be tried again', async () => {
    // by the store's clock alone, which is another one than this machine's
    const clock = { aheadMs: -3_600_000 };
    await using bench = await openBroadcastBench(() => Date.now() + clock.aheadMs);
    const pushService = await bench.startPushService({ rows: 2 });
    pushService.faults.inject({ kind: 'status', status: 503 });
    const sender = bench.createSender({ retryPolicy: defaultRetryPolicy });
    const { broadcast } = await sender.broadcast('all', message, { ttlSeconds: 60 });
    assert.ok(broadcast.startAtMs <= bench.store.now(), 'it begins at once');
    const waiting = async () => (await bench.store.broadcasts.get(broadcast.id)).waiting === 2;
    await until(waiting, 'two that are tried again');
    await sender.close();
    pushService.faults.clear();
    clock.aheadMs += 61_000;
    const run = await bench.createSender().resume(broadcast.id);
    const done = await run.finished;
    assertDone(done, { expired: 2 });
    assert.deepEqual(done.alarms, [], 'it was tried');
    assert.deepEqual(timesReceived(pushService), { 0: 2 });
  });
});
