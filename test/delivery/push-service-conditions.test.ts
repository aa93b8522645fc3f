// What the newest answers of a push service must say before it is an alarm: how many, and how many of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUnanimous } from '../../src/delivery/alarms/push-service-conditions.ts';

interface Answers {
  readonly accepted?: number;
  readonly gone?: number;
  readonly rejected?: number;
}

/** The alarms over these intervals, the oldest first, one in each millisecond. */
const alarmsOf = (...intervals: readonly Answers[]) =>
  findUnanimous(
    intervals.map((answers, index) => ({
      startMs: index,
      widthMs: 1,
      pushService: 'push.example.net',
      attempts: 0,
      accepted: 0,
      gone: 0,
      rejected: 0,
      expired: 0,
      exhausted: 0,
      capped: 0,
      doubtful: 0,
      dormant: 0,
      ...answers,
    })),
  );
const kindsOf = (...intervals: readonly Answers[]): readonly string[] =>
  alarmsOf(...intervals).map(({ kind }) => kind);

test('at most 5 % of the answers are acceptances, and at least 95 % call the subscription gone', () => {
  assert.deepEqual(kindsOf({ accepted: 5, rejected: 95 }), ['accepts-nothing']);
  assert.deepEqual(kindsOf({ accepted: 6, rejected: 94 }), []);
  assert.deepEqual(kindsOf({ gone: 95, rejected: 5 }), ['all-gone']);
  assert.deepEqual(kindsOf({ gone: 95, accepted: 5 }), ['all-gone']);
  assert.deepEqual(kindsOf({ gone: 94, rejected: 6 }), ['accepts-nothing']);
  assert.deepEqual(kindsOf({ gone: 94, accepted: 6 }), []);
});

test('fewer than twenty answers say nothing', () => {
  assert.deepEqual(kindsOf({ rejected: 19 }), []);
  assert.deepEqual(kindsOf({ rejected: 20 }), ['accepts-nothing']);
  assert.deepEqual(kindsOf({ gone: 19 }), []);
  assert.deepEqual(kindsOf({ gone: 10 }, { gone: 10 }), ['all-gone']);
});

test('the newest hundred answers decide, whatever was before', () => {
  assert.deepEqual(kindsOf({ accepted: 1000 }, { rejected: 60 }, { rejected: 40 }), ['accepts-nothing']);
  assert.deepEqual(kindsOf({ accepted: 1000 }, { rejected: 60 }, { rejected: 39 }), []);
  assert.deepEqual(kindsOf({ rejected: 1000 }, { accepted: 6, rejected: 94 }), []);
});

test('an alarm says since when it is so, and of how many messages', () => {
  const [alarm] = alarmsOf({ accepted: 50 }, { rejected: 30 }, { rejected: 70 }, { rejected: 40 });
  assert.deepEqual([alarm?.sinceMs, alarm?.count, alarm?.unit], [1, 140, 'message']);
});
