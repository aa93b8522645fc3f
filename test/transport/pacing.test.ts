// The pace against simulated push services; time passes as the simulation says.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { latencyFloor, maxLimit, Pacing } from '../../src/transport/pacing.ts';

/**
 * Keeps as much in flight as the pace allows, against a push service that answers `perMs` requests a millisecond
 * after a round trip of `delayMs`.
 *
 * @returns requests answered per second of simulated time
 */
function simulate(
  pacing: Pacing,
  {
    delayMs,
    perMs,
    forMs,
    fromMs = 0,
  }: Record<string, number> & { delayMs: number; perMs: number; forMs: number },
): number {
  const inFlight: { readonly sentMs: number; readonly dueMs: number }[] = [];
  let answered = 0;
  let freeAtMs = fromMs;
  for (let nowMs = fromMs; nowMs < fromMs + forMs; nowMs += 1) {
    while (inFlight.length > 0 && (inFlight[0] as { dueMs: number }).dueMs <= nowMs) {
      pacing.recordAnswer(nowMs - (inFlight.shift() as { sentMs: number }).sentMs, nowMs);
      answered += 1;
    }
    while (inFlight.length < pacing.limit) {
      freeAtMs = Math.max(freeAtMs, nowMs) + 1 / perMs;
      inFlight.push({ sentMs: nowMs, dueMs: freeAtMs + delayMs });
    }
    pacing.recordLimitReached();
  }
  return (answered * 1000) / forMs;
}

test('a far push service gets as much in flight as rate and round trip ask for', () => {
  const perSecond = simulate(new Pacing(), { delayMs: 50, perMs: 28, forMs: 10_000 });
  assert.ok(perSecond > 0.95 * 28_000, `${perSecond} a second of 28,000`);
});

test('the limit grows from the first round on, which also measures the base', () => {
  const pacing = new Pacing();
  pacing.recordLimitReached();
  for (let answer = 0; answer < latencyFloor; answer += 1) pacing.recordAnswer(50, 50);
  assert.equal(pacing.limit, 2 * latencyFloor);
});

test('connections are opened for what the limit may be two rounds later', () => {
  const pacing = new Pacing();
  assert.equal(pacing.limitAhead, 4 * latencyFloor);
  pacing.recordThrottled(0);
  assert.equal(pacing.limit, 50);
  assert.equal(pacing.limitAhead, 79);
});

test('the base is measured anew with few in flight, and the limit is restored', () => {
  const pacing = new Pacing();
  simulate(pacing, { delayMs: 50, perMs: 100, forMs: 25_000 });
  const before = pacing.limit;
  const limits = [before];
  for (let fromMs = 25_000; fromMs < 35_000; fromMs += 10) {
    simulate(pacing, { delayMs: 5, perMs: 100, forMs: 10, fromMs });
    if (pacing.limit !== limits.at(-1)) limits.push(pacing.limit);
  }
  assert.deepEqual(limits, [before, latencyFloor, before]);
});

test('a push service that is the bottleneck is not flooded', () => {
  const pacing = new Pacing();
  const perSecond = simulate(pacing, { delayMs: 20, perMs: 2, forMs: 20_000 });
  assert.ok(perSecond > 0.95 * 2000, `${perSecond} a second of 2000`);
  assert.ok(pacing.limit <= 4 * latencyFloor, `${pacing.limit} in flight`);
});

test('the limit has a bound', () => {
  const pacing = new Pacing();
  simulate(pacing, { delayMs: 1000, perMs: 1000, forMs: 20_000 });
  assert.ok(pacing.limit <= maxLimit);
});

test('the limit does not grow while nothing is held back', () => {
  const pacing = new Pacing();
  for (let nowMs = 0; nowMs < 10_000; nowMs += 1) pacing.recordAnswer(5, nowMs);
  assert.equal(pacing.limit, latencyFloor);
});

test('429 and 503 halve the limit, once a second, down to one', () => {
  const pacing = new Pacing();
  const limits: number[] = [];
  for (let nowMs = 0; nowMs < 10_000; nowMs += 100) {
    pacing.recordThrottled(nowMs);
    if (nowMs % 1000 === 900) limits.push(pacing.limit);
  }
  assert.deepEqual(limits, [50, 25, 12, 6, 3, 1, 1, 1, 1, 1]);
});

test('for a minute after a 429 the limit grows in steps of a second, then freely', () => {
  const pacing = new Pacing();
  for (let nowMs = 0; nowMs <= 6000; nowMs += 1000) pacing.recordThrottled(nowMs);
  assert.equal(pacing.limit, 1);
  simulate(pacing, { delayMs: 5, perMs: 100, forMs: 3000, fromMs: 7000 });
  assert.ok(pacing.limit > 1 && pacing.limit < 10, `${pacing.limit} in flight after three seconds`);
  simulate(pacing, { delayMs: 5, perMs: 100, forMs: 20_000, fromMs: 10_000 });
  assert.ok(pacing.limit >= latencyFloor, `${pacing.limit} in flight after twenty more`);
});
