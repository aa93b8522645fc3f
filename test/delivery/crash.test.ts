// What a broadcast promises when the process that sends it dies: nobody is left out, counts add up, and a kill
// repeats at most one page per worker.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { maxUncommittedRows } from '../../src/delivery/settings/settings.ts';
import { assertDone, openBroadcastBench, timesReceived, vapidKeys } from './broadcast-bench.ts';
import { startSendingChild } from './start-sending-child.ts';
import { until } from '../../tools/until.ts';

const rows = 4200;
const threads = 2;

test('a broadcast whose process is killed again and again reaches all', async () => {
  await using bench = await openBroadcastBench({ tls: true, rows });
  const { ca, origin } = bench.pushService;
  const start = () =>
    startSendingChild({ address: bench.store.address, origin, vapidKeys, options: { threads, ca } });
  const messages = () => bench.pushService.tallySinks()[0]?.messages ?? 0;

  let kills = 0;
  for (; kills < 2; kills += 1) {
    const before = messages();
    const child = start();
    const exited = once(child, 'exit');
    // from the first message of this process on, at any moment
    await until(() => messages() !== before || child.exitCode !== null, 'its first message');
    await sleep(Math.random() * 100);
    child.kill('SIGKILL');
    await exited;
  }
  const last = start();
  const [code] = await once(last, 'exit');
  assert.equal(code, 0);

  const [broadcast] = await bench.store.broadcasts.list({ limit: 10 });
  assert.ok(broadcast);
  assertDone(broadcast, { accepted: rows });
  const times = timesReceived(bench.pushService);
  assert.equal(times[0] ?? 0, 0, 'nobody is left out');
  const repeats = messages() - rows;
  assert.ok(repeats <= kills * threads * maxUncommittedRows, `${repeats} repeats`);
});
