import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Assignment, type AssignedRow } from '../../src/delivery/worker/assignment.ts';
import type { Destination } from '../../src/delivery/message-path/destinations.ts';
import { OriginGate } from '../../src/delivery/limits/origin-gate.ts';
import { defaultWorkerSettings } from '../../src/delivery/settings/settings.ts';
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
const destination: Destination = {
  origin: 'https://fcm.googleapis.com',
  vapidPublicKey: 'key',
  isUnlisted: false,
  isSilentStranger: () => false,
  isDormant: false,
  setDormant: () => {},
  notListed: undefined,
  notSendable: undefined,
  gate: new OriginGate(defaultWorkerSettings),
  headersFor: () => ({}),
};
const take = (assignment: Assignment) => assignment.takeRow(() => destination, 0);
const accepted = (row: AssignedRow): RowResult => ({
  recipient: row.recipient,
  origin: row.destination.origin,
  attempts: 1,
  result: 'accepted',
});
const never = (): boolean => false;
const lease = { broadcastId: 1, fenceToken: 'token' };
const untilEnd = { ...lease, broadcast, slice: 0, cursor: 0, throughPosition: 100 };

function sliceOf(
  positions: readonly number[],
  throughPosition: number,
): { assignment: Assignment; rows: AssignedRow[] } {
  const assignment = new Assignment({ ...untilEnd, throughPosition });
  assignment.addRead(positions.map(recipient), true);
  const rows = positions.map(() => take(assignment) as AssignedRow);
  assert.equal(take(assignment), undefined);
  return { assignment, rows };
}

test('the cursor passes rows in order, only as far as all have an answer', () => {
  const { assignment, rows } = sliceOf([2, 4, 6, 8], 10);
  const [two, four, six, eight] = rows as [AssignedRow, AssignedRow, AssignedRow, AssignedRow];
  assignment.settle(four, accepted(four));
  assignment.settle(eight, accepted(eight));
  assert.equal(assignment.takePage(never, 0), undefined);
  assignment.settle(two, accepted(two));
  const first = assignment.takePage(never, 0);
  assert.equal(first?.cursors?.cursor, 4);
  assert.deepEqual(
    first?.rows.map((row) => row.recipient.position),
    [2, 4],
  );
  assert.equal(assignment.isDone, false);
  assignment.settle(six, accepted(six));
  assert.equal(
    assignment.takePage(never, 0)?.cursors?.cursor,
    10,
    'the last row takes the cursor to the end of the slice',
  );
  assert.equal(assignment.isDone, true);
});

test('a slice whose rows are all gone is passed without any', () => {
  const { assignment } = sliceOf([], 10);
  assert.deepEqual(assignment.takePage(never, 0), { rows: [], cursors: { fromCursor: 0, cursor: 10 } });
  assert.equal(assignment.isDone, true);
});

test('of a slice with members, the page says how many the cursor has passed that were not found', () => {
  const members = { ids: [2, 3, 5, 8, 9] };
  const assignment = new Assignment({ ...untilEnd, cursor: 2, throughPosition: 10, members });
  assignment.addRead([5, 8].map(recipient), true);
  const [five, eight] = [take(assignment), take(assignment)] as [AssignedRow, AssignedRow];
  assignment.settle(five, accepted(five));
  assert.deepEqual(assignment.takePage(never, 0)?.cursors, { fromCursor: 2, cursor: 5, missing: 1 });
  assignment.settle(eight, accepted(eight));
  assert.deepEqual(assignment.takePage(never, 0)?.cursors, { fromCursor: 5, cursor: 10, missing: 1 });
});

