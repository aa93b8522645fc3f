// The breaker's states, with the clock as a parameter.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { answersRunMs, Breaker } from '../../src/transport/breaker.ts';

/** Any request; the probe, where there is one. */
const one = {};

/** Ten failures in a row, the first of them half a second before. @returns whether it has opened */
const failInRow = (breaker: Breaker, nowMs: number, reason = 'x', retryAfterMs = 0): boolean => {
  for (let run = 1; run <= 9; run += 1)
    assert.equal(
      breaker.recordFailure(one, reason, nowMs - answersRunMs, answersRunMs, run === 4 ? retryAfterMs : 0),
      false,
    );
  return breaker.recordFailure(one, reason, nowMs, answersRunMs);
};

const openBreaker = (nowMs: number): Breaker => {
  const breaker = new Breaker();
  assert.equal(failInRow(breaker, nowMs, 'it is down'), true);
  return breaker;
};

test('CLOSED lets everything pass; nine bad answers in a row do not open it, and a good one begins anew', () => {
  const breaker = new Breaker();
  for (let round = 0; round < 5; round += 1) {
    for (let run = 1; run <= 9; run += 1) assert.equal(breaker.recordFailure(one, 'x', 100 * run), false);
    breaker.recordSuccess(one);
  }
  assert.equal(breaker.waitMs(0), 0);
  assert.equal(breaker.isClosed, true);
});

test('a hundred refusals at once do not open it, half a second of them does', () => {
  const breaker = new Breaker();
  for (let run = 0; run < 100; run += 1)
    assert.equal(breaker.recordFailure(one, 'x', run, answersRunMs), false);
  assert.equal(breaker.recordFailure(one, 'x', 500, answersRunMs), true);
});

test('each bad probe opens it twice as long, up to a minute; a good one begins at a second again', () => {
  const breaker = openBreaker(0);
  let nowMs = 0;
  for (const openMs of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
    assert.equal(breaker.waitMs(nowMs), openMs);
    nowMs += openMs;
    assert.equal(breaker.waitMs(nowMs), 0);
    breaker.admitProbe(one);
    assert.equal(breaker.recordFailure(one, 'still down', nowMs), true);
  }
  nowMs += 60_000;
  assert.equal(breaker.waitMs(nowMs), 0);
  breaker.admitProbe(one);
  breaker.recordSuccess(one);
  failInRow(breaker, nowMs);
  assert.equal(breaker.waitMs(nowMs), 1000);
});

test('the longest Retry-After of the run keeps it open, at most an hour', () => {
  const breaker = new Breaker();
  breaker.recordFailure(one, 'busy', -500, answersRunMs, 30_000);
  failInRow(breaker, 0, 'busy', 90_000);
  assert.equal(breaker.waitMs(0), 90_000);
  const forever = new Breaker();
  failInRow(forever, 0, 'busy', 28 * 86_400_000);
  assert.equal(forever.waitMs(0), 3_600_000);
  const other = new Breaker();
  other.recordFailure(one, 'busy', 0, answersRunMs, 90_000);
  other.recordSuccess(one);
  failInRow(other, 0);
  assert.equal(other.waitMs(0), 1000, 'of a run that has ended');
});

test('what was in flight when it opened neither closes nor re-opens it', () => {
  const breaker = openBreaker(0);
  breaker.recordSuccess(one);
  assert.equal(breaker.waitMs(500), 500);
  for (let run = 0; run < 50; run += 1) assert.equal(breaker.recordFailure(one, 'late', 900), false);
  assert.equal(breaker.waitMs(1000), 0);
});

test('what one subscription was asked is not obeyed when a connection cannot be made, or breaks HTTP', () => {
  for (const how of ['openForConnection', 'open'] as const) {
    const breaker = new Breaker();
    breaker.recordFailure(one, '429', 0, answersRunMs, 3_600_000);
    breaker[how]('refused', 10);
    assert.equal(breaker.waitMs(10), 1000);
    assert.equal(breaker.takeWait(10), 0);
  }
});

test('what another sender was asked opens it for so long, and one request tries it then', () => {
  const breaker = new Breaker();
  breaker.pause('another was asked', 5000);
  breaker.pause('another was asked', 3000);
  assert.deepEqual([breaker.waitMs(1000), breaker.reason], [4000, 'another was asked']);
  breaker.recordSuccess(one);
  assert.equal(breaker.waitMs(4999), 1, 'an answer to what was sent before does not close it');
  assert.equal(breaker.waitMs(5000), 0);
  breaker.admitProbe(one);
  assert.equal(breaker.waitMs(5000), 1000);
  assert.equal(breaker.takeWait(0), 0, 'it was not asked itself');
});

test('Retry-After is given away once, and again where it ends later', () => {
  const breaker = new Breaker();
  const fail = (nowMs: number, retryAfterMs: number): void => void breaker.obey('x', nowMs, retryAfterMs);
  fail(0, 30_000);
  assert.deepEqual([breaker.takeWait(10_000), breaker.takeWait(10_000)], [20_000, 0]);
  fail(10_000, 20_500);
  assert.equal(breaker.takeWait(10_000), 0, 'that is not news');
  fail(10_000, 60_000);
  assert.equal(breaker.takeWait(10_000), 60_000);
});

test('only the probe decides what comes of HALF_OPEN: late answers to others change nothing', () => {
  const breaker = openBreaker(0);
  const [probe, other] = [{}, {}];
  assert.equal(breaker.waitMs(1000), 0);
  breaker.recordSuccess(other);
  assert.equal(breaker.isClosed, false);
  breaker.admitProbe(probe);
  breaker.recordUnsent(other);
  assert.equal(breaker.waitMs(1000), 1000, 'its place is taken');
  for (let run = 0; run < 20; run += 1) assert.equal(breaker.recordFailure(other, 'late', 1000), false);
  breaker.recordSuccess(other);
  assert.equal(breaker.isClosed, false);
  breaker.recordSuccess(probe);
  assert.equal(breaker.isClosed, true);
});
