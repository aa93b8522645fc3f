// A database that loses the last commits, though they were acknowledged: nobody is skipped, and the counts add up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertDone } from './broadcast-bench.ts';
import { loseCommits } from './failover-stage.ts';

for (const [name, how] of [
  ['a failover to a standby that lags behind', 'standby'],
  ['a server that dies before it has written what it acknowledged', 'unwritten'],
] as const) {
  test(`${name} skips nobody`, async (t) => {
    const rows = 4000;
    const loss = await loseCommits({ how, rows, lostMessages: 400, failingShare: 0.1 });
    t.diagnostic(`${loss.skipped} skipped, ${loss.repeats} repeated`);
    assert.equal(loss.skipped, 0);
    assert.ok(loss.repeats > 0, 'commits were lost');
    assertDone(loss.broadcast, { accepted: rows });
  });
}
