// What else happens while a push service makes trouble: people subscribe anew or leave, operators pause and cancel,
// several workers share the work.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';

import { createUserAgent, type Fault } from '../../src/push-service/index.ts';
import {
  checkSums,
  fastRetries,
  message,
  openStage,
  protocols,
  vapidKeys,
  type Protocol,
  type Sink,
  type Witness,
} from './fault-stage.ts';

/** As many again, made by the same push service: other keys for the same endpoints. */
function renew(witness: Witness, sinks: readonly Sink[]): Sink[] {
  return witness.sinks(sinks.length).map((fresh, index) => {
    const { endpoint, name } = sinks[index] ?? fresh;
    return { ...fresh, endpoint, name };
  });
}

/** A push service with faults that leave nothing in doubt, and so many rows that a worker takes a while. */
async function openTroubled(t: TestContext, protocol: Protocol, sinkCount: number) {
  const stage = await openStage(t, protocol);
  const [witness] = stage.witnesses;
  assert.ok(witness);
  await stage.enroll([...witness.service.createSinks(sinkCount)]);
  const faults: readonly Fault[] = [
    { kind: 'delay', ms: 10 },
    { kind: 'goaway', afterStreams: 100 },
    { kind: 'status', status: 503, share: 0.05 },
    { kind: 'status', status: 429, share: 0.01 },
    ...(protocol === 'HTTP/2' ? [{ kind: 'reset-stream', share: 0.02 } as const] : []),
  ];
  for (const fault of faults) witness.faults.inject(fault);
  return { stage, witness };
}

const count = 1500;

