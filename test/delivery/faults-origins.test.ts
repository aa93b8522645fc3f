// Two push services in one broadcast, one of them broken: the other one's rows all arrive while it still is. The
// broken one is mended only afterwards, so that a broadcast which waited for it would never get there.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Broadcast } from '../../src/store/broadcast-store.ts';
import { checkSums, fastRetries, message, openStage, protocols, type Witness } from './fault-stage.ts';

/** Where the broken one's rows stand in the audience. */
type Layout = 'before those of the other' | 'in turn with those of the other';
const first: readonly Layout[] = ['before those of the other'];
const both: readonly Layout[] = [...first, 'in turn with those of the other'];

/** Never reached within a test. */
const forever = 600;

const faults: readonly {
  readonly title: string;
  readonly layouts?: readonly Layout[];
  readonly break: (witness: Witness) => unknown;
}[] = [
  { title: 'hangs', layouts: both, break: (broken) => broken.faults.rehearse({ kind: 'hang' }) },
  {
    title: 'answers late',
    break: (broken) => broken.faults.rehearse({ kind: 'delay', ms: forever * 1000 }),
  },
  {
    title: 'answers 429',
    layouts: both,
    break: (broken) => broken.faults.rehearse({ kind: 'status', status: 429, retryAfter: forever }),
  },
  { title: 'answers 503', break: (broken) => broken.faults.rehearse({ kind: 'status', status: 503 }) },
  { title: 'resets every connection', break: (broken) => broken.faults.rehearse({ kind: 'reset' }) },
  { title: 'is down', break: (broken) => broken.gate.shut() },
  { title: 'takes connections and says nothing', break: (broken) => broken.gate.fallSilent() },
];

/** More than a worker holds at a time. */
const brokenRows = 2500;
const workingRows = 500;

describe('a push service that', { concurrency: 6 }, () => {
  for (const protocol of protocols) {
    for (const { title, layouts = first, break: breakIt } of faults) {
      for (const layout of layouts) {
        test(`${title}, over ${protocol}, its rows ${layout}, holds nobody else up`, async (t) => {
          const stage = await openStage(t, protocol, 'HTTP/2');
          const [broken, working] = stage.witnesses;
          assert.ok(broken && working);
          const rows = [...broken.service.createSinks(brokenRows)];
          const others = working.sinks(workingRows);
          await stage.enroll(
            layout === 'before those of the other'
              ? [...rows, ...others]
              : rows.flatMap((row, index) => (index % 5 === 0 ? [row, others[index / 5] ?? row] : row)),
          );
          await breakIt(broken);

          const retryPolicy = { ...fastRetries, maxAttempts: 100 };
          const sender = stage.sender({ retryPolicy });
          const run = await sender.broadcast('all', message);
          await working.until(() => working.accepted === workingRows);
          assert.equal(broken.accepted, 0, 'it is still broken');
          assert.deepEqual(new Set(working.received(others)), new Set([1]));
          await run.stop();
          const { id } = run.broadcast;
          const stopped = await stage.store.broadcasts.find(id);
          checkSums(stopped as Broadcast);
          assert.equal(stopped?.counts.pending, brokenRows);
          assert.equal((await stage.stored()).length, brokenRows + workingRows);
        });
      }
    }
  }
});
