// What can go wrong with connections and streams, against whole broadcasts: nobody is missed, nobody is deleted, and
// nobody gets a message twice unless its first answer never came.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { createUserAgent, type Fault } from '../../src/push-service/index.ts';
import type { AttemptRecord } from '../../src/store/attempts.ts';
import {
  broadcastToAll,
  fastRetries,
  message,
  openStageWithRecorder,
  protocols,
  type Protocol,
  type Sink,
  type RecordingPushService,
  vapidKeys,
} from './fault-stage.ts';

interface FaultCase {
  readonly title: string;
  readonly faults: readonly Fault[];
  readonly only?: Protocol;
  /** How often the broadcast tries a row that meets the fault. */
  readonly tries: 'once' | 'again';
}

/** So often that it is met again and again, and so seldom that the origin is not taken for dead. */
const now = { share: 0.04, times: 15 } as const;
/** Over HTTP/2 a reset takes everything in flight with it. */
const rarely = { share: 0.01, times: 3 } as const;

const cases: readonly FaultCase[] = [
  { title: 'answers that come late', faults: [{ kind: 'delay', ms: 150, share: 0.2 }], tries: 'once' },
  { title: 'half answers', faults: [{ kind: 'half', share: 0.1 }], tries: 'once' },
  { title: 'resets', faults: [{ kind: 'reset', ...rarely }], tries: 'again' },
  {
    title: 'resets after the message was accepted',
    faults: [{ kind: 'reset', ...rarely, afterAccepting: true }],
    tries: 'again',
  },
  { title: 'requests that hang', faults: [{ kind: 'hang', ...now }], tries: 'again' },
  {
    title: 'requests that hang after the message was accepted',
    faults: [{ kind: 'hang', ...now, afterAccepting: true }],
    tries: 'again',
  },
  {
    title: 'streams reset as refused',
    faults: [{ kind: 'reset-stream', ...now }],
    only: 'HTTP/2',
    tries: 'once',
  },
  ...[2, 8, 11].map((code): FaultCase => {
    const faults = [{ kind: 'reset-stream', code, ...now }] as const;
    return { title: `streams reset with code ${code}`, faults, only: 'HTTP/2', tries: 'again' };
  }),
  ...[0, 2, 11].map((code): FaultCase => {
    const faults = [{ kind: 'goaway', afterStreams: 50, code }] as const;
    return { title: `GOAWAY every 50 with code ${code}`, faults, only: 'HTTP/2', tries: 'once' };
  }),
  {
    title: 'a connection closed after every 5th answer',
    faults: [{ kind: 'goaway', afterStreams: 5 }],
    only: 'HTTP/1.1',
    tries: 'once',
  },
  {
    title: 'all of it at once',
    faults: [
      { kind: 'goaway', afterStreams: 100 },
      { kind: 'delay', ms: 30, share: 0.1 },
      { kind: 'status', status: 503, ...now },
      { kind: 'status', status: 429, retryAfter: 1, ...now },
      { kind: 'half', ...now },
      { kind: 'reset', ...rarely },
      { kind: 'hang', ...now, afterAccepting: true },
    ],
    tries: 'again',
  },
];

const sinkCount = 300;

describe('a broadcast meets', { concurrency: 6 }, () => {
  for (const protocol of protocols) {
    for (const { title, faults, only = protocol, tries } of cases) {
      if (only !== protocol) continue;
      test(`${title}, over ${protocol}: rows are tried ${tries}`, async (t) => {
        const { stage, recorder, sinks, rows } = await openStageWithRecorder(t, protocol, sinkCount);
        for (const fault of faults) recorder.faults.inject(fault);
        const hangs = faults.some(({ kind }) => kind === 'hang');

        const broadcast = await broadcastToAll(stage, {
          sender: {
            ...(hangs && { responseTimeoutMs: 1500 }),
            retryPolicy: { ...fastRetries, maxAttempts: 20 },
          },
        });

        const kinds: readonly unknown[] = faults.map(({ kind }) => kind);
        assert.ok(recorder.seen.filter(({ what }) => kinds.includes(what)).length >= kinds.length);
        assert.equal(broadcast.counts.accepted, sinkCount);
        assert.equal((await stage.stored()).length, sinkCount);
        const attempts = await stage.attempts(broadcast.id);
        const histories = rows.map(({ id }) => attempts.get(id) ?? []);
        assert.equal(broadcast.origins[0]?.attempts, histories.flat().length);
        assert.equal(
          histories.some(({ length }) => length > 1),
          tries === 'again',
        );
        for (const [index, messages] of recorder.received(sinks).entries()) {
          const history = histories[index] ?? [];
          const unknown = brokenOff(history) - brokenUnseen(recorder, sinks[index] as Sink, faults);
          assert.ok(messages >= 1, 'missed');
          assert.ok(
            messages <= 1 + Math.max(0, unknown),
            `${messages} messages for ${JSON.stringify(history)}`,
          );
        }
      });
    }
  }

  for (const [afterStreams, count, threads] of [
    [50, 1000, 0],
    [50, 4200, 2],
    [1000, 3500, 0],
  ] as const) {
    const where = threads === 0 ? 'in this thread' : `by ${threads} threads`;
    test(`GOAWAY every ${afterStreams} among ${count} messages ${where}: each arrives exactly once`, async (t) => {
      const { stage, recorder } = await openStageWithRecorder(t, 'HTTP/2');
      await stage.enroll([...recorder.service.createSinks(count)]);
      recorder.faults.inject({ kind: 'goaway', afterStreams });
      const broadcast = await broadcastToAll(stage, { sender: { threads } });
      assert.deepEqual(recorder.service.tallySinks()[0]?.sinksByMessages, { 1: count });
      assert.equal(broadcast.origins[0]?.attempts, count);
      const goAways = recorder.seen.filter(({ what }) => what === 'goaway').length;
      assert.ok(goAways > 0);
    });
  }

  for (const protocol of protocols) {
    test(`rows that are always reset, over ${protocol}: they run out of attempts and stay subscribed`, async (t) => {
      const { stage, recorder, sinks } = await openStageWithRecorder(t, protocol, 102);
      const doomed = sinks.slice(40, 42);
      for (const { endpoint } of doomed) recorder.faults.inject({ kind: 'reset', endpoint });
      const retryPolicy = { ...fastRetries, maxAttempts: 4 };
      const broadcast = await broadcastToAll(stage, { sender: { retryPolicy } });
      assert.equal(broadcast.counts.accepted + broadcast.counts.exhausted, 102);
      assert.equal((await stage.stored()).length, 102);
      for (const sink of doomed) {
        const requests = recorder.seenOf(sink).length;
        assert.ok(requests > 0 && requests <= 4, `${requests} requests`);
      }
      assert.deepEqual(recorder.received(doomed), [0, 0]);
    });
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
});

/** Attempts that had no answer. */
function brokenOff(attempts: readonly AttemptRecord[]): number {
  return attempts.filter(({ reason }) => reason === 'connection').length;
}

/** Requests for one sink that met a fault which kept the message from being accepted. */
function brokenUnseen(recorder: RecordingPushService, sink: Sink, faults: readonly Fault[]): number {
  const breaking = new Set<unknown>(['reset', 'hang', 'reset-stream']);
  for (const { kind, afterAccepting } of faults) if (afterAccepting === true) breaking.delete(kind);
  return recorder.seenOf(sink).filter(({ what }) => breaking.has(what)).length;
}
