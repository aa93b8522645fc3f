// How the cursor of a slice moves over rows whose answers come in any order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldWork, type HeldRow } from '../../src/delivery/held-work.ts';
import type { Broadcast, Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';

const broadcast = { id: 1, expiresAtMs: 1e15, ttlSeconds: 60 } as Broadcast;
const recipient = (position: number): Recipient => ({
  position,
  subscriptionId: undefined,
  endpoint: `https://fcm.googleapis.com/${position}`,
  p256dh: new Uint8Array(65),
  auth: new Uint8Array(16),
  vapidPublicKey: undefined,
  updatedAtMs: 0,
});
const accepted = (row: HeldRow): RowResult => ({
  recipient: row.recipient,
  origin: row.origin,
  attempts: 1,
  result: 'accepted',
});
const never = (): boolean => false;
const held = { broadcastId: 1, fenceToken: 'token' };

function sliceOf(positions: readonly number[], throughPosition: number): { work: HeldWork; rows: HeldRow[] } {
  const work = new HeldWork({ ...held, broadcast, slice: 0, cursor: 0, throughPosition });
  work.read(positions.map(recipient), true);
  const rows = positions.map(() => work.next() as HeldRow);
  assert.equal(work.next(), undefined);
  return { work, rows };
}

test('the cursor passes rows in order, only as far as all have an answer', () => {
  const { work, rows } = sliceOf([2, 4, 6, 8], 10);
  const [two, four, six, eight] = rows as [HeldRow, HeldRow, HeldRow, HeldRow];
  work.settle(four, accepted(four));
  work.settle(eight, accepted(eight));
  assert.equal(work.takePage(never, 0), undefined);
  work.settle(two, accepted(two));
  const first = work.takePage(never, 0);
  assert.equal(first?.cursor, 4);
  assert.deepEqual(
    first?.rows.map((row) => row.recipient.position),
    [2, 4],
  );
  assert.equal(work.isDone, false);
  work.settle(six, accepted(six));
  assert.equal(work.takePage(never, 0)?.cursor, 10, 'the last row takes the cursor to the end of the slice');
  assert.equal(work.isDone, true);
});

test('a slice whose rows are all gone is passed without any', () => {
  const { work } = sliceOf([], 10);
  assert.deepEqual(work.takePage(never, 0), { rows: [], cursor: 10 });
  assert.equal(work.isDone, true);
});

test('a row that is parked lets the cursor pass, and is settled by itself later', () => {
  const { work, rows } = sliceOf([1, 2, 3], 3);
  const [one, two, three] = rows as [HeldRow, HeldRow, HeldRow];
  work.settle(two, accepted(two));
  work.settle(three, accepted(three));
  const page = work.takePage(() => true, 5000);
  assert.equal(page?.cursor, 3);
  assert.deepEqual(
    page?.rows.map(({ result, retry }) => [result, retry?.delayMs]),
    [
      ['inFlight', 5000],
      ['accepted', undefined],
      ['accepted', undefined],
    ],
  );
  assert.equal(work.isDone, false);
  assert.equal(work.parkedRows, 1);
  work.settle(one, accepted(one));
  assert.deepEqual(work.takeParked(), { rows: [accepted(one)] });
  assert.equal(work.isDone, true);
});

test('work that is stopped keeps what was sent and leaves the rest before the cursor', () => {
  const work = new HeldWork({ ...held, broadcast, slice: 0, cursor: 0, throughPosition: 100 });
  work.read([1, 2, 3].map(recipient), false);
  const one = work.next() as HeldRow;
  work.stop();
  assert.equal(work.next(), undefined);
  assert.equal(work.needsReading, false);
  work.settle(one, accepted(one));
  assert.equal(work.takePage(never, 0)?.cursor, 1);
  assert.equal(work.isDone, true);
  assert.equal(work.isUnfinished, true);
});

test('rows that arrive after the stop are not taken', () => {
  const work = new HeldWork({ ...held, broadcast, slice: 0, cursor: 0, throughPosition: 100 });
  work.stop();
  work.read([recipient(1)], true);
  assert.equal(work.next(), undefined);
  assert.equal(work.takePage(never, 0), undefined, 'the cursor stays');
});

test('claimed retries are parked from the start and keep their tries', () => {
  const tries = { attempts: 2, deferrals: 3, expiresAtMs: 9000 };
  const work = new HeldWork({ ...held, broadcast, rows: [{ ...recipient(7), ...tries }] });
  assert.equal(work.parkedRows, 1);
  const row = work.next() as HeldRow;
  assert.deepEqual(row.tries, tries);
  assert.equal(work.pageRows, 0);
  work.settle(row, accepted(row));
  assert.equal(work.takePage(never, 0), undefined);
  assert.equal(work.takeParked()?.cursor, undefined);
  assert.equal(work.isDone, true);
  assert.equal(work.isUnfinished, false);
});
