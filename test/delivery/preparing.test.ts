// Broadcasts whose audience takes longer to be found than their creator waits.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createBroadcast } from '../../src/delivery/broadcast/create-broadcast.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { until } from '../../tools/until.ts';
import {
  assertDone,
  message,
  openBroadcastBench,
  timesReceived,
  type BroadcastBench,
} from './broadcast-bench.ts';

const audience = { tags: { all: ['news'] } };

/** A stage with five subscriptions, and a sender whose ranges of ids wait until `open` is called. */
async function setStage(bench: BroadcastBench) {
  const pushService = await bench.startPushService({ rows: 5 });
  const { broadcasts, people } = bench.store;
  for (const id of [1, 2, 3]) await people.assign(id, { tags: ['news'] });
  const gate = Promise.withResolvers<void>();
  const prepare: typeof broadcasts.prepare = async (...range) => {
    await gate.promise;
    return broadcasts.prepare(...range);
  };
  const sender = bench.createSender({ store: { ...bench.store, broadcasts: { ...broadcasts, prepare } } });
  return { pushService, sender, broadcasts, open: gate.resolve };
}

describe('a broadcast that is preparing', () => {
  test('is returned after two seconds, and delivered once its audience is complete', async () => {
    await using bench = await openBroadcastBench();
    const { pushService, sender, open } = await setStage(bench);
    const run = await sender.broadcast(audience, message, { idempotencyKey: 'once' });
    assert.equal(run.broadcast.state, 'preparing');
    assert.deepEqual(timesReceived(pushService), { 0: 5 });
    const again = await sender.createBroadcast(audience, message, { idempotencyKey: 'once' });
    assert.deepEqual(
      [again.isNew, again.broadcast.id, again.broadcast.state],
      [false, run.broadcast.id, 'preparing'],
    );
    open();
    assertDone(await run.finished, { accepted: 3 });
    assert.deepEqual(timesReceived(pushService), { 0: 2, 1: 3 });
  });

  test('whose process has ended is prepared and delivered by any that delivers', async () => {
    await using bench = await openBroadcastBench();
    const { pushService, broadcasts } = await setStage(bench);
    const { broadcast } = await createBroadcast(bench.store, createEndpointPolicy(), audience, message, {});
    assert.equal(broadcast.state, 'preparing');
    const stop = new AbortController();
    const working = bench.createSender().work(stop.signal);
    await until(
      async () => (await broadcasts.get(broadcast.id)).state === 'done',
      'the end of the broadcast',
    );
    stop.abort();
    await working;
    assert.deepEqual(timesReceived(pushService), { 0: 2, 1: 3 });
  });

  test('that is cancelled reaches nobody', async () => {
    await using bench = await openBroadcastBench();
    const { pushService, sender, broadcasts, open } = await setStage(bench);
    const run = await sender.broadcast(audience, message);
    await broadcasts.cancel(run.broadcast.id);
    open();
    assert.equal((await run.finished).state, 'cancelled');
    assert.deepEqual(timesReceived(pushService), { 0: 5 });
  });
});
