// A process that is told a wrong time delivers as the others do: the store's time decides.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openAgain } from '../store/test-database.ts';
import { assertDone, message, openBroadcastBench, withSlices } from './broadcast-bench.ts';

const rows = 400;
const dayMs = 24 * 60 * 60 * 1000;

for (const days of [40, -40]) {
  test(`one of two workers that is ${days} days off expires nothing, and its tokens are accepted`, async () => {
    await using bench = await openBroadcastBench();
    await using opened = new AsyncDisposableStack();
    const pushService = await bench.startPushService({ tls: true, rows });
    // each gets some of the slices, as a rule
    const store = withSlices(await openAgain(bench.store), 50);
    opened.defer(() => store.close());
    const stop = new AbortController();
    opened.defer(async () => stop.abort());
    const wrong = bench.createSender({ store, now: () => Date.now() + days * dayMs });
    opened.defer(() => wrong.close());
    const right = bench.createSender();
    const faults: unknown[] = [];
    const schedule = await wrong.createSchedule('all', message, { cron: '0 0 1 1 *', ttlSeconds: 3600 });
    assert.ok(schedule.nextAtMs > Date.now() && schedule.nextAtMs < Date.now() + 367 * dayMs);
    // alone first, so that it sends some of them for certain
    const ids = Array.from({ length: 100 }, (_, index) => index + 1);
    const first = await wrong.broadcast({ ids }, message, { ttlSeconds: 3600 });
    assert.ok(Math.abs(first.broadcast.startAtMs - Date.now()) < 60_000);
    assertDone(await first.finished, { accepted: ids.length });
    const working = [wrong, right].map((sender) => sender.work(stop.signal, (fault) => faults.push(fault)));
    const { broadcast } = await wrong.createBroadcast('all', message, { ttlSeconds: 3600 });
    for (;;) {
      const now = await bench.store.broadcasts.find(broadcast.id);
      if (now?.state === 'done') {
        assertDone(now, { accepted: rows });
        break;
      }
      await sleep(20);
    }
    const single = await wrong.send([...pushService.createSinks(1)][0]!, message);
    assert.equal(single.outcome.kind, 'accepted');
    stop.abort();
    await Promise.all(working);
    assert.deepEqual(faults, []);
    assert.deepEqual(await bench.store.schedules.list(), [schedule], 'its time has not come');
  });
}
