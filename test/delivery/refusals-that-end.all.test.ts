// A push service that refuses our token for a while, beside rows that it always refuses: whoever can be reached gets the
// message once, and the rows that nobody could ever reach end as rejected.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Broadcast } from '../../src/store/broadcasts.ts';
import { startWork } from './broadcast-bench.ts';
import { checkSums, message, openStageWithJunk, type Sink, type Stage } from './fault-stage.ts';
import { until } from '../../tools/until.ts';

const good = 600;
const junk = 60;
const badToken = { status: 403, body: JSON.stringify({ reason: 'BadJwtToken' }) };

/** As the default policy has it, so that what rows wait for is a matter of minutes. */
const retryPolicy = {
  firstDelayMs: 5000,
  maxDelayMs: 30 * 60 * 1000,
  maxAttempts: 10,
  firstDeferralMs: 1000,
  maxDeferralMs: 5 * 60 * 1000,
};

/** Every eleventh row is one that is always refused; the last of all is good. */
const openPoisoned = (t: TestContext) =>
  openStageWithJunk(t, 'HTTP/2', { good, junk, isJunk: (index) => index % 11 === 5 });

/** Moves the clock on in small steps until `isSo`, as if all that time had passed; a busy machine gets the time that it needs. */
async function pass(stage: Stage, id: number, stepMs: number, isSo: (broadcast: Broadcast) => boolean) {
  for (let seen = -1; ;) {
    const broadcast = await stage.store.broadcasts.find(id);
    assert.ok(broadcast);
    if (isSo(broadcast)) return broadcast;
    const requests = stage.recorders.reduce((sum, recorder) => sum + recorder.seen.length, 0);
    if (requests === seen) stage.clock.advance(stepMs);
    seen = requests;
    await sleep(10);
  }
}

/** The push service is open, and the next broadcast reaches everybody within a minute. */
async function checkNext(stage: Stage, sinks: readonly Sink[]) {
  await until(async () => {
    const states = await stage.store.ledger.pushServices();
    return states.every(({ isSuspended }) => !isSuspended);
  }, 'no push service is suspended');
  const { broadcast } = await stage.sender().createBroadcast({ subscriptions: sinks }, message);
  const startMs = stage.clock.now();
  // nothing waits for time, so that the minute is long on a busy machine, too
  const reached = await pass(stage, broadcast.id, 20, ({ state }) => state === 'done');
  assert.equal(reached.counts.accepted, sinks.length);
  assert.ok(stage.clock.now() - startMs < 60_000);
}

/** Two workers, each of which knows only what it has been answered itself and what the store says. */
function startWorkers(stage: Stage) {
  const ends = [1, 2].map(() => startWork(stage.sender({ retryPolicy })));
  return () => Promise.all(ends.map((endWork) => endWork()));
}

describe('a refusal that ends', { concurrency: 2 }, () => {
  for (const [lasting, ms, stepMs] of [
    ['15 seconds', 15_000, 250],
    ['10 minutes', 600_000, 2000],
  ] as const) {
    for (const begins of ['before the first message', 'in the middle'] as const) {
      test(`after ${lasting}, begun ${begins}, costs nobody the message, with two workers`, async (t) => {
        const { stage, pushService, goodSinks } = await openPoisoned(t);
        const before = begins === 'in the middle' ? good / 3 : 0;
        const refuse = () => pushService.faults.inject({ kind: 'status', ...badToken });
        const early = before === 0 ? refuse() : undefined;
        const { broadcast } = await stage.sender().createBroadcast('all', message);
        const stopWorkers = startWorkers(stage);
        await pushService.until(() => pushService.accepted >= before);
        const fault = early ?? refuse();
        const endsMs = stage.clock.now() + ms;
        await pass(stage, broadcast.id, stepMs, () => stage.clock.now() >= endsMs);
        // how many are on their way before the first refusal is read depends on the machine; who is asked again does not
        const refused = pushService.seen.filter(({ what }) => what === 'status').map(({ sink }) => sink);
        const repeats = refused.length - new Set(refused).size;
        assert.ok(repeats < good / 4, `${repeats} requests were repeated`);
        pushService.faults.cancel(fault.id);
        const done = await pass(stage, broadcast.id, 5000, ({ state }) => state === 'done');
        await stopWorkers();
        checkSums(done);
        assert.deepEqual([done.counts.accepted, done.counts.rejected], [good, junk]);
        assert.deepEqual(new Set(pushService.received(goodSinks)), new Set([1]));
        assert.equal((await stage.stored()).length, good + junk);
        assert.deepEqual(await stage.store.heldDeletions.list(), []);
      });
    }
  }
});

describe('rows that are always refused', { concurrency: 2 }, () => {
  for (const [how, ttlSeconds] of [
    ['are rejected', 4 * 3600],
    ['expire', 600],
  ] as const) {
    test(`suspend the push service if they come last, until they ${how}`, async (t) => {
      const { stage, goodSinks, junkSinks } = await openPoisoned(t);
      const stopWorkers = startWorkers(stage);
      const first = await stage.sender().createBroadcast({ subscriptions: goodSinks }, message);
      await pass(stage, first.broadcast.id, 20, ({ state }) => state === 'done');
      const { broadcast } = await stage
        .sender()
        .createBroadcast({ subscriptions: junkSinks }, message, { ttlSeconds });
      await pass(stage, broadcast.id, 250, ({ heldBack }) => heldBack.some(({ rows }) => rows > 20));
      const done = await pass(stage, broadcast.id, 20_000, ({ state }) => state === 'done');
      assert.equal(done.counts[how === 'expire' ? 'expired' : 'rejected'], junk);
      await checkNext(stage, goodSinks);
      await stopWorkers();
    });
  }
});
