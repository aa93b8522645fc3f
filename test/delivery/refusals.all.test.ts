// Push services that refuse our token: for some rows, whatever the token is (anybody may have registered these), or for
// all of them. Nobody is lost to the refusals of others, and nobody asks for each row what is known already.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';

import type { Broadcast } from '../../src/store/broadcasts.ts';
import { systemClock } from '../../src/transport/clock.ts';
import {
  checkSums,
  fastRetries,
  message,
  openStage,
  openStageWithJunk,
  openStageWithRecorder,
  protocols,
  smallWorker,
  type Stage,
  vapidKeys,
} from './fault-stage.ts';
import { startWork } from './broadcast-bench.ts';

const layouts = {
  'in front': { good: 100, junk: 60, isJunk: (index: number) => index < 60 },
  'in the middle': { good: 100, junk: 60, isJunk: (index: number) => index >= 50 && index < 110 },
  'at the end': { good: 100, junk: 60, isJunk: (index: number) => index >= 100 },
  // more than a worker holds at a time
  'nine of ten': { good: 20, junk: 180, isJunk: (index: number) => (index * 7) % 10 !== 0 },
};

/** Delivers to the end in this thread; by threads of its own, whose clock is the real one, until all are accepted who can be. */
async function deliver(stage: Stage, threads: number, good: number): Promise<Broadcast> {
  const sender = stage.sender({ threads, worker: smallWorker });
  const { broadcast } = await sender.createBroadcast('all', message);
  const endWork = startWork(sender);
  const isAccepted = ({ counts }: Broadcast): boolean => counts.accepted === good;
  if (threads === 0) {
    await stage.until(broadcast.id, (last) => {
      stage.clock.advance(isAccepted(last) ? 60_000 : last.heldBack.length > 0 ? 4000 : 200);
      return last.state === 'done';
    });
  } else await stage.until(broadcast.id, isAccepted);
  await endWork();
  return stage.until(broadcast.id, () => true);
}

describe('rows that are always refused with 401', { concurrency: 4 }, () => {
  for (const protocol of protocols) {
    for (const [place, layout] of Object.entries(layouts)) {
      for (const threads of [0, 1, 2]) {
        const where = threads === 0 ? 'in this thread' : `by ${threads} threads`;
        test(`${place} cost nobody else a message, over ${protocol}, ${where}`, async (t) => {
          const { stage, pushService, goodSinks } = await openStageWithJunk(t, protocol, layout);
          const broadcast = await deliver(stage, threads, layout.good);
          checkSums(broadcast);
          const { accepted, rejected, pending } = broadcast.counts;
          assert.deepEqual([accepted, rejected + pending], [layout.good, layout.junk]);
          if (threads === 0) assert.equal(broadcast.state, 'done');
          assert.deepEqual(new Set(pushService.received(goodSinks)), new Set([1]));
        });
      }
    }
  }
});