test('a row that is detached lets the cursor pass, and is settled by itself later', () => {
  const { assignment, rows } = sliceOf([1, 2, 3], 3);
  const [one, two, three] = rows as [AssignedRow, AssignedRow, AssignedRow];
  assignment.settle(two, accepted(two));
  assignment.settle(three, accepted(three));
  const page = assignment.takePage(() => true, 5000);
  assert.equal(page?.cursors?.cursor, 3);
  assert.deepEqual(
    page?.rows.map(({ result, retry }) => [result, retry?.delayMs]),
    [
      ['detached', 5000],
      ['accepted', undefined],
      ['accepted', undefined],
    ],
  );
  assert.equal(assignment.isDone, false);
  assert.equal(assignment.detachedRows, 1);
  assignment.recordCommitted(page!.rows);
  assert.equal(assignment.uncommittedRows, 1, 'its answer is not stored yet');
  assignment.settle(one, accepted(one));
  assert.deepEqual(assignment.takeDetached(), { rows: [accepted(one)] });
  assignment.recordCommitted([accepted(one)]);
  assert.equal(assignment.uncommittedRows, 0);
  assert.equal(assignment.isDone, true);
});

test('an assignment that is stopped keeps what was sent and leaves the rest before the cursor', () => {
  const assignment = new Assignment(untilEnd);
  assignment.addRead([1, 2, 3].map(recipient), false);
  const one = take(assignment) as AssignedRow;
  assignment.stop();
  assert.equal(take(assignment), undefined);
  assert.equal(assignment.needsReading, false);
  assignment.settle(one, accepted(one));
  assert.equal(assignment.takePage(never, 0)?.cursors?.cursor, 1);
  assert.equal(assignment.isDone, true);
  assert.equal(assignment.isUnfinished, true);
});

test('an assignment of which nothing is left is not cut short by a stop', () => {
  const { assignment, rows } = sliceOf([1], 10);
  const [one] = rows as [AssignedRow];
  assignment.stop();
  assignment.settle(one, accepted(one));
  assert.equal(assignment.takePage(never, 0)?.cursors?.cursor, 10);
  assert.equal(assignment.isUnfinished, false);
});

test('rows that arrive after the stop are not taken', () => {
  const assignment = new Assignment(untilEnd);
  assignment.stop();
  assignment.addRead([recipient(1)], true);
  assert.equal(take(assignment), undefined);
  assert.equal(assignment.takePage(never, 0), undefined, 'the cursor stays');
});

test('what cannot happen is told and not gone along with', () => {
  const { assignment, rows } = sliceOf([1], 10);
  const [one] = rows as [AssignedRow];
  assert.throws(() => assignment.addRead([recipient(2)], true), /read only where some are left/);
  assignment.settle(one, accepted(one));
  assert.throws(() => assignment.settle(one, accepted(one)), /settled once/);
});

test('a row that was not tried yet expires so long after the time of its own reader', () => {
  const startAtMs = Date.parse('2026-12-01T11:00:00Z');
  const times = { localTime: '2026-12-01T13:00', timeZone: 'UTC', startAtMs, ttlSeconds: 7200 };
  for (const [timeZone, hours] of [
    ['America/New_York', 7 + 2],
    ['Europe/Berlin', 1 + 2],
    // over at the start: the next day
    ['Asia/Tokyo', 17 + 2],
    [undefined, 2 + 2],
  ] as const) {
    const reader = { language: undefined, timeZone };
    const assignment = new Assignment({ ...untilEnd, broadcast: { ...broadcast, ...times }, reader });
    assignment.addRead([recipient(1)], true);
    assert.equal(take(assignment)?.tries.expiresAtMs, startAtMs + hours * 3_600_000, timeZone ?? 'none');
  }
});

test('retries are detached from the start and keep their tries', () => {
  const tries = { attempts: 2, deferrals: 3, expiresAtMs: 9000, refusals: 1, doubts: 2 };
  const assignment = new Assignment({
    ...lease,
    broadcast,
    rows: [{ ...recipient(7), ...tries, ifRefused: 'retry' }],
    areProbes: false,
  });
  assert.equal(assignment.detachedRows, 1);
  const row = take(assignment) as AssignedRow;
  assert.deepEqual(row.tries, tries);
  assert.equal(row.ifRefused, 'retry');
  assert.equal(assignment.pageRows, 0);
  assignment.settle(row, accepted(row));
  assert.equal(assignment.takePage(never, 0), undefined);
  assert.equal(assignment.takeDetached()?.cursors, undefined);
  assert.equal(assignment.isDone, true);
  assert.equal(assignment.isUnfinished, false);
});
