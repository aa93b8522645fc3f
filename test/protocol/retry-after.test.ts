import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readRetryAfterMs } from '../../src/protocol/outcome.ts';

// The oldest form of an HTTP date names no zone: GMT is meant, wherever this machine is.
process.env['TZ'] = 'America/New_York';

const nowMs = Date.UTC(2026, 10, 21, 1, 0, 0);
const fourWeeksMs = 28 * 24 * 60 * 60 * 1000;
const retryAfters: readonly [string | undefined, number | undefined][] = [
  [undefined, undefined],
  ['0', 0],
  ['1', 1000],
  [' 120 ', 120_000],
  ['99999999999999999999', fourWeeksMs],
  ['9'.repeat(400), fourWeeksMs],
  ['Sat, 21 Nov 2026 01:00:30 GMT', 30_000],
  ['Saturday, 21-Nov-26 01:00:30 GMT', 30_000],
  ['Sat Nov 21 01:00:30 2026', 30_000],
  ['Sat, 21 Nov 2026 00:00:00 GMT', 0],
  ['Fri, 31 Dec 2100 00:00:00 GMT', fourWeeksMs],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['0x10', undefined],
  ['1e3', undefined],
  ['2026-11-21', undefined],
  ['Sat, 99 Nov 2026 99:00:30 GMT', undefined],
  ['Sat', undefined],
  ['21 Nov 2026, Sat, 01:00:30 GMT', undefined],
  ['2026-11-21 Sat', undefined],
];
for (const [value, afterMs] of retryAfters) {
  test(`Retry-After ${JSON.stringify(value?.slice(0, 40))} means ${afterMs === undefined ? 'nothing' : `${afterMs} ms`}`, () => {
    assert.equal(readRetryAfterMs(value, nowMs), afterMs);
  });
}
