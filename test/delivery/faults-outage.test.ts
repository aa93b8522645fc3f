// A push service that is down for a while, in the ways in which push services are: everything arrives once it is
// back, nobody is deleted, and what is left of it is not stormed meanwhile.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import type { SenderOptions } from '../../src/delivery/sender.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import {
  checkSums,
  fastRetries,
  message,
  openStage,
  protocols,
  type Sink,
  type Stage,
  type Witness,
} from './fault-stage.ts';

interface Outage {
  readonly title: string;
  readonly fall: (witness: Witness) => unknown;
  readonly rise: (witness: Witness) => unknown;
}

const outages: readonly Outage[] = [
  { title: 'its port is closed', fall: ({ gate }) => gate.shut(), rise: ({ gate }) => gate.open() },
  {
    title: 'its port takes connections and says nothing',
    fall: ({ gate }) => gate.fallSilent(),
    rise: ({ gate, service }) => gate.leadTo(service.port),
  },
  {
    title: 'it resets every connection',
    fall: ({ faults }) => faults.inject({ kind: 'reset' }),
    rise: ({ faults }) => faults.clear(),
  },
  {
    title: 'it answers 502',
    fall: ({ faults }) => faults.inject({ kind: 'status', status: 502 }),
    rise: ({ faults }) => faults.clear(),
  },
  {
    title: 'it answers 503 with Retry-After',
    fall: ({ faults }) => faults.inject({ kind: 'status', status: 503, retryAfter: 1 }),
    rise: ({ faults }) => faults.clear(),
  },
];

const downForMs = 2000;
const impatient: Partial<SenderOptions> = {
  connectTimeoutMs: 1000,
  responseTimeoutMs: 2000,
  retryPolicy: { ...fastRetries, maxAttempts: 40 },
};

describe('a push service is down and comes back at the same port:', { concurrency: 12 }, () => {
  for (const protocol of protocols) {
    for (const { title, fall, rise } of outages) {
      test(`${title}, over ${protocol}, in the middle of a broadcast`, async (t) => {
        const stage = await openStage(t, protocol);
        const [witness] = stage.witnesses;
        assert.ok(witness);
        const sinks = witness.sinks(300);
        await stage.enroll(sinks);
        // slow enough to have a middle
        witness.faults.inject({ kind: 'delay', ms: 50 });
        const run = await stage.sender(impatient).broadcast('all', message);
        await witness.until(() => witness.accepted >= 50);
        await fall(witness);
        await sleep(downForMs);
        checkSums((await stage.store.broadcasts.find(run.broadcast.id)) as Broadcast);
        await rise(witness);
        await assertAllArrive(stage, witness, sinks, run.finished);
        const attempts = (await run.finished).origins[0]?.attempts ?? 0;
        assert.ok(attempts < 4 * sinks.length, `${attempts} attempts`);
      });
    }

    test(`its port is closed, over ${protocol}, from the start of a broadcast`, async (t) => {
      const stage = await openStage(t, protocol);
      const [witness] = stage.witnesses;
      assert.ok(witness);
      const sinks = witness.sinks(300);
      await stage.enroll(sinks);
      await witness.gate.shut();
      const run = await stage.sender(impatient).broadcast('all', message);
      await sleep(downForMs);
      assert.equal(witness.seen.length, 0);
      await witness.gate.open();
      await assertAllArrive(stage, witness, sinks, run.finished);
      // nothing was in doubt: no connection, no request
      assert.deepEqual(new Set(witness.received(sinks)), new Set([1]));
    });
  }
});

async function assertAllArrive(
  stage: Stage,
  witness: Witness,
  sinks: readonly Sink[],
  finished: Promise<Broadcast>,
): Promise<void> {
  const broadcast = await finished;
  checkSums(broadcast);
  assert.equal(broadcast.state, 'done');
  assert.equal(broadcast.counts.accepted, sinks.length);
  assert.equal((await stage.stored()).length, sinks.length);
  assert.ok(witness.received(sinks).every((messages) => messages >= 1));
}
