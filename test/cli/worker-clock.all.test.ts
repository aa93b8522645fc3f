// `deskbell worker` and `deskbell serve` on a machine with a wrong clock, beside a database in PostgreSQL whose clock is right.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';
import { environmentFor, spawnUntilStopped, temporaryFolder } from './run-command.ts';

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
  const { store, vapidKeys, close } = await openDataDirectory(data, { database: database.url });
  opened.defer(close);
  const vapid = { ...vapidKeys, subject: 'mailto:push@example.org' };
  const sender = createSender({ vapid, store, pushServices: [pushService.origin] });
  opened.defer(() => sender.close());
  const policy = createEndpointPolicy([pushService.origin]);
  const { publicKey: vapidPublicKey } = vapidKeys;
  await store.subscriptions.putAll(
    [...pushService.createSinks(rows, { vapidPublicKey })].map((sink) => ({
      subscription: parseSubscription(sink, policy),
      vapidPublicKey,
    })),
  );
  const message = { title: 'Hello', message: 'World' };
  const daily = await sender.createSchedule('all', message, { cron: '0 0 1 1 *' });
  const { broadcast } = await sender.createBroadcast('all', message, { ttlSeconds: 3600 });
  const environment = {
    ...environmentFor(data, pushService),
    DESKBELL_DATABASE: database.url,
    NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(ahead)}"`,
  };
  const worker = spawnUntilStopped(['worker', '--json'], { environment });
  await worker.waitFor(/"event":"summary"/);
  assert.equal(await worker.end(), 0);
  const { counts } = (await store.broadcasts.find(broadcast.id))!;
  assert.equal(counts.accepted, rows);
  assert.deepEqual(await store.schedules.list(), [daily]);
  const service = spawnUntilStopped(['serve', '--port', '0'], { environment });
  await service.waitFor(/^Deskbell listens on /);
  assert.equal(await service.end(), 0);
  for (const { written } of [worker, service]) {
    const [, seconds] =
      /The clock of the database .* differs from this machine's by (\d+) s/.exec(written()) ?? [];
    assert.ok(Math.abs(Number(seconds) - days * 86_400) < 100, written());
  }
});
