// What else happens while a push service makes trouble: people subscribe anew or leave, operators pause and cancel,
// several workers share the work.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';

import { createUserAgent, type Fault } from '../../src/push-service/index.ts';
import {
  checkSums,
  fastRetries,
  message,
  openStageWithRecorder,
  protocols,
  vapidKeys,
  type Protocol,
  type Sink,
  type RecordingPushService,
} from './fault-stage.ts';

/** As many again, made by the same push service: other keys for the same endpoints. */
function renew(recorder: RecordingPushService, sinks: readonly Sink[]): Sink[] {
  return recorder.sinks(sinks.length).map((fresh, index) => {
    const { endpoint, name } = sinks[index] ?? fresh;
    return { ...fresh, endpoint, name };
  });
}

/** A push service with faults that leave nothing in doubt, and so many rows that a worker takes a while. */
async function openTroubled(t: TestContext, protocol: Protocol, sinkCount: number) {
  const { stage, recorder } = await openStageWithRecorder(t, protocol);
  await stage.enroll([...recorder.service.createSinks(sinkCount)]);
  const faults: readonly Fault[] = [
    { kind: 'delay', ms: 10 },
    { kind: 'goaway', afterStreams: 100 },
    { kind: 'status', status: 503, share: 0.05 },
    { kind: 'status', status: 429, share: 0.01 },
    ...(protocol === 'HTTP/2' ? [{ kind: 'reset-stream', share: 0.02 } as const] : []),
  ];
  for (const fault of faults) recorder.faults.inject(fault);
  return { stage, recorder };
}

const count = 1500;

describe('meanwhile', { concurrency: 6 }, () => {
  for (const protocol of protocols) {
    for (const status of [404, 410]) {
      test(`who subscribes anew while a ${status} is on its way, over ${protocol}, stays subscribed`, async (t) => {
        const { stage, recorder } = await openStageWithRecorder(t, protocol);
        const leaving = recorder.sinks(10);
        const renewing = recorder.sinks(10);
        await stage.enroll([...leaving, ...renewing, ...recorder.sinks(80)]);
        for (const { endpoint } of [...leaving, ...renewing]) {
          recorder.faults.inject({ kind: 'status', status, endpoint });
        }
        const run = await stage.sender().broadcast('all', message);
        await recorder.until(() => recorder.seen.length > 0);
        recorder.port.holdAnswers();
        const refused = () => recorder.seen.filter(({ what }) => what === 'status').length;
        await recorder.until(() => refused() === 20);
        const renewed = await stage.enroll(renew(recorder, renewing));
        recorder.port.releaseAnswers();

        const broadcast = await stage.finish(run);
        checkSums(broadcast);
        assert.equal(broadcast.counts.gone, 20);
        const kept = await stage.stored();
        assert.equal(kept.length, 90);
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
    const { stage, recorder } = await openStageWithRecorder(t, 'HTTP/1.1');
    await using userAgent = await createUserAgent({ webSocketUrl: recorder.service.webSocketUrl });
    const subscription = await userAgent.subscribe(vapidKeys.publicKey);
    const [stranger] = recorder.sinks(1);
    const { endpoint } = subscription;
    await stage.enroll([{ ...subscription, p256dh: stranger?.p256dh ?? '', auth: stranger?.auth ?? '' }]);
    recorder.faults.inject({ kind: 'status', status: 503, endpoint });
    const retryPolicy = { ...fastRetries, maxAttempts: 100 };
    const run = await stage.sender({ retryPolicy }).broadcast('all', message);
    await recorder.until(() => recorder.seen.length > 0);
    await stage.enroll([subscription]);
    // the next request may be on its way already
    const refusals = recorder.seen.length + 2;
    await recorder.until(() => recorder.seen.length >= refusals);
    recorder.faults.clear();
    // what was encrypted for other keys could not be read, and would be thrown here
    const received = await userAgent.nextMessage();
    assert.deepEqual(received.json(), message);
    assert.equal((await stage.finish(run)).counts.accepted, 1);
  });

  test('who unsubscribes while retries wait is not written to any more, and counted as removed', async (t) => {
    const { stage, recorder } = await openStageWithRecorder(t, 'HTTP/2');
    const sinks = recorder.sinks(5);
    const rows = await stage.enroll(sinks.flatMap((sink) => [sink, ...recorder.sinks(9)]));
    for (const { endpoint } of sinks) {
      recorder.faults.inject({ kind: 'status', status: 503, retryAfter: 3, endpoint });
    }
    const run = await stage.sender().broadcast('all', message);
    await recorder.until(() => sinks.every((sink) => recorder.seenOf(sink).length > 0));
    for (const [index] of sinks.entries())
      await stage.store.subscriptions.removeById(rows[10 * index]?.id ?? 0);
    const broadcast = await stage.finish(run);
    checkSums(broadcast);
    assert.deepEqual([broadcast.counts.accepted, broadcast.counts.removed], [45, 5]);
    assert.deepEqual(new Set(sinks.map((sink) => recorder.seenOf(sink).length)), new Set([1]));
  });

  for (const protocol of protocols) {
    test(`a broadcast over ${protocol} that is paused among faults and resumed by another sender loses and repeats nothing`, async (t) => {
      const { stage, recorder } = await openTroubled(t, protocol, count);
      const run = await stage.sender().broadcast('all', message);
      const { id } = run.broadcast;
      for (const share of [0.2, 0.4, 0.6]) {
        const current = share === 0.2 ? run : await stage.sender().resume(id);
        await recorder.until(() => recorder.accepted >= share * count);
        if (share === 0.4) await current.stop();
        else await stage.store.broadcasts.pause(id);
        const paused = await stage.finish(current);
        checkSums(paused);
        assert.equal(paused.state, share === 0.4 ? 'running' : 'paused');
        assert.equal(paused.counts.accepted, recorder.accepted, 'what was in flight is counted');
        assert.ok(paused.counts.pending > 0);
      }
      const last = await stage.finish(await stage.sender().resume(id));
      checkSums(last);
      assert.equal(last.counts.accepted, count);
      assert.deepEqual(recorder.service.tallySinks()[0]?.sinksByMessages, { 1: count });
    });
  }

  test('a broadcast that is cancelled among faults sends nothing more, and its counts add up', async (t) => {
    const { stage, recorder } = await openTroubled(t, 'HTTP/2', count);
    const run = await stage.sender().broadcast('all', message);
    await recorder.until(() => recorder.accepted >= 0.3 * count);
    await stage.store.broadcasts.cancel(run.broadcast.id);
    const broadcast = await stage.finish(run);
    const requests = recorder.seen.length;
    checkSums(broadcast);
    assert.equal(broadcast.state, 'cancelled');
    assert.equal(broadcast.counts.pending, 0);
    assert.ok(broadcast.counts.cancelled > 0);
    assert.equal(broadcast.counts.accepted, recorder.accepted);
    assert.equal((await stage.finish(await stage.sender().resume(run.broadcast.id))).state, 'cancelled');
    assert.equal(recorder.seen.length, requests);
  });

  test('two senders share a broadcast among faults: nobody is missed and nobody gets it twice', async (t) => {
    const { stage, recorder } = await openTroubled(t, 'HTTP/2', count);
    const one = await stage.sender().broadcast('all', message);
    const other = await stage.sender().resume(one.broadcast.id);
    const [broadcast] = await Promise.all([stage.finish(one), other.finished]);
    checkSums(broadcast);
    assert.equal(broadcast.counts.accepted, count);
    assert.deepEqual(recorder.service.tallySinks()[0]?.sinksByMessages, { 1: count });
  });
});