describe('meanwhile', { concurrency: 6 }, () => {
  for (const protocol of protocols) {
    for (const status of [404, 410]) {
      test(`who subscribes anew while a ${status} is on its way, over ${protocol}, stays subscribed`, async (t) => {
        const stage = await openStage(t, protocol);
        const [witness] = stage.witnesses;
        assert.ok(witness);
        const leaving = witness.sinks(20);
        const renewing = witness.sinks(20);
        await stage.enroll([...leaving, ...renewing, ...witness.sinks(60)]);
        for (const { endpoint } of [...leaving, ...renewing]) {
          witness.faults.inject({ kind: 'status', status, endpoint });
        }
        const run = await stage.sender().broadcast('all', message);
        await witness.until(() => witness.seen.length > 0);
        witness.gate.holdAnswers();
        const refused = () => witness.seen.filter(({ what }) => what === 'status').length;
        await witness.until(() => refused() === 40);
        const renewed = await stage.enroll(renew(witness, renewing));
        witness.gate.releaseAnswers();

        const broadcast = await run.finished;
        checkSums(broadcast);
        assert.equal(broadcast.counts.gone, 40);
        const kept = await stage.stored();
        assert.equal(kept.length, 80);
        for (const { endpoint } of leaving) assert.ok(!kept.some((row) => row.endpoint === endpoint));
        for (const row of renewed) {
          assert.deepEqual(
            kept.find(({ id }) => id === row.id),
            row,
          );
        }
      });
    }
  }

  test('who subscribes anew while a retry waits gets it with the new keys', async (t) => {
    const stage = await openStage(t, 'HTTP/1.1');
    const [witness] = stage.witnesses;
    assert.ok(witness);
    await using userAgent = await createUserAgent({ webSocketUrl: witness.service.webSocketUrl });
    const subscription = await userAgent.subscribe(vapidKeys.publicKey);
    const [stranger] = witness.sinks(1);
    const { endpoint } = subscription;
    await stage.enroll([{ ...subscription, p256dh: stranger?.p256dh ?? '', auth: stranger?.auth ?? '' }]);
    witness.faults.inject({ kind: 'status', status: 503, endpoint });
    const retryPolicy = { ...fastRetries, maxAttempts: 100 };
    const run = await stage.sender({ retryPolicy }).broadcast('all', message);
    await witness.until(() => witness.seen.length > 0);
    await stage.enroll([subscription]);
    // the next request may be on its way already
    const refusals = witness.seen.length + 2;
    await witness.until(() => witness.seen.length >= refusals);
    witness.faults.clear();
    // what was encrypted for other keys could not be read, and would be thrown here
    const received = await userAgent.nextMessage();
    assert.deepEqual(received.json(), message);
    assert.equal((await run.finished).counts.accepted, 1);
  });

  test('who unsubscribes while retries wait is not written to any more, and counted as removed', async (t) => {
    const stage = await openStage(t, 'HTTP/2');
    const [witness] = stage.witnesses;
    assert.ok(witness);
    const sinks = witness.sinks(5);
    const rows = await stage.enroll(sinks.flatMap((sink) => [sink, ...witness.sinks(9)]));
    for (const { endpoint } of sinks) {
      witness.faults.inject({ kind: 'status', status: 503, retryAfter: 3, endpoint });
    }
    const run = await stage.sender().broadcast('all', message);
    await witness.until(() => sinks.every((sink) => witness.seenOf(sink).length > 0));
    for (const [index] of sinks.entries())
      await stage.store.subscriptions.removeById(rows[10 * index]?.id ?? 0);
    const broadcast = await run.finished;
    checkSums(broadcast);
    assert.deepEqual([broadcast.counts.accepted, broadcast.counts.removed], [45, 5]);
    assert.deepEqual(new Set(sinks.map((sink) => witness.seenOf(sink).length)), new Set([1]));
  });

  for (const protocol of protocols) {
    test(`a broadcast over ${protocol} that is paused among faults and resumed by another sender loses and repeats nothing`, async (t) => {
      const { stage, witness } = await openTroubled(t, protocol, count);
      const run = await stage.sender().broadcast('all', message);
      const { id } = run.broadcast;
      for (const share of [0.2, 0.4, 0.6]) {
        const current = share === 0.2 ? run : await stage.sender().resume(id);
        await witness.until(() => witness.accepted >= share * count);
        if (share === 0.4) await current.stop();
        else await stage.store.broadcasts.pause(id);
        const paused = await current.finished;
        checkSums(paused);
        assert.equal(paused.state, share === 0.4 ? 'running' : 'paused');
        assert.equal(paused.counts.accepted, witness.accepted, 'what was in flight is counted');
        assert.ok(paused.counts.pending > 0);
      }
      const last = await (await stage.sender().resume(id)).finished;
      checkSums(last);
      assert.equal(last.counts.accepted, count);
      assert.deepEqual(witness.service.tallySinks()[0]?.sinksByMessages, { 1: count });
    });
  }

  test('a broadcast that is cancelled among faults sends nothing more, and its counts add up', async (t) => {
    const { stage, witness } = await openTroubled(t, 'HTTP/2', count);
    const run = await stage.sender().broadcast('all', message);
    await witness.until(() => witness.accepted >= 0.3 * count);
    await stage.store.broadcasts.cancel(run.broadcast.id);
    const broadcast = await run.finished;
    const requests = witness.seen.length;
    checkSums(broadcast);
    assert.equal(broadcast.state, 'cancelled');
    assert.equal(broadcast.counts.pending, 0);
    assert.ok(broadcast.counts.cancelled > 0);
    assert.equal(broadcast.counts.accepted, witness.accepted);
    assert.equal((await (await stage.sender().resume(run.broadcast.id)).finished).state, 'cancelled');
    assert.equal(witness.seen.length, requests);
  });

  test('two senders share a broadcast among faults: nobody is missed and nobody gets it twice', async (t) => {
    const { stage, witness } = await openTroubled(t, 'HTTP/2', count);
    const one = await stage.sender().broadcast('all', message);
    const other = await stage.sender().resume(one.broadcast.id);
    const [broadcast] = await Promise.all([one.finished, other.finished]);
    checkSums(broadcast);
    assert.equal(broadcast.counts.accepted, count);
    assert.deepEqual(witness.service.tallySinks()[0]?.sinksByMessages, { 1: count });
  });
});
