// What a killed service leaves behind: every registration that was acknowledged, in a database that is intact and on the
// console.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { exampleSubscription, type ExampleSubscription } from './example-subscriptions.ts';
import { runCommand, spawnUntilStopped, temporaryFolder } from './run-command.ts';

const registrations = 300;
const inFlight = 16;

suite('kill -9', () => {
  test('at random moments of 300 registrations loses none that was acknowledged', async (t) => {
    const data = await temporaryFolder();
    const unlimited = ['--registrations-per-minute', 'off'];
    const words = ['serve', '--port', '0', '--data', data, '--logging', '', ...unlimited];
    const acknowledged = new Map<string, ExampleSubscription>();
    let kills = 0;
    for (; acknowledged.size < registrations; kills += 1) {
      const service = spawnUntilStopped(words);
      const isRead = once(service.child, 'close');
      const before = new Set(acknowledged.keys());
      if (Math.random() < 0.2) {
        // Before it is ready, while it may be making its files.
        await sleep(Math.random() * 400);
      } else {
        const [, address = ''] = await service.waitFor(/^Deskbell listens on (http:\S+) /);
        const killAfter = acknowledged.size + Math.ceil(Math.random() * 150);
        await registerUntilKilled(address, acknowledged, () => {
          if (acknowledged.size === killAfter) service.send('SIGKILL');
        });
      }
      await service.end('SIGKILL');
      await isRead;
      const written = service.written();
      for (const endpoint of acknowledged.keys()) {
        assert.ok(before.has(endpoint) || written.includes(endpoint), `${endpoint} is not on the console`);
      }
      await checkStored(data, acknowledged);
    }
    t.diagnostic(`${kills} kills, ${acknowledged.size} registrations acknowledged`);
  });
});

/** Registers new subscriptions, several at once, until the service is no longer there. */
async function registerUntilKilled(
  address: string,
  acknowledged: Map<string, ExampleSubscription>,
  onAcknowledged: () => void,
): Promise<void> {
  const registerAll = async (): Promise<void> => {
    for (;;) {
      const subscription = exampleSubscription(crypto.randomUUID());
      const response = await fetch(`${address}/webPush`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(subscription),
      });
      assert.equal(response.status, 200);
      acknowledged.set(subscription.endpoint, subscription);
      onAcknowledged();
      await response.arrayBuffer();
    }
  };
  // A fetch that fails is the end that is waited for; any other fault is one.
  const ends = await Promise.allSettled(Array.from({ length: inFlight }, registerAll));
  for (const end of ends) {
    const { reason } = end as PromiseRejectedResult;
    if (!(reason instanceof TypeError)) throw reason;
  }
}

/** More than were acknowledged can only be those that were under way when the service was killed. */
async function checkStored(
  data: string,
  acknowledged: ReadonlyMap<string, ExampleSubscription>,
): Promise<void> {
  if (acknowledged.size === 0) return;
  const { stdout, exitCode, stderr } = await runCommand(['subscriptions', 'export', '--data', data]);
  assert.equal(exitCode, 0, stderr);
  const stored = new Map<string, ExampleSubscription>();
  for (const line of stdout.trim().split('\n')) {
    const { endpoint, keys } = JSON.parse(line) as ExampleSubscription;
    stored.set(endpoint, { endpoint, keys });
  }
  for (const [endpoint, subscription] of acknowledged) assert.deepEqual(stored.get(endpoint), subscription);
  const database = new DatabaseSync(join(data, 'deskbell.db'), { readOnly: true });
  assert.deepEqual({ ...database.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
  database.close();
}
