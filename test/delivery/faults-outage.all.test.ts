// A push service that is down for a while, in the ways in which push services are: everything arrives once it is
// back, nobody is deleted, and it gets few requests meanwhile.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { BroadcastRun } from '../../src/delivery/sender-interface.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import type { SenderOptions } from '../../src/delivery/sender.ts';
import {
  checkSums,
  fastRetries,
  message,
  openStageWithRecorder,
  protocols,
  type RecordingPushService,
  type Sink,
  type Stage,
} from './fault-stage.ts';

interface Outage {
  readonly title: string;
  readonly stop: (recorder: RecordingPushService) => unknown;
  readonly start: (recorder: RecordingPushService) => unknown;
}

const outages: readonly Outage[] = [
  { title: 'its port is closed', stop: ({ port }) => port.close(), start: ({ port }) => port.open() },
  {
    title: 'its port takes connections and says nothing',
    stop: ({ port }) => port.goSilent(),
    start: ({ port, service }) => port.forwardTo(service.port),
  },
  {
    title: 'it resets every connection',
    stop: ({ faults }) => faults.inject({ kind: 'reset' }),
    start: ({ faults }) => faults.clear(),
  },
  {
    title: 'it answers 502',
    stop: ({ faults }) => faults.inject({ kind: 'status', status: 502 }),
    start: ({ faults }) => faults.clear(),
  },
  {
    title: 'it answers 503 with Retry-After',
    stop: ({ faults }) => faults.inject({ kind: 'status', status: 503, retryAfter: 1 }),
    start: ({ faults }) => faults.clear(),
  },
];

const rows = 120;
/** At least, and until so many rounds of attempts were in vain. */
const downForMs = 600_000;
const roundsInVain = 10;
/** A breaker's and a row's, with all that is added at random. */
const longestPauseMs = 75_000;
/** For a time-out, whenever an attempt has not ended; what could not be written is no attempt, so that none may end at all. */
const stepMs = 1000;
const stepsInRound = 60;
/** Of the test's clock, which is moved only while nothing happens. */
const timeouts: Partial<SenderOptions> = {
  connectTimeoutMs: 10_000,
  responseTimeoutMs: 30_000,
  retryPolicy: { ...fastRetries, maxDelayMs: 60_000, maxDeferralMs: 60_000, maxAttempts: 40 },
};

describe('a push service is down and comes back at the same port:', { concurrency: 6 }, () => {
  for (const protocol of protocols) {
    for (const { title, stop, start } of outages) {
      test(`${title}, over ${protocol}, in the middle of a broadcast`, async (t) => {
        const { stage, recorder, sinks } = await openStageWithRecorder(t, protocol, rows);
        // slow enough to have a middle
        recorder.faults.inject({ kind: 'delay', ms: 20 });
        const run = await stage.sender(timeouts).broadcast('all', message);
        await recorder.until(() => recorder.accepted >= 50);
        await stop(recorder);
        const downMs = await waitOut(stage, run);
        await start(recorder);
        const broadcast = await stage.finish(run);
        await assertAllArrived(stage, recorder, sinks, broadcast);
        assertFewInVain(broadcast, downMs);
      });
    }

    test(`its port is closed, over ${protocol}, from the start of a broadcast`, async (t) => {
      const { stage, recorder, sinks } = await openStageWithRecorder(t, protocol, rows);
      await recorder.port.close();
      const run = await stage.sender(timeouts).broadcast('all', message);
      const downMs = await waitOut(stage, run);
      assert.equal(recorder.seen.length, 0);
      await recorder.port.open();
      const broadcast = await stage.finish(run);
      await assertAllArrived(stage, recorder, sinks, broadcast);
      assertFewInVain(broadcast, downMs);
      // nothing was in doubt: no connection, no request
      assert.deepEqual(new Set(recorder.received(sinks)), new Set([1]));
    });
  }
});

/**
 * Lets ten minutes pass, in which the rows that are left wait and are tried now and then. The clock goes on when another
 * attempt was in vain, or could not be made for a minute; never far ahead of the worker: an hour, and a token would be refused.
 *
 * @returns how long it was
 */
async function waitOut(stage: Stage, run: BroadcastRun): Promise<number> {
  const startMs = stage.clock.now();
  let tried = 0;
  for (let rounds = 0; rounds < roundsInVain || stage.clock.now() - startMs < downForMs; rounds += 1) {
    stage.clock.advance(longestPauseMs);
    let steps = 0;
    const running = await stage.until(run.broadcast.id, (broadcast) => {
      if (attemptsOf(broadcast) > tried || steps === stepsInRound) return true;
      stage.clock.advance(stepMs);
      steps += 1;
      return false;
    });
    checkSums(running);
    assert.equal(running.state, 'running');
    tried = attemptsOf(running);
  }
  return stage.clock.now() - startMs;
}

const attemptsOf = ({ origins }: Broadcast): number => origins[0]?.attempts ?? 0;

/** What was in flight, ten failures in a row, and then one probe a minute at the most. */
function assertFewInVain(broadcast: Broadcast, downMs: number): void {
  const failed = attemptsOf(broadcast) - rows;
  assert.ok(failed <= rows + downMs / 60_000, `${failed} attempts in vain`);
}

async function assertAllArrived(
  stage: Stage,
  recorder: RecordingPushService,
  sinks: readonly Sink[],
  broadcast: Awaited<BroadcastRun['finished']>,
): Promise<void> {
  checkSums(broadcast);
  assert.equal(broadcast.state, 'done');
  assert.equal(broadcast.counts.accepted, sinks.length);
  assert.equal((await stage.stored()).length, sinks.length);
  assert.ok(recorder.received(sinks).every((messages) => messages >= 1));
}
