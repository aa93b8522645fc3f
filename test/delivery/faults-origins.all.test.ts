// Two push services in one broadcast, one of them broken: the other one's rows all arrive while it still is. The
// broken one is never repaired and no time-out ends the wait for it, so that a broadcast which waited would wait for ever.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { SenderOptions } from '../../src/delivery/sender.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import {
  checkSums,
  fastRetries,
  message,
  openStage,
  openStageWithRecorder,
  protocols,
  smallWorker,
  type Sink,
  type RecordingPushService,
} from './fault-stage.ts';
import { SwitchablePort } from './switchable-port.ts';

/** Where the broken one's rows stand in the audience. */
type Layout = 'before those of the other' | 'in turn with those of the other';
const first: readonly Layout[] = ['before those of the other'];
const both: readonly Layout[] = [...first, 'in turn with those of the other'];

/** Seconds; never reached within a test. */
const forever = 600;

const faults: readonly {
  readonly title: string;
  readonly layouts?: readonly Layout[];
  readonly break: (recorder: RecordingPushService) => unknown;
}[] = [
  { title: 'hangs', layouts: both, break: (broken) => broken.faults.inject({ kind: 'hang' }) },
  {
    title: 'answers after fifteen seconds',
    break: (broken) => broken.faults.inject({ kind: 'delay', ms: 15_000 }),
  },
  {
    title: 'answers 429',
    layouts: both,
    break: (broken) => broken.faults.inject({ kind: 'status', status: 429, retryAfter: forever }),
  },
  { title: 'answers 503', break: (broken) => broken.faults.inject({ kind: 'status', status: 503 }) },
  { title: 'resets every connection', break: (broken) => broken.faults.inject({ kind: 'reset' }) },
  { title: 'is down', break: (broken) => broken.port.close() },
  { title: 'takes connections and says nothing', break: (broken) => broken.port.goSilent() },
];

/** More than a worker holds at a time. */
const brokenRows = 450;
const workingRows = 50;
const patient: Partial<SenderOptions> = {
  worker: smallWorker,
  retryPolicy: { ...fastRetries, maxAttempts: 100 },
};

describe('a push service that', { concurrency: 6 }, () => {
  for (const protocol of protocols) {
    for (const { title, layouts = first, break: breakIt } of faults) {
      for (const layout of layouts) {
        test(`${title}, over ${protocol}, its rows ${layout}, holds nobody else up`, async (t) => {
          const stage = await openStage(t, protocol, 'HTTP/2');
          const [broken, working] = stage.recorders;
          assert.ok(broken && working);
          const rows = [...broken.service.createSinks(brokenRows)];
          const others = working.sinks(workingRows);
          await stage.enroll(
            layout === 'before those of the other' ? [...rows, ...others] : mix(rows, others),
          );
          await breakIt(broken);

          const run = await stage.sender(patient).broadcast('all', message);
          await working.until(() => working.accepted === workingRows);
          const late = broken.accepted;
          assert.ok(late < brokenRows / 2, `${late} of the broken one's ${brokenRows} have arrived`);
          assert.deepEqual(new Set(working.received(others)), new Set([1]));

          await run.stop();
          const stopped = (await stage.store.broadcasts.find(run.broadcast.id)) as Broadcast;
          checkSums(stopped);
          assert.equal(stopped.counts.accepted + stopped.counts.pending, stopped.recipients);
          assert.equal((await stage.stored()).length, brokenRows + workingRows);
        });
      }
    }
  }

  test('hangs together with eleven others, none of them with many rows, holds nobody else up', async (t) => {
    const { stage, recorder: working } = await openStageWithRecorder(t, 'HTTP/2');
    const ports = Array.from({ length: 12 }, () => new SwitchablePort());
    for (const port of ports) await port.open();
    t.after(() => Promise.all(ports.map((port) => port.close())));
    const origins = ports.map(({ port }) => `http://127.0.0.1:${port}`);
    const others = working.sinks(workingRows);
    const rows = Array.from({ length: brokenRows }, (_, index) => {
      const { p256dh, auth } = others[index % workingRows] as Sink;
      return { endpoint: `${origins[index % origins.length]}/wpush/${index}`, p256dh, auth };
    });
    const sender = stage.sender({ ...patient, pushServices: [working.origin, ...origins] });
    const run = await sender.broadcast({ subscriptions: mix(rows, others) }, message);
    await working.until(() => working.accepted === workingRows);
    assert.deepEqual(new Set(working.received(others)), new Set([1]));
    await run.stop();
    const stopped = (await stage.store.broadcasts.find(run.broadcast.id)) as Broadcast;
    checkSums(stopped);
    assert.deepEqual([stopped.counts.accepted, stopped.counts.pending], [workingRows, brokenRows]);
  });
});

/** The few spread evenly among the many. */
function mix<Row>(many: readonly Row[], few: readonly Row[]): Row[] {
  const every = Math.ceil(many.length / few.length);
  return many.flatMap((row, index) =>
    index % every === 0 ? [row, ...few.slice(index / every, index / every + 1)] : row,
  );
}
