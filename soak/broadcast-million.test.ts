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
/** Between two runs of the same code the peak differs by about 15 MB. */
const allowedGrowthMegabytes = 40;

test(`${rows} subscribers get one broadcast exactly once, in the memory of ${rows / 10}`, async (t) => {
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, '../scripts/build.ts')]);
  const tenth = await measureBroadcast(Math.ceil(rows / 10));
  const whole = await measureBroadcast(rows);
  const [peakOfTenth, peak] = [tenth, whole].map((run) => Math.max(...run.residentMegabytes)) as [
    number,
    number,
  ];
  t.diagnostic(
    `${whole.seconds.toFixed(1)} s, ${peak.toFixed(0)} MB; a tenth takes ${peakOfTenth.toFixed(0)} MB`,
  );
  assert.ok(peak - peakOfTenth <= allowedGrowthMegabytes, `${peak} MB against ${peakOfTenth} MB`);
});
