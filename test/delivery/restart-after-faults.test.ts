import assert from 'node:assert/strict';
import { test } from 'node:test';
import { restartAfterFaults } from '../../src/delivery/worker/restart-after-faults.ts';

/** @param lastsMs how long each run of the work lasts before it fails; the work is stopped after them */
async function pausesAfter(lastsMs: readonly number[]): Promise<number[]> {
  const stop = new AbortController();
  const pauses: number[] = [];
  const faults: unknown[] = [];
  let nowMs = 0;
  let run = 0;
  await restartAfterFaults(
    async () => {
      nowMs += lastsMs[run]!;
      run += 1;
      if (run === lastsMs.length) stop.abort();
      throw new Error(`fault ${run}`);
    },
    {
      stopped: stop.signal,
      onFault: (fault) => faults.push(fault),
      nowMs: () => nowMs,
      wait: async (ms) => {
        pauses.push(ms);
        nowMs += ms;
      },
    },
  );
  assert.deepEqual(
    faults.map(String),
    lastsMs.map((_, index) => `Error: fault ${index + 1}`),
  );
  return pauses;
}

test('work that fails again and again is started after ever longer pauses, a minute at most', async () => {
  assert.deepEqual(
    await pausesAfter([0, 0, 0, 0, 0, 0, 0, 0]),
    [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000],
  );
});

test('once it has lasted for a minute, the first pause after a fault is short again', async () => {
  assert.deepEqual(await pausesAfter([0, 0, 59_999, 60_000, 0]), [1000, 2000, 4000, 1000, 2000]);
});
