// Broadcasts that differ by reader, whole: each reads their own text, at their own time. `soak/readers.test.ts` kills their processes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../../src/operations/outcomes.ts';
import type { RowWait } from '../../src/store/attempts.ts';
import { until, within } from '../../tools/until.ts';
import { openTestStore } from '../store/test-database.ts';
import { assertDone, message, openBroadcastBench, quickRetries, timesReceived } from './broadcast-bench.ts';
import { deliverToReaders, expectedCounts } from './reader-stage.ts';

const rows = 600;

test('each reader gets the text of their language with their data, at their local time and not in quiet hours', async () => {
  const clock = { aheadMs: 0 };
  const { store, remove } = await openTestStore(() => Date.now() + clock.aheadMs);
  try {
    const { broadcast } = await deliverToReaders(store, clock, { rows, kills: 0 });
    const { recipients, texts } = expectedCounts(rows);
    assertDone(broadcast, { accepted: recipients });
    assert.deepEqual(broadcast.texts, texts);
  } finally {
    await remove();
  }
});

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** `09:00`, in UTC. */
const hourOf = (afterHours: number, fromMs = Date.now()) =>
  `${new Date(fromMs + afterHours * hourMs).toISOString().slice(11, 13)}:00`;

test('what quiet hours hold when it is about to be sent is sent once they end, by the zone of its reader', async () => {
  const clock = { aheadMs: 0 };
  const startMs = Math.floor(Date.now() / hourMs) * hourMs;
  const now = () => Date.now() + clock.aheadMs;
  const isLater = ({ untilMs = 0 }: Partial<RowWait> = {}) => untilMs > now() + minuteMs;
  // nothing is tried again before the clock is moved
  const retryPolicy = { ...quickRetries, firstDelayMs: 10 * minuteMs, maxDelayMs: hourMs };
  const moveTo = (hours: number) => {
    clock.aheadMs = startMs + hours * hourMs - Date.now();
  };
  await using bench = await openBroadcastBench({ now });
  const { store } = bench;
  const pushService = await bench.startPushService({ rows: 3 });
  const [endpoint] = await bench.subscribe(pushService, 1);
  for (const [id, timeZone] of [
    [2, 'Etc/GMT+1'], // an hour behind UTC
    [3, 'Etc/GMT-12'],
    [4, 'Etc/GMT+2'],
  ] as const) {
    await store.people.assign(id, { user: `${id}`, tags: [] });
    await store.readers.setPerson(`${id}`, { timeZone });
  }
  moveTo(0.5);
  const quietHours = `${hourOf(1, startMs)}-${hourOf(4, startMs)}`;
  const { broadcast } = await bench.createSender().createBroadcast('all', message, { quietHours });

  const outcomes = () => store.attempts.outcomesOf(broadcast.id, [1, 2, 3, 4]);
  /** @returns what has come of each, or until when it waits, once nothing is left to be done now */
  const workAt = async (hours: number) => {
    moveTo(hours);
    const sender = bench.createSender({ retryPolicy });
    sender.work(new AbortController().signal, (fault) => assert.fail(String(fault)));
    await until(
      async () => (await outcomes()).every(({ state, wait }) => state === 'accepted' || isLater(wait)),
      `what is due after ${hours} hours`,
    );
    await sender.close();
    return (await outcomes()).map(({ state, wait }) =>
      state === 'accepted' ? state : Math.round(((wait!.untilMs! - startMs) / hourMs) * 10) / 10,
    );
  };
  pushService.faults.inject({ kind: 'status', status: 503, endpoint: endpoint! });
  assert.deepEqual(await workAt(2.5), [4, 5, 'accepted', 2.7]);
  pushService.faults.clear();
  for (const outcome of (await outcomes()).slice(0, 2)) {
    assert.match(explain(outcome), /It waits for the time of its reader, or the end of their quiet hours/);
  }
  assert.deepEqual(await workAt(4), ['accepted', 5, 'accepted', 6]);
  assert.equal((await outcomes())[3]?.attempts.length, 1);
  assert.deepEqual(await workAt(5), ['accepted', 'accepted', 'accepted', 6]);
  assert.deepEqual(await workAt(6), ['accepted', 'accepted', 'accepted', 'accepted']);
  assertDone(await store.broadcasts.get(broadcast.id), { accepted: 4 });
});

test('what lacks a value by the time that it is tried again is rejected, and not sent', async () => {
  await using bench = await openBroadcastBench({ rows: 1 });
  const { people, readers, broadcasts } = bench.store;
  await people.assign(1, { user: 'ada' });
  await readers.setPerson('ada', { data: { name: 'Ada' } });
  bench.pushService.faults.inject({ kind: 'status', status: 503 });
  const sender = bench.createSender();
  const filled = { ...message, title: 'Hello {name}', placeholders: true };
  const { broadcast } = await sender.broadcast({ user: 'ada' }, filled);
  await until(async () => (await broadcasts.get(broadcast.id)).waiting === 1, 'one that is tried again');
  await sender.close();
  bench.pushService.faults.clear();
  await readers.setPerson('ada', { data: null });
  assertDone(await (await bench.createSender().resume(broadcast.id)).finished, { rejected: 1 });
  assert.deepEqual(timesReceived(bench.pushService), { 0: 1 });
});

test('what would be over before quiet hours end expires, and is not sent', async () => {
  await using bench = await openBroadcastBench({ rows: 3 });
  // since an hour, and for more than the hour that a message lasts at least
  const quietHours = `${hourOf(-1)}-${hourOf(4)}`;
  const { finished } = await bench.createSender().broadcast('all', message, { quietHours, ttlSeconds: 60 });
  assertDone(await within(finished, 'the end of what expires'), { expired: 3 });
  assert.deepEqual(timesReceived(bench.pushService), { 0: 3 });
});
