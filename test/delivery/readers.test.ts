// Broadcasts that differ by reader, whole: each reads their own text, at their own time, also where processes are killed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
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

/** `09:00`, in UTC. */
const hourOf = (afterHours: number) =>
  `${new Date(Date.now() + afterHours * 3_600_000).toISOString().slice(11, 13)}:00`;

test('what would be over before quiet hours end expires, and is not sent', async () => {
  await using bench = await openBroadcastBench();
  const pushService = await bench.startPushService({ rows: 3 });
  // since an hour, and for more than the hour that a message lasts at least
  const quietHours = `${hourOf(-1)}-${hourOf(4)}`;
  const { finished } = await bench.createSender().broadcast('all', message, { quietHours, ttlSeconds: 60 });
  assertDone(await finished, { expired: 3 });
  assert.deepEqual(timesReceived(pushService), { 0: 3 });
});
