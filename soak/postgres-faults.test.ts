// Three processes send one broadcast from PostgreSQL, while a sender is killed or stopped for a while, a backend or the whole
// server is killed, or the network between them fails, in random order. Nobody may be left out and nobody counted twice, and the
// broadcast ends by itself. A limit on the rate makes it last long enough.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { maxUncommittedRows } from '../src/delivery/settings.ts';
import { createEndpointPolicy } from '../src/protocol/endpoint-policy.ts';
import { parseSubscription } from '../src/protocol/subscription.ts';
import { startPushService } from '../src/push-service/index.ts';
import { openPostgresStore } from '../src/store/postgres/open-postgres-store.ts';
import { assertDone, quickRetries, timesReceived, vapidKeys } from '../test/delivery/broadcast-bench.ts';
import { startSendingChild } from '../test/delivery/start-sending-child.ts';
import { useSharedServer } from '../test/store/postgres-server.ts';
import { startFaultyProxy } from './faulty-proxy.ts';
import { scaled } from './scale.ts';

const rows = scaled(100_000);
const senders = 3;
/** Of all senders together: the faults fall into the broadcast. */
const secondsAtLeast = scaled(90);
const longestPauseMs = 1500;
/** Longer than the leases of `sending-child.ts`: another sender takes over. */
const awayMs = 5000;
const seedRows = 5000;

/** How often each happens. */
const times = {
  'kill a sender': scaled(30),
  'stop a sender': scaled(3),
  'kill a backend': scaled(10),
  'kill the server': scaled(5),
  'reset connections': scaled(5),
  'stall connections': scaled(3),
  'delay connections': scaled(3),
};
type Fault = keyof typeof times;

const getServer = useSharedServer();

test(`${Object.values(times).reduce((sum, count) => sum + count)} faults leave nobody out of a broadcast to ${rows}`, async (t) => {
  const server = await getServer();
  const { url } = await server.createDatabase();
  const store = await openPostgresStore({ url, retryForMs: 60_000 });
  t.after(() => store.close());
  const proxy = await startFaultyProxy(server.port);
  t.after(() => proxy.close());
  const pushService = await startPushService({ checksBodies: false });
  t.after(() => pushService.close());
  const policy = createEndpointPolicy([pushService.origin]);
  const sinks = [...pushService.createSinks(rows, { vapidPublicKey: vapidKeys.publicKey })];
  for (let first = 0; first < rows; first += seedRows) {
    const some = sinks.slice(first, first + seedRows).map((sink) => parseSubscription(sink, policy));
    await store.subscriptions.putAll(
      some.map((subscription) => ({ subscription, vapidPublicKey: vapidKeys.publicKey })),
    );
  }

  const address = {
    ...store.address,
    options: {
      ...(store.address.options as object),
      url: url.replace(`:${server.port}/`, `:${proxy.port}/`),
    },
  };
  const children = new Set<ChildProcess>();
  const failures: string[] = [];
  const start = (): void => {
    const child = startSendingChild({
      address,
      origin: pushService.origin,
      vapidKeys,
      options: {
        threads: 1,
        maxRate: [`${pushService.origin}=${Math.ceil((60 * rows) / secondsAtLeast)}/min`],
        retryPolicy: quickRetries,
      },
    });
    children.add(child);
    child.on('exit', (code, signal) => {
      children.delete(child);
      if (code !== 0 && signal !== 'SIGKILL') failures.push(`a sender ended with ${code ?? signal}`);
    });
  };
  t.after(() => children.forEach((child) => child.kill('SIGKILL')));
  const anySender = (): ChildProcess | undefined => [...children][Math.floor(Math.random() * children.size)];

  const faults: Readonly<Record<Fault, () => Promise<void> | void>> = {
    'kill a sender': () => {
      anySender()?.kill('SIGKILL');
      start();
    },
    'stop a sender': async () => {
      const child = anySender();
      child?.kill('SIGSTOP');
      await sleep(awayMs);
      child?.kill('SIGCONT');
    },
    'kill a backend': () => killBackend(url),
    'kill the server': () => server.crash(),
    'reset connections': () => proxy.reset(),
    'stall connections': () => proxy.stall(awayMs),
    'delay connections': () => proxy.delay(50, awayMs),
  };

  for (let count = 0; count < senders; count += 1) start();
  const messages = (): number => pushService.tallySinks()[0]?.messages ?? 0;
  while (messages() === 0 && failures.length === 0) await sleep(50);
  const happened = new Map<Fault, number>();
  for (const fault of shuffled()) {
    const broadcast = (await store.broadcasts.list({ limit: 1 }))[0];
    if (broadcast?.state !== 'running' || failures.length > 0) break;
    await faults[fault]();
    happened.set(fault, (happened.get(fault) ?? 0) + 1);
    await sleep(Math.random() * longestPauseMs);
  }
  t.diagnostic(JSON.stringify(Object.fromEntries(happened)));
  while (children.size > 0) await sleep(100);

  assert.deepEqual(failures, []);
  const [broadcast] = await store.broadcasts.list({ limit: 1 });
  assert.ok(broadcast);
  const lost = timesReceived(pushService)[0] ?? 0;
  const repeats = messages() - (rows - lost);
  t.diagnostic(`${lost} lost, ${repeats} repeated`);
  assert.equal(lost, 0);
  assertDone(broadcast, { accepted: rows });
  // one page for each sender that a fault reaches
  const disturbed = Array.from(
    happened,
    ([fault, count]) => count * (fault.endsWith('a sender') ? 1 : senders),
  );
  assert.ok(repeats <= disturbed.reduce((sum, count) => sum + count, 0) * maxUncommittedRows);
});

/** A connection's own process: the server then ends all of them, and recovers. */
async function killBackend(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  // its own connection ends too
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows: backends } = await client.query<{ readonly pid: number }>(
      `select pid from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    const backend = backends[Math.floor(Math.random() * backends.length)];
    if (backend !== undefined) process.kill(backend.pid, 'SIGKILL');
  } catch {
    // the server is recovering from the fault before
  } finally {
    await client.end().catch(() => {});
  }
}

function shuffled(): readonly Fault[] {
  const all = (Object.keys(times) as Fault[]).flatMap((fault) =>
    Array.from({ length: times[fault] }, () => fault),
  );
  return all
    .map((fault) => ({ fault, order: Math.random() }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ fault }) => fault);
}
