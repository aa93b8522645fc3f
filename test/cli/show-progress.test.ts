// What `deskbell send` prints of its progress where there is no terminal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Progress } from '../../src/delivery/broadcast/progress.ts';
import type { BroadcastRun } from '../../src/delivery/sender-interface.ts';
import type { Output } from '../../src/cli/output/output.ts';
import { showProgress } from '../../src/cli/send/show-progress.ts';

test('without a terminal, a broadcast that waits prints no line twice', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  async function* progress(): AsyncGenerator<Progress> {
    for (const toRetry of [1, 1, 1, 0, 0]) {
      nowMs += 10_000;
      const rows = { recipients: 1, waiting: toRetry, toRetry, heldBack: [] };
      const broadcast = { state: 'running', alarms: [], origins: [], ...rows };
      yield { broadcast, settled: 0, ratePerSecond: 0 } as unknown as Progress;
    }
  }
  const lines: string[] = [];
  const output = { isTerminal: false, line: async (text: string) => void lines.push(text) };
  await showProgress({ progress } as unknown as BroadcastRun, output as unknown as Output, false);
  assert.equal(lines.length, 2);
  assert.match(lines[0]!, /1 waiting for a retry$/);
});
