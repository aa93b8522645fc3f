// Three processes send one broadcast from PostgreSQL, while a sender is killed or stopped for a minute, a backend or the whole
// server is killed, or the network between them fails, in random order and spread over the broadcast. Nobody may be left out
// and nobody counted twice, what a dead sender held is taken over within twenty seconds, and the broadcast ends by itself.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { test } from 'node:test';
import { Client } from 'pg';
import { createSender } from '../src/delivery/sender.ts';
import { startPushService } from '../src/push-service/index.ts';
import { openPostgresStore } from '../src/store/postgres/open-store.ts';
import {
  assertDone,
  message,
  quickRetries,
  storeSinks,
  timesReceived,
  vapid,
} from '../test/delivery/broadcast-bench.ts';
import { useSharedServer } from '../tools/postgres-server.ts';
import { startFaultyProxy } from '../tools/faulty-proxy.ts';
import { startDelivering } from './delivering-process.ts';
import { readLeaseLog, startLeaseLog, takeoversOf } from './lease-log.ts';
import { scaled } from './scale.ts';
import { until } from '../tools/until.ts';

const senders = 3;
/** The push service is slow: the broadcast lasts for as long as the faults take. */
const answerAfterMs = 600;
const secondsAtLeast = Math.max(scaled(120), 60);
/** The same at every scale: a sender takes over from a dead one once it has sent its own slice, which takes 7 s. */
const rowsPerSecond = 833;
const rows = secondsAtLeast * rowsPerSecond;
const pageRows = Math.ceil((rowsPerSecond * answerAfterMs) / (1000 * senders));
/**
 * Pages are smaller than by default: what may be repeated is a small part of the audience. Rows stay in them however late they
 * are answered, so that slices are what senders hold. Leases are as by default.
 */
const patienceMs = 60_000;
const worker = {
  maxPageRows: pageRows,
  maxDetachedRows: 512,
  retryLeaseRows: 64,
  maxCommitDelayMs: patienceMs,
  crowdedCommitDelayMs: patienceMs,
  silentAfterMs: patienceMs,
};
const takenOverWithinMs = 20_000;
/** Longer than a lease of the defaults and the time until others look: another sender takes over. */
const awayMs = Math.max(scaled(60_000), 20_000);
const networkFaultMs = 5000;
const longestMs = 60 * 60 * 1000;

/** How often each happens. */
const times = {
  'stop a sender': 1,
  'kill a sender': scaled(30),
  'kill a backend': scaled(10),
  'kill the server': scaled(5),
  'reset connections': scaled(5),
  'stall connections': scaled(3),
  'delay connections': scaled(3),
};
type Fault = keyof typeof times;

const getServer = useSharedServer();

const numberOfFaults = Object.values(times).reduce((sum, count) => sum + count, 0);

