// 100,000 readers of three languages in four time zones, half of them in quiet hours, by two processes that are killed ten times: each
// gets their own text with their own data, once their time has come. On both databases.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertDone } from '../test/delivery/broadcast-bench.ts';
import { deliverToReaders, expectedCounts } from '../test/delivery/reader-stage.ts';
import { openTestStore, usePostgres } from '../test/store/test-database.ts';
import { scaled } from './scale.ts';

const rows = scaled(100_000);
const kills = scaled(10);

for (const database of ['SQLite', 'PostgreSQL']) {
  test(`${rows} readers get their own text at their own time: ${database}`, async (t) => {
    if (database === 'PostgreSQL') usePostgres();
    const clock = { aheadMs: 0 };
    const { store, remove } = await openTestStore(() => Date.now() + clock.aheadMs);
    // before the server of the test is stopped
    try {
      const startedMs = Date.now();
      const { broadcast, messages, repeats, killed } = await deliverToReaders(store, clock, { rows, kills });
      const { recipients, texts } = expectedCounts(rows);
      assertDone(broadcast, { accepted: recipients });
      assert.deepEqual(broadcast.texts, texts);
      const seconds = Math.round((Date.now() - startedMs) / 1000);
      t.diagnostic(
        `${killed} kills, ${messages} messages, ${repeats} of them repeats, 0 lost, 0 wrong, 0 early; ${seconds} s`,
      );
    } finally {
      await remove();
    }
  });
}
