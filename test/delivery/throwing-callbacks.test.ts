// Callbacks of a sender that throw: everybody gets the message once, and nobody waits in vain.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SenderOptions } from '../../src/delivery/sender.ts';
import { until, within } from '../../tools/until.ts';
import { assertDone, message, openBroadcastBench, timesReceived } from './broadcast-bench.ts';

const rows = 200;
const hourMs = 3_600_000;

describe('a function that throws disturbs no sending:', () => {
  let calls = 0;
  const fail = () => {
    calls += 1;
    throw new Error('the application has a fault');
  };
  const options: Readonly<Record<string, Partial<SenderOptions>>> = {
    onWarning: { onWarning: fail },
    onFigures: { onFigures: fail },
    messageLog: { messageLog: { of: 'all', write: fail } },
  };
  for (const [name, given] of Object.entries(options)) {
    test(name, async () => {
      calls = 0;
      // a clock that differs from that of push services is a warning
      await using bench = await openBroadcastBench(() => Date.now() + hourMs);
      const pushService = await bench.startPushService({ rows, tls: true });
      const sender = bench.createSender(given);
      const { finished } = await sender.broadcast('all', message);
      assertDone(await within(finished, 'the end of the broadcast'), { accepted: rows });
      assert.deepEqual(timesReceived(pushService), { 1: rows });
      const [subscription] = await bench.store.subscriptions.page({ afterId: 0, limit: 1 });
      const { outcome } = await within(sender.send(subscription!, message), 'a single message');
      assert.equal(outcome.kind, 'accepted');
      assert.ok(calls > 0, 'it was called');
    });
  }

  test('onFault of work()', async () => {
    calls = 0;
    await using bench = await openBroadcastBench();
    const pushService = await bench.startPushService({ rows });
    const { leaseSlice } = bench.store.leases;
    Object.assign(bench.store.leases, {
      leaseSlice: (...words: Parameters<typeof leaseSlice>) => {
        if (calls === 0) throw new Error('the store has a fault');
        return leaseSlice(...words);
      },
    });
    const sender = bench.createSender();
    const stop = new AbortController();
    const { broadcast } = await sender.createBroadcast('all', message);
    const working = sender.work(stop.signal, fail);
    const isDone = async () => (await bench.store.broadcasts.get(broadcast.id)).state === 'done';
    await Promise.race([working, until(isDone, 'the end of the broadcast')]);
    stop.abort();
    await working;
    assert.deepEqual(timesReceived(pushService), { 1: rows });
    assert.equal(calls, 1);
  });
});