test(`${numberOfFaults} faults leave nobody out of a broadcast to ${rows}`, async (t) => {
  const server = await getServer();
  const { url } = await server.createDatabase();
  const store = await openPostgresStore({ url, retryForMs: 60_000 });
  t.after(() => store.close());
  await startLeaseLog(url);
  const proxy = await startFaultyProxy(server.port);
  t.after(() => proxy.close());
  const pushService = await startPushService({ checksBodies: false, tls: true });
  t.after(() => pushService.close());
  pushService.faults.inject({ kind: 'delay', ms: answerAfterMs });
  await storeSinks(store, pushService, rows);

  const { origin, ca } = pushService;
  const senderOptions = { vapid, pushServices: [origin], ca, threads: 1, retryPolicy: quickRetries };
  const sender = createSender({ ...senderOptions, store });
  await sender.createBroadcast('all', message);
  await sender.close();

  const children = new Map<string, ChildProcess>();
  const failures: string[] = [];
  let started = 0;
  let isOver = false;
  const start = (): void => {
    started += 1;
    const name = `sender ${started}`;
    const behindProxy = new URL(url);
    behindProxy.port = String(proxy.port);
    behindProxy.searchParams.set('application_name', name);
    const child = startDelivering(
      { ...store.address, options: { ...(store.address.options as object), url: behindProxy.href } },
      { ...senderOptions, worker },
    );
    children.set(name, child);
    child.on('exit', (code, signal) => {
      children.delete(name);
      // one that has only just started does not hear what it is told
      const isToldToEnd = signal === 'SIGKILL' || (isOver && signal === 'SIGTERM');
      if (code !== 0 && !isToldToEnd) failures.push(`${name} ended with ${code ?? signal}`);
    });
  };
  t.after(() => children.forEach((child) => child.kill('SIGKILL')));

  /** Since when a sender did nothing. */
  const silent: { readonly holder: string; readonly atMs: number }[] = [];
  const away = new Set<string>();
  let wokenInState: string | undefined;
  const stopAnySender = (signal: 'SIGKILL' | 'SIGSTOP') => {
    const present = [...children].filter(([name]) => !away.has(name));
    const [name, child] = present[Math.floor(Math.random() * present.length)]!;
    child.kill(signal);
    silent.push({ holder: name, atMs: Date.now() });
    return { name, child };
  };

  const faults: Readonly<Record<Fault, () => Promise<void> | void>> = {
    'kill a sender': () => {
      const { name } = stopAnySender('SIGKILL');
      children.delete(name);
      start();
    },
    'stop a sender': () => {
      const { name, child } = stopAnySender('SIGSTOP');
      away.add(name);
      setTimeout(() => {
        child.kill('SIGCONT');
        away.delete(name);
        void stateNow().then((state) => (wokenInState = state));
      }, awayMs);
    },
    'kill a backend': () => killBackend(url),
    'kill the server': () => server.crash(),
    'reset connections': () => proxy.reset(),
    'stall connections': () => proxy.stall(networkFaultMs),
    'delay connections': () => proxy.delay(50, networkFaultMs),
  };
  const stateNow = async () => (await store.broadcasts.list({ limit: 1 }))[0]?.state;

  const startedAtMs = performance.now();
  for (let count = 0; count < senders; count += 1) start();
  const messages = (): number => pushService.tallySinks()[0]?.messages ?? 0;
  const happened = new Map<Fault, number>();
  for (const [index, fault] of ['stop a sender' as const, ...shuffled()].entries()) {
    // somewhere in its part of the broadcast
    const atMessages = ((index + Math.random()) / (numberOfFaults + 1)) * rows;
    await until(
      () => messages() > atMessages || failures.length > 0,
      () => `${Math.ceil(atMessages)} messages; there are ${messages()}`,
      longestMs,
    );
    await faults[fault]();
    happened.set(fault, (happened.get(fault) ?? 0) + 1);
  }
  assert.equal(await stateNow(), 'running', 'the last fault fell into the broadcast');
  await until(
    async () => failures.length > 0 || (await stateNow()) !== 'running',
    'the end of the broadcast',
    longestMs,
  );
  isOver = true;
  for (const child of children.values()) child.kill('SIGTERM');
  await until(() => children.size === 0, 'the senders to end');
  t.diagnostic(`${Math.round((performance.now() - startedAtMs) / 1000)} s`);

  const [broadcast] = await store.broadcasts.list({ limit: 1 });
  assert.ok(broadcast);
  const lost = timesReceived(pushService)[0] ?? 0;
  const repeats = messages() - (rows - lost);
  t.diagnostic(`${JSON.stringify(Object.fromEntries(happened))}: ${lost} lost, ${repeats} repeated`);
  assert.deepEqual(failures, []);
  assert.equal(wokenInState, 'running', 'who was away came back during the broadcast');
  assert.equal(lost, 0);
  assertDone(broadcast, { accepted: rows });
  // one page for each sender that a fault reaches, with what is detached from it
  const uncommittedRows = worker.maxPageRows + worker.maxDetachedRows;
  const disturbed = Array.from(
    happened,
    ([fault, count]) => count * (fault.endsWith('a sender') ? 1 : senders),
  );
  assert.ok(repeats <= disturbed.reduce((sum, count) => sum + count, 0) * uncommittedRows);

  const log = await readLeaseLog(url);
  const takeovers = silent.flatMap(({ holder, atMs }) => takeoversOf(log, holder, atMs));
  const latest = takeovers.reduce((most, { afterMs }) => Math.max(most, afterMs), 0);
  t.diagnostic(
    `${takeovers.length} leases were taken over from those who had died or were away, after ${Math.round(latest)} ms at most`,
  );
  assert.ok(takeovers.length > 0);
  assert.ok(latest <= takenOverWithinMs, `${latest} ms`);
});

/** The process of a connection: the server then ends all of them, and recovers. */
async function killBackend(url: string): Promise<void> {
  await until(async () => {
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
      if (backend !== undefined) {
        process.kill(backend.pid, 'SIGKILL');
        return true;
      }
    } catch {
      // the server is recovering from the fault before
    } finally {
      await client.end().catch(() => {});
    }
    return false;
  }, 'a server process to kill');
}

/** All but the first one. */
function shuffled(): readonly Fault[] {
  const all = (Object.keys(times) as Fault[]).flatMap((fault) =>
    Array.from({ length: fault === 'stop a sender' ? 0 : times[fault] }, () => fault),
  );
  return all
    .map((fault) => ({ fault, order: Math.random() }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ fault }) => fault);
}
