// Failovers and crashes that lose the last commits of broadcasts, many times, each at another moment of its pages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertDone } from '../test/delivery/broadcast-bench.ts';
import { loseCommits } from '../test/delivery/failover-stage.ts';
import { scaled } from './scale.ts';

const rows = 20_000;
const times = scaled(20);

for (const how of ['standby', 'unwritten'] as const) {
  test(`${times} times, commits of some seconds are lost (${how}), and nobody is skipped`, async (t) => {
    let repeats = 0;
    for (let round = 0; round < times; round += 1) {
      const lostMessages = Math.round(rows * (0.05 + 0.4 * Math.random()));
      const loss = await loseCommits({ how, rows, lostMessages, failingShare: 0.1 });
      assert.equal(loss.skipped, 0, `round ${round}, ${lostMessages} messages`);
      assertDone(loss.broadcast, { accepted: rows });
      repeats += loss.repeats;
    }
    t.diagnostic(`${times * rows} messages, ${repeats} repeated`);
    assert.ok(repeats > 0, 'commits were lost');
  });
}
