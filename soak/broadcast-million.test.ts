// A million rows from the SQLite store, end to end: everybody gets the message exactly once, and memory does not grow
// with the audience.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { measureBroadcast } from '../bench/broadcast/measure-broadcast.ts';
import { scaled } from './scale.ts';

const rows = scaled(1_000_000);
/** Enough for every thread to have reached the memory that it works in. */
const fewerRows = 100_000;
/** Between two runs of the same code the peak differs by about 15 MB. */
const allowedGrowthMegabytes = 40;

test(`${rows} subscribers get one broadcast exactly once, in the memory of ${fewerRows}`, async (t) => {
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, '../scripts/build.ts')]);
  const fewer = await measureBroadcast(fewerRows);
  const whole = await measureBroadcast(rows);
  const [peakOfFewer, peak] = [fewer, whole].map((run) => Math.max(...run.residentMegabytes)) as [
    number,
    number,
  ];
  t.diagnostic(
    `${whole.seconds.toFixed(1)} s, ${peak.toFixed(0)} MB; ${fewerRows} take ${peakOfFewer.toFixed(0)} MB`,
  );
  assert.ok(peak - peakOfFewer <= allowedGrowthMegabytes, `${peak} MB against ${peakOfFewer} MB`);
});
