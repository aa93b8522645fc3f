// A broadcast that is sent while its database loses what was committed last, though a sender was told that it is stored: the
// primary dies, and a standby that lags behind takes its place; or a server dies that answers before it has written.
import assert from 'node:assert/strict';
import { createSender } from '../../src/delivery/sender.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { startFaultyProxy } from '../../tools/faulty-proxy.ts';
import { PostgresServer } from '../../tools/postgres-server.ts';
import { until, within } from '../../tools/until.ts';
import { message, quickRetries, storeSinks, timesReceived, vapid } from './broadcast-bench.ts';

export interface LossOptions {
  /** `standby`: it takes over. `unwritten`: `synchronous_commit` is off, and the server starts again. */
  readonly how: 'standby' | 'unwritten';
  readonly rows: number;
  /** How many messages are sent whose results may be lost. */
  readonly lostMessages: number;
  /** The part of the requests that are answered by 503. */
  readonly failingShare: number;
}

const longMs = 60 * 1000;

export async function loseCommits({ how, rows, lostMessages, failingShare }: LossOptions) {
  await using stack = new AsyncDisposableStack();
  const primary = stack.adopt(await PostgresServer.start(), (server) => server.stop());
  const network = stack.adopt(await startFaultyProxy(primary.port), (proxy) => proxy.close());
  const database = new URL((await primary.createDatabase()).url);
  const standby = stack.adopt(await primary.startStandby(network.port), (server) => server.stop());
  const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
  const url = database.href.replace(database.host, hosts);
  const store = stack.adopt(await openPostgresStore({ url, retryForMs: 60_000 }), (opened) => opened.close());
  const pushService = stack.adopt(await startPushService({ checksBodies: false, tls: true }), (service) =>
    service.close(),
  );
  const { origin, ca } = pushService;
  await storeSinks(store, pushService, rows);

  const sender = stack.adopt(
    createSender({
      vapid,
      store,
      threads: 0,
      pushServices: [origin],
      ca,
      retryPolicy: quickRetries,
      worker: { leaseMs: 2000, maxPageRows: 64, maxDetachedRows: 128, retryLeaseRows: 64 },
    }),
    (opened) => opened.close(),
  );
  pushService.faults.inject({ kind: 'status', status: 503, share: failingShare });
  pushService.faults.inject({ kind: 'delay', ms: 20 });
  const { broadcast: created } = await sender.createBroadcast('all', message);
  const stop = new AbortController();
  const working = sender.work(stop.signal);
  const messages = (): number => pushService.tallySinks()[0]?.messages ?? 0;
  const reach = (count: number) =>
    until(
      () => messages() >= count,
      () => `${count} messages; there are ${messages()}`,
      longMs,
    );

  await reach(rows / 4);
  if (how === 'standby') network.stall(longMs);
  else await answerBeforeWriting(primary);
  await reach(rows / 4 + lostMessages);
  if (how === 'standby') {
    primary.kill();
    network.reset();
    await standby.promote();
  } else {
    await primary.crash();
  }
  pushService.faults.clear();

  const find = () => store.broadcasts.find(created.id);
  await until(async () => (await find())?.state === 'done', 'the end of the broadcast', longMs);
  stop.abort();
  await within(working, 'the worker to end');
  const broadcast = await find();
  assert.ok(broadcast);
  /** Subscriptions that got nothing. */
  const skipped = timesReceived(pushService)['0'] ?? 0;
  return { broadcast, skipped, repeats: messages() - (rows - skipped) };
}

/** What is committed from now on is written seconds later. */
async function answerBeforeWriting(server: PostgresServer): Promise<void> {
  for (const setting of [
    'synchronous_commit = off',
    "wal_writer_delay = '10s'",
    "wal_writer_flush_after = '1GB'",
  ]) {
    await server.administer(`alter system set ${setting}`);
  }
  await server.administer('select pg_reload_conf()');
}
