// Broadcasts that differ by reader, whole: each reads their own text, at their own time, also where processes are killed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../../src/views/row-outcome.ts';
import { until, within } from '../../tools/until.ts';
import { openTestStore } from '../store/test-database.ts';
import { assertDone, message, openBroadcastBench, timesReceived } from './broadcast-bench.ts';
import { deliverToReaders, expectedCounts } from './reader-stage.ts';

const rows = 2000;

test('each reader gets the text of their language with their data, at their local time and not in quiet hours', async () => {
  const clock = { aheadMs: 0 };
  const { store, remove } = await openTestStore(() => Date.now() + clock.aheadMs);
  try {
    const { broadcast } = await deliverToReaders(store, clock, { rows, kills: 3 });
    const { recipients, texts } = expectedCounts(rows);
    assertDone(broadcast, { accepted: recipients });
    assert.deepEqual(broadcast.texts, texts);
  } finally {
    await remove();
  }
});

const hourMs = 3_600_000;

/** `09:00`, in UTC. */
const hourOf = (afterHours: number, fromMs = Date.now()) =>
  `${new Date(fromMs + afterHours * hourMs).toISOString().slice(11, 13)}:00`;

test('what quiet hours hold when it is about to be sent is sent once they end, by the zone of its reader', async () => {
  const clock = { aheadMs: 0 };
  const startMs = Math.floor(Date.now() / hourMs) * hourMs;
  const moveTo = (hours: number) => {
    clock.aheadMs = startMs + hours * hourMs - Date.now();
  };
  await using bench = await openBroadcastBench(() => Date.now() + clock.aheadMs);
  const { store } = bench;
  await bench.startPushService({ rows: 3 });
  for (const [id, timeZone] of [
    [2, 'Etc/GMT+1'], // an hour behind UTC
    [3, 'Etc/GMT-12'],
  ] as const) {
    await store.people.assign(id, { user: `${id}`, tags: [] });
    await store.readers.setPerson(`${id}`, { timeZone });
  }
  moveTo(0.5);
  const quietHours = `${hourOf(1, startMs)}-${hourOf(4, startMs)}`;
  const { broadcast } = await bench.createSender().createBroadcast('all', message, { quietHours });

  /** @returns what has come of each, or until when it waits, once so many are settled and the others wait */
  const workAt = async (hours: number, accepted: number) => {
    moveTo(hours);
    const sender = bench.createSender();
    sender.work(new AbortController().signal, (fault) => assert.fail(String(fault)));
    await until(async () => {
      const { counts, waiting } = await store.broadcasts.get(broadcast.id);
      return counts.accepted >= accepted && counts.accepted + waiting === 3;
    }, `${accepted} accepted`);
    await sender.close();
    const outcomes = await store.attempts.outcomesOf(broadcast.id, [1, 2, 3]);
    return outcomes.map((outcome) => {
      if (outcome.state !== 'waiting') return outcome.state;
      assert.match(explain(outcome), /Nothing was sent yet: its reader has quiet hours/);
      return Math.round(((outcome.wait!.untilMs! - startMs) / hourMs) * 10) / 10;
    });
  };
  assert.deepEqual(await workAt(2.5, 1), [4, 5, 'accepted']);
  assert.deepEqual(await workAt(4, 2), ['accepted', 5, 'accepted']);
  assert.deepEqual(await workAt(5, 3), ['accepted', 'accepted', 'accepted']);
  assertDone(await store.broadcasts.get(broadcast.id), { accepted: 3 });
});

test('what would be over before quiet hours end expires, and is not sent', async () => {
  await using bench = await openBroadcastBench();
  const pushService = await bench.startPushService({ rows: 3 });
  // since an hour, and for more than the hour that a message lasts at least
  const quietHours = `${hourOf(-1)}-${hourOf(4)}`;
  const { finished } = await bench.createSender().broadcast('all', message, { quietHours, ttlSeconds: 60 });
  assertDone(await within(finished, 'the end of what expires'), { expired: 3 });
  assert.deepEqual(timesReceived(pushService), { 0: 3 });
});
