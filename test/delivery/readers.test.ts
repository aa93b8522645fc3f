// Broadcasts that differ by reader, whole: each reads their own text, at their own time, also where processes are killed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestStore } from '../store/test-database.ts';
import { assertDone } from './broadcast-bench.ts';
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
