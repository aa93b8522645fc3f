// Three processes send one broadcast through PgBouncer in transaction mode, which is killed and started again in the middle of
// it, while a snapshot of before is held. Nobody may be left out and nobody counted twice, and about no broadcast more than ten
// notices a second are sent.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Client } from 'pg';
import { pgbouncer, skipWithout } from '../scripts/install-test-tools.ts';
import { startPushService } from '../src/push-service/index.ts';
import { openPostgresStore } from '../src/store/postgres/open-store.ts';
import { createSender } from '../src/delivery/sender.ts';
import {
  assertDone,
  message,
  quickRetries,
  storeSinks,
  timesReceived,
  vapid,
} from '../test/delivery/broadcast-bench.ts';
import { startPgBouncer } from '../test/store/pgbouncer.ts';
import { countNotices } from '../tools/notice-counter.ts';
import { useSharedServer } from '../tools/postgres-server.ts';
import { until } from '../tools/until.ts';
import { startDelivering } from './delivering-process.ts';
import { scaled } from './scale.ts';

const rows = scaled(100_000);
const senders = 3;
const restarts = Math.max(scaled(10), 2);
const maxNoticesInSecond = 10;
const worker = { maxPageRows: 256, maxDetachedRows: 512, retryLeaseRows: 64 };
const longestMs = 30 * 60 * 1000;

const getServer = useSharedServer();

test(
  `${restarts} restarts of PgBouncer leave nobody out of a broadcast to ${rows}`,
  { skip: skipWithout('PgBouncer', [pgbouncer]) },
  async (t) => {
    await using stack = new AsyncDisposableStack();
    const { url } = await (await getServer()).createDatabase();
    const bouncer = stack.adopt(await startPgBouncer(url), (opened) => opened.close());
    const store = stack.adopt(await openPostgresStore({ url: bouncer.through(url) }), (opened) =>
      opened.close(),
    );
    const pushService = stack.adopt(await startPushService({ checksBodies: false, tls: true }), (service) =>
      service.close(),
    );
    const { origin, ca } = pushService;
    await storeSinks(store, pushService, rows);
    pushService.faults.inject({ kind: 'delay', ms: 100 });
    pushService.faults.inject({ kind: 'status', status: 503, share: 0.05 });

    const notices = stack.adopt(await countNotices(url), (counter) => counter.close());
    const reader = stack.adopt(new Client({ connectionString: url }), (client) => client.end());
    await reader.connect();
    await reader.query('begin isolation level repeatable read');
    await reader.query('select count(*) from deskbell.slices');

    const senderOptions = {
      vapid,
      pushServices: [origin],
      ca,
      threads: 1,
      retryPolicy: quickRetries,
      worker,
    };
    const sender = createSender({ ...senderOptions, store });
    const { broadcast: created } = await sender.createBroadcast('all', message);
    await sender.close();
    const children = Array.from({ length: senders }, () => {
      const child = startDelivering(store.address, senderOptions);
      stack.defer(() => void child.kill('SIGKILL'));
      return child;
    });

    const messages = (): number => pushService.tallySinks()[0]?.messages ?? 0;
    const find = async () => (await store.broadcasts.find(created.id))!;
    for (let restart = 1; restart <= restarts; restart += 1) {
      const atMessages = (restart / (restarts + 1)) * rows;
      await until(
        () => messages() > atMessages,
        () => `${Math.ceil(atMessages)} messages; there are ${messages()}`,
        longestMs,
      );
      await bouncer.restart();
      // all of them give back what they have
      if (restart === 1) {
        await store.broadcasts.pause(created.id);
        await store.broadcasts.resume(created.id);
      }
    }
    assert.equal((await find()).state, 'running', 'the last restart fell into the broadcast');
    await until(async () => (await find()).state !== 'running', 'the end of the broadcast', longestMs);
    const ends = children.map((child) => once(child, 'exit'));
    for (const child of children) child.kill('SIGTERM');
    for (const [code] of await Promise.all(ends)) assert.equal(code, 0, 'how a sender ended');

    const lost = timesReceived(pushService)['0'] ?? 0;
    const repeats = messages() - (rows - lost);
    t.diagnostic(`${lost} lost, ${repeats} repeated, at most ${notices.mostInSecond} notices in a second`);
    assert.equal(lost, 0);
    assertDone(await find(), { accepted: rows });
    assert.ok(repeats <= restarts * senders * (worker.maxPageRows + worker.maxDetachedRows));
    assert.ok((await notices.count(created.id)) > 0);
    assert.ok(notices.mostInSecond <= maxNoticesInSecond);
  },
);
