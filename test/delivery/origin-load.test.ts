// What a worker does with the rows of one push service that wait, or have no answer; the clock is a parameter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OriginLoad, type LoadRow } from '../../src/delivery/limits/origin-load.ts';
import { defaultWorkerSettings } from '../../src/delivery/worker/worker-settings.ts';

const { patienceMs, silentAfterMs, minAsideMs } = defaultWorkerSettings;
const startMs = 1_000_000;
const perMs = 1;

const rowAt = (takenAtMs: number, isReturning = false): LoadRow & { sending?: { writtenAtMs: number } } => ({
  takenAtMs,
  isReturning,
});
const sent = (load: OriginLoad, writtenAtMs: number): LoadRow => {
  const row = rowAt(writtenAtMs);
  row.sending = { writtenAtMs };
  load.recordSent(row);
  return row;
};

test('rows that come back are sent before those of slices, and each in its order', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  const rows = [rowAt(1), rowAt(2, true), rowAt(3), rowAt(4, true)];
  for (const row of rows) assert.equal(load.add(row, perMs, startMs), undefined);
  assert.deepEqual(
    rows.map(() => load.shift()?.takenAtMs),
    [2, 4, 1, 3],
  );
});

test('a row that has waited for long, by round trips, makes a backlog until nothing waits', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  load.recordResult(sent(load, startMs), startMs + 300, 300);
  load.add(rowAt(startMs), perMs, startMs);
  const longMs = patienceMs + 4 * 300;
  assert.equal(load.isBacklogged(startMs + longMs - 1, true), false);
  assert.equal(load.isBacklogged(startMs + longMs, false), true);
  load.add(rowAt(startMs + longMs), perMs, startMs + longMs);
  assert.ok(load.takeBacklog(startMs + longMs));
  assert.equal(load.isBacklogged(startMs + longMs, false), true);
  assert.ok(load.takeBacklog(startMs + longMs));
  assert.equal(load.isBacklogged(startMs + longMs, false), false);
});

test('where others wait behind it, a push service that answers nothing has a backlog at once', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  sent(load, startMs);
  assert.equal(load.isBacklogged(startMs + minAsideMs - 1, true), false);
  assert.equal(load.isBacklogged(startMs + minAsideMs, false), false);
  assert.equal(load.isBacklogged(startMs + minAsideMs, true), true);
});

test('time in our own queue says nothing of a push service', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  const row = rowAt(startMs);
  row.sending = { writtenAtMs: 0 };
  load.recordSent(row);
  assert.equal(load.defer(startMs + 1e9), undefined);
  assert.equal(load.isBacklogged(startMs + 1e9, true), false);
});

test('rows are put aside in their order, those that come back before those of slices, at twice the pace', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  const asideMs = (isReturning: boolean): number => {
    const notNow = load.putAside(rowAt(0, isReturning), perMs, startMs);
    assert.equal(notNow.kind, 'waits');
    return 'afterMs' in notNow ? notNow.afterMs - minAsideMs : Number.NaN;
  };
  assert.deepEqual([asideMs(false), asideMs(false), asideMs(false), asideMs(false)], [1, 1, 2, 2]);
  assert.deepEqual([asideMs(true), asideMs(true)], [1, 1]);
  assert.equal(asideMs(false), 3);
});

test('of the rows that come back, what is sent in a second may wait here', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  for (let row = 0; row < perMs * patienceMs; row += 1)
    assert.equal(load.add(rowAt(0, true), perMs, startMs), undefined);
  assert.equal(load.add(rowAt(0, true), perMs, startMs)?.kind, 'waits');
});

test('a push service is silent that has answered nothing for long, not one that is far or has nothing to answer', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  assert.equal(load.defer(startMs), undefined);
  const first = sent(load, startMs);
  assert.equal(load.defer(startMs + silentAfterMs - 1), undefined);
  assert.equal(load.defer(startMs + silentAfterMs)?.kind, 'deferred');
  assert.equal(load.putAside(rowAt(0), perMs, startMs + silentAfterMs).kind, 'deferred');
  load.recordResult(first, startMs + 5000, 5000);
  assert.equal(load.defer(startMs + 1e9), undefined);
  sent(load, startMs + 10_000);
  assert.equal(load.defer(startMs + 10_000 + 4 * 5000 - 1), undefined, 'it takes five seconds');
  assert.equal(load.defer(startMs + 10_000 + 4 * 5000)?.kind, 'deferred');
});

test('a row is late after one and a half round trips', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  load.recordResult(sent(load, startMs), startMs + 400, 400);
  const row = sent(load, startMs);
  assert.equal(load.isLate(row, startMs + 599, 100), false);
  assert.equal(load.isLate(row, startMs + 600, 100), true);
  assert.equal(load.isLate(row, startMs + 600, 1000), false);
});
