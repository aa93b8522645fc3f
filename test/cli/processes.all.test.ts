// `deskbell` processes that are killed, stopped while a push service does not answer, or run on a machine with a wrong clock.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';
import { exampleSubscription, type ExampleSubscription } from './example-subscriptions.ts';
import {
  dataWithSinks,
  environmentFor,
  outputOf,
  runCommand,
  runUntilStopped,
  spawnUntilStopped,
  storeSinks,
  temporaryFolder,
} from './run-command.ts';
import { sendJson } from '../service/running-service.ts';

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
      const response = await sendJson(address, 'POST', '/webPush', subscription);
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
  const stdout = await outputOf(runCommand(['subscriptions', 'export', '--data', data]));
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

// A `deskbell serve` that is stopped while a push service does not answer: it waits as long as closing may take.

test('a message that its push service does not answer is given up while it stops, and its request is told so', async () => {
  const received = Promise.withResolvers<void>();
  await using pushService = await startPushService({
    onEvent: ({ type }) => type === 'fault' && received.resolve(),
  });
  const { environment } = await dataWithSinks(pushService, 1);
  const { stdout: token } = await runCommand('operators add backup --send', { environment });
  pushService.faults.inject({ kind: 'hang' });
  const words = ['serve', '--port', '0', '--operator', '127.0.0.1:0', '--json'];
  const service = runUntilStopped(words, { environment });
  const [line] = await service.waitFor(/^.*"operator".*$/);
  const { operator } = JSON.parse(line) as { operator: string };
  const body = { to: { id: 1 }, message: { title: 't', message: 'm' } };
  const authorization = `Bearer ${token.trim()}`;
  const asked = sendJson(operator, 'POST', '/v1/messages', body, { authorization });
  await received.promise;
  const [exitCode, response] = await Promise.all([service.end('SIGTERM'), asked]);
  assert.equal(exitCode, 0);
  assert.equal(response.status, 503);
  const { code, items } = (await response.json()) as { code: string; items: readonly { detail: string }[] };
  assert.equal(code, 'ERR_MESSAGE_RETRY');
  assert.match(items[0]!.detail, /The transport was closed before an answer came/);
});

// `deskbell worker` and `deskbell serve` on a machine with a wrong clock, beside a database in PostgreSQL whose clock is right.

const getServer = useSharedServer();
const rows = 5000;
const days = 40;

/** Every thread of the process reads its time from this. */
const ahead = `const { now } = Date; Date.now = () => now() + ${days * 86_400_000};
  globalThis.Date = new Proxy(Date, { construct: (D, given) => (given.length ? new D(...given) : new D(D.now())) });`;

test(`a worker whose machine is ${days} days ahead says so, as a service does, and delivers as others do`, async () => {
  await using opened = new AsyncDisposableStack();
  const database = await (await getServer()).createDatabase();
  opened.defer(() => database.remove());
  const data = await temporaryFolder();
  const pushService = await startPushService({ checksBodies: false });
  opened.defer(() => pushService.close());
  const own = await openDataDirectory(data, { database: database.url });
  opened.defer(() => own.close());
  const { store } = own;
  const vapid = { ...own.vapidKeys, subject: 'mailto:push@example.org' };
  const sender = createSender({ vapid, store, pushServices: [pushService.origin] });
  opened.defer(() => sender.close());
  await storeSinks(own, pushService, rows);
  const message = { title: 'Hello', message: 'World' };
  const daily = await sender.createSchedule('all', message, { cron: '0 0 1 1 *' });
  const { broadcast } = await sender.createBroadcast('all', message, { ttlSeconds: 3600 });
  const environment = {
    ...environmentFor(data, pushService),
    DESKBELL_DATABASE: database.url,
    NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(ahead)}"`,
  };
  const worker = spawnUntilStopped('worker --json', { environment });
  await worker.waitFor(/"event":"summary"/);
  assert.equal(await worker.end(), 0);
  const { counts } = (await store.broadcasts.find(broadcast.id))!;
  assert.equal(counts.accepted, rows);
  assert.deepEqual(await store.schedules.list(), [daily]);
  const service = spawnUntilStopped('serve --port 0', { environment });
  await service.waitFor(/^Deskbell listens on /);
  assert.equal(await service.end(), 0);
  for (const { written } of [worker, service]) {
    const [, seconds] =
      /The clock of the database .* differs from this machine's by (\d+) s/.exec(written()) ?? [];
    assert.ok(Math.abs(Number(seconds) - days * 86_400) < 100, written());
  }
});
