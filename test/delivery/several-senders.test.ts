// What several senders share: the time that a push service asks for, and the store’s clock.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Sender } from '../../src/delivery/sender.ts';
import type { PushService } from '../../src/push-service/index.ts';
import type { Store } from '../../src/store/store.ts';
import { until } from '../../tools/until.ts';
import { openAgain } from '../store/test-database.ts';
import {
  assertDone,
  message,
  openBroadcastBench,
  startWork,
  vapidKeys,
  withSlices,
  untilDone,
} from './broadcast-bench.ts';

const rows = 40;

describe('a push service that asks one sender to wait', () => {
  for (const status of [429, 503]) {
    test(`with ${status} is asked nothing by another one before the time`, async () => {
      await using bench = await openBroadcastBench({ rows });
      const requests = () => bench.pushService.faults.list()[0]?.hits;
      bench.pushService.faults.inject({ kind: 'status', status, retryAfter: 600 });
      await putOffAll(bench.createSender(), bench.store);
      const asked = requests();
      assert.ok(asked! <= rows, 'what was on its way before the first answer');
      const [state] = await bench.store.ledger.pushServices();
      assert.ok(state!.waitMs > 500_000 && state!.waitMs <= 600_000, `${state?.waitMs} ms`);

      const store = await openAgain(bench.store);
      await putOffAll(bench.createSender({ store }), bench.store);
      assert.equal(requests(), asked);
      await store.close();
    });
  }

  test('is asked nothing by single messages either, and the other way round', async () => {
    await using bench = await openBroadcastBench();
    const [first, second] = [await bench.startPushService({ rows: 1 }), await bench.startPushService()];
    first.faults.inject({ kind: 'status', status: 429, retryAfter: 600 });
    second.faults.inject({ kind: 'status', status: 410 });
    const [subscription] = await bench.store.subscriptions.page({ afterId: 0, limit: 1 });
    const single = bench.createSender();
    const send = () => single.send(subscription!, message);
    await Promise.all(Array.from({ length: rows }, send));
    await single.close();
    assert.ok((await bench.store.ledger.pushServices())[0]!.waitMs > 500_000);
    const asked = first.faults.list()[0]?.hits;
    await bench.subscribe(first, rows - 1);
    await putOffAll(bench.createSender(), bench.store);
    assert.equal(first.faults.list()[0]?.hits, asked, 'a broadcast waits');

    const sender = bench.createSender();
    const sendTo = (pushService: PushService) =>
      sender.send([...pushService.createSinks(1, { vapidPublicKey: vapidKeys.publicKey })][0]!, message);
    // with the first answer that is stored it learns what others were asked
    await sendTo(second);
    assert.equal((await sendTo(first)).response, undefined);
    assert.equal(first.faults.list()[0]?.hits, asked, 'a single message waits');
  });

  test('for a time that is over, or without saying so, does not hold up others', async () => {
    await using bench = await openBroadcastBench({ rows });
    const ignored = bench.pushService.faults.inject({ kind: 'status', status: 429 });
    await putOffAll(bench.createSender(), bench.store);
    bench.pushService.faults.cancel(ignored.id);
    assert.deepEqual(await bench.store.ledger.pushServices(), []);
    const store = await openAgain(bench.store);
    const run = await bench.createSender({ store }).broadcast('all', message);
    assert.equal((await run.finished).counts.accepted, rows);
    await store.close();
  });
});

/** Works on a broadcast to all until each of its rows is stored to be tried again. */
async function putOffAll(sender: Sender, store: Store): Promise<void> {
  const run = await sender.broadcast('all', message);
  const isPutOff = async () => (await store.broadcasts.find(run.broadcast.id))?.waiting === rows;
  await until(isPutOff, 'each row to be put off');
  await run.stop();
  await store.broadcasts.cancel(run.broadcast.id);
}

// A process that is told a wrong time delivers as the others do: the store's time decides.

const manyRows = 400;
const dayMs = 24 * 60 * 60 * 1000;

for (const days of [40, -40]) {
  test(`one of two workers that is ${days} days off expires nothing, and its tokens are accepted`, async () => {
    await using bench = await openBroadcastBench();
    await using opened = new AsyncDisposableStack();
    const pushService = await bench.startPushService({ tls: true, rows: manyRows });
    // each gets some of the slices, as a rule
    const store = withSlices(await openAgain(bench.store), 50);
    opened.defer(() => store.close());
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
    for (const sender of [wrong, right]) opened.defer(startWork(sender, (fault) => faults.push(fault)));
    const { broadcast } = await wrong.createBroadcast('all', message, { ttlSeconds: 3600 });
    assertDone(await untilDone(bench.store, broadcast.id), { accepted: manyRows });
    const single = await wrong.send([...pushService.createSinks(1)][0]!, message);
    assert.equal(single.outcome.kind, 'accepted');
    await opened.disposeAsync();
    assert.deepEqual(faults, []);
    assert.deepEqual(await bench.store.schedules.list(), [schedule], 'its time has not come');
  });
}
