// When a share of the recipients was reached, from the intervals in which outcomes are counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureReach } from '../../src/delivery/broadcast/progress.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import type { OutcomeInterval } from '../../src/store/statistics.ts';

const startAtMs = 1_800_000_000_000;
const none = {
  attempts: 0,
  accepted: 0,
  gone: 0,
  rejected: 0,
  expired: 0,
  exhausted: 0,
  capped: 0,
  doubtful: 0,
  dormant: 0,
};

const interval = (
  startSeconds: number,
  widthSeconds: number,
  counts: Partial<OutcomeInterval>,
): OutcomeInterval => ({
  startMs: startAtMs + startSeconds * 1000,
  widthMs: widthSeconds * 1000,
  pushService: 'fcm.googleapis.com',
  ...none,
  ...counts,
});

const reach = (recipients: number, removed: number, intervals: readonly OutcomeInterval[]) =>
  measureReach({ recipients, counts: { removed } as Broadcast['counts'], startAtMs }, intervals).map(
    ({ seconds, precisionSeconds }) => [seconds, precisionSeconds],
  );

const unknown = [undefined, undefined];

test('a time is the end of the interval in which the share was reached, and as exact as that is narrow', () => {
  const intervals = [
    interval(0, 1, { accepted: 49 }),
    interval(3, 1, { accepted: 1 }),
    interval(130, 10, { accepted: 44, gone: 3 }),
    interval(130, 10, { accepted: 1, pushService: 'web.push.apple.com' }),
    interval(7200, 60, { accepted: 4, expired: 90 }),
  ];
  assert.deepEqual(reach(100, 0, intervals), [
    [4, 1],
    [140, 10],
    [7260, 60],
  ]);
  // one less
  assert.deepEqual(reach(100, 0, intervals.slice(0, 4)), [[4, 1], [140, 10], unknown]);
  assert.deepEqual(reach(101, 0, intervals), [[140, 10], [7260, 60], unknown]);
});

test('who was removed before their turn is no recipient; attempts that are to be repeated are no outcome', () => {
  const intervals = [interval(0, 1, { attempts: 90 }), interval(1, 1, { attempts: 50, accepted: 50 })];
  assert.deepEqual(reach(100, 50, intervals), [
    [2, 1],
    [2, 1],
    [2, 1],
  ]);
  assert.deepEqual(reach(100, 0, intervals), [[2, 1], unknown, unknown]);
  assert.deepEqual(reach(0, 0, []), [unknown, unknown, unknown]);
});