describe('a push service that refuses everybody', { concurrency: 4 }, () => {
  const everybody = 1000;
  const badToken = { status: 403, body: JSON.stringify({ reason: 'BadJwtToken' }) };

  async function openRefusing(t: TestContext, refusal = badToken) {
    const stage = await openStage(t, 'HTTP/2', 'HTTP/1.1');
    const [refusing, working] = stage.recorders;
    assert.ok(refusing && working);
    const others = working.sinks(everybody / 10);
    const rows = [...refusing.service.createSinks(everybody)];
    await stage.enroll(rows.flatMap((row, index) => [row, ...others.slice(index, index + 1)]));
    refusing.faults.inject({ kind: 'status', ...refusal });
    const run = await stage.sender({ worker: smallWorker }).broadcast('all', message);
    const held = await stage.until(run.broadcast.id, isHeldBack);
    return { stage, refusing, working, others, run, held };
  }

  const isHeldBack = ({ heldBack: [first], counts }: Broadcast): boolean =>
    first !== undefined && first.rows > everybody / 2 && first.rows === counts.pending;

  for (const refusal of [
    badToken,
    { status: 401, body: JSON.stringify({ code: 401, errno: 109, message: 'Invalid VAPID token' }) },
  ]) {
    test(`with ${refusal.status} is asked for some rows only; the others wait, and one alarm tells its words`, async (t) => {
      const { stage, refusing, working, others, held } = await openRefusing(t, refusal);
      const { pending, rejected, accepted } = held.counts;
      assert.deepEqual([rejected, pending], [0, everybody], 'no refusal is final');
      assert.equal(accepted, others.length);
      assert.deepEqual(new Set(working.received(others)), new Set([1]));
      assert.ok(refusing.seen.length < everybody / 2, `${refusing.seen.length} requests`);
      const [alarm, ...more] = held.alarms;
      assert.deepEqual([alarm?.origin, alarm?.reason, more], [refusing.origin, 'vapid-refused', []]);
      assert.match(alarm?.detail ?? '', /Invalid VAPID token|BadJwtToken/);
      assert.equal((await stage.stored()).length, everybody + others.length);
    });
  }

  test('gets all that waited once it accepts one of the probes', async (t) => {
    const { stage, refusing, others, run } = await openRefusing(t);
    refusing.faults.clear();
    stage.clock.advance(600_000);
    const broadcast = await run.finished;
    checkSums(broadcast);
    assert.equal(broadcast.counts.accepted, everybody + others.length);
    assert.deepEqual(broadcast.heldBack, []);
  });

  test('is not asked for what waits to be tried again, once another worker has told that it refuses', async (t) => {
    const { stage, recorder, rows } = await openStageWithRecorder(t, 'HTTP/2', 60);
    stage.clock.stop();
    const { startTimer } = systemClock;
    const retryPolicy = { ...fastRetries, maxDeferralMs: fastRetries.maxDelayMs };
    const busy = recorder.faults.inject({ kind: 'status', status: 503 });
    const { broadcast, stop } = await stage.sender({ startTimer, retryPolicy }).broadcast('all', message);
    await stage.until(broadcast.id, ({ waiting }) => waiting === rows.length);
    await stop();
    recorder.faults.cancel(busy.id);
    const { origin } = recorder;
    const key = { origin, vapidPublicKey: vapidKeys.publicKey };
    const answers = [{ ...key, accepted: 0, hasRefused: true, refusalsInRow: 20 }];
    await stage.store.ledger.commit({
      broadcastId: broadcast.id,
      fenceToken: '',
      rows: [],
      answers,
      leaseMs: 1,
    });
    // retries are due, and probes are not
    stage.clock.advance(fastRetries.maxDelayMs);
    const endWork = startWork(stage.sender({ startTimer }));
    await stage.until(
      broadcast.id,
      ({ heldBack, waiting }) => waiting < rows.length || heldBack[0]?.rows === waiting,
    );
    await endWork();
    assert.equal(recorder.accepted, 0);
  });

  test('is asked by another sender for probes only; who is left at the end of the time is expired', async (t) => {
    const { stage, refusing, others, run } = await openRefusing(t);
    await run.stop();
    const asked = refusing.seen.length;
    const other = await stage.sender({ worker: smallWorker }).broadcast('all', message, { ttlSeconds: 60 });
    await stage.until(other.broadcast.id, isHeldBack);
    assert.ok(refusing.seen.length - asked < everybody / 4, `${refusing.seen.length - asked} requests`);
    stage.clock.advance(3_600_000);
    const broadcast = await other.finished;
    // what no worker had taken is counted for no push service
    assert.equal(broadcast.counts.pending, 0);
    assert.equal(
      broadcast.origins.reduce((sum, { accepted }) => sum + accepted, 0),
      others.length,
    );
    assert.equal(broadcast.counts.accepted, others.length);
    assert.equal(broadcast.counts.expired, everybody);
    assert.equal((await stage.stored()).length, everybody + others.length);
  });
});
