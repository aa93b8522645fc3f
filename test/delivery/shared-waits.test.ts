// `Retry-After` is for the application server: what one sender was asked, all senders on the database keep.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Sender } from '../../src/delivery/sender.ts';
import type { PushService } from '../../src/push-service/index.ts';
import type { Store } from '../../src/store/store.ts';
import { openAgain } from '../store/test-database.ts';
import { message, openBroadcastBench, vapidKeys } from './broadcast-bench.ts';
import { until } from '../../tools/until.ts';

const rows = 40;

describe('a push service that asks one sender to wait', () => {
  for (const status of [429, 503]) {
    test(`with ${status} is asked nothing by another one before the time`, async () => {
      await using bench = await openBroadcastBench();
      const pushService = await bench.startPushService({ rows });
      const requests = () => pushService.faults.list()[0]?.hits;
      pushService.faults.inject({ kind: 'status', status, retryAfter: 600 });
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
    await using bench = await openBroadcastBench();
    const pushService = await bench.startPushService({ rows });
    const ignored = pushService.faults.inject({ kind: 'status', status: 429 });
    await putOffAll(bench.createSender(), bench.store);
    pushService.faults.cancel(ignored.id);
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
