// Everything through PgBouncer in transaction mode, where no statement can count on the connection of the one before.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { Client } from 'pg';
import { pgbouncer, skipWithout } from '../../scripts/install-test-tools.ts';
import { createSender, type Sender } from '../../src/delivery/sender.ts';
import { startPushService, type PushService } from '../../src/push-service/index.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { assertDone, message, quickRetries, timesReceived, vapid } from '../delivery/broadcast-bench.ts';
import { never } from '../delivery/test-clock.ts';
import { sendJson, startService } from '../service/running-service.ts';
import { startPgBouncer, type PgBouncer } from './pgbouncer.ts';
import { useSharedServer, type TestDatabase } from '../../tools/postgres-server.ts';
import { until } from '../../tools/until.ts';
import { pluck } from '../../tools/pluck.ts';

const getServer = useSharedServer();
const rows = 300;

describe('through PgBouncer', { skip: skipWithout('the tests with PgBouncer', [pgbouncer]) }, () => {
  let database: TestDatabase;
  let bouncer: PgBouncer;
  let pushService: PushService;
  let closers: (() => Promise<unknown>)[];

  before(async () => {
    bouncer = await startPgBouncer((await getServer()).urlOf('postgres'));
  });
  after(() => bouncer.close());
  beforeEach(async () => {
    closers = [];
    database = await (await getServer()).createDatabase('template1');
    pushService = await startPushService({ checksBodies: false });
  });
  afterEach(async () => {
    await Promise.all(closers.map((close) => close()));
    await pushService.close();
    await database.remove();
  });

  /** As another process opens it. */
  const open = async (): Promise<Store> => {
    const store = await openPostgresStore({ url: bouncer.through(database.url) });
    closers.push(() => store.close());
    return store;
  };
  const startSender = (store: Store, threads: number): Sender => {
    const sender = createSender({
      vapid,
      store,
      threads,
      pushServices: [pushService.origin],
      retryPolicy: quickRetries,
      // a lease that ends on a busy machine would have rows sent again
      worker: { leaseMs: never },
    });
    // before its store
    closers.unshift(() => sender.close());
    return sender;
  };
  /** Over HTTP, all at once. */
  const register = async (store: Store, t: { after(close: () => unknown): void }): Promise<void> => {
    const service = await startService({
      store,
      vapidPublicKey: vapid.publicKey,
      pushServices: [pushService.origin],
    });
    t.after(() => service.close());
    const sinks = [...pushService.createSinks(rows, { vapidPublicKey: vapid.publicKey })];
    const answers = await Promise.all(sinks.map((sink) => sendJson(service.base, 'POST', '/webPush', sink)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  };

  test('four processes make the tables, register, and send one broadcast together', async (t) => {
    const [first, second, third, fourth] = await Promise.all([open(), open(), open(), open()]);
    await register(first, t);
    assert.equal(await second.subscriptions.count(), rows);
    const run = await startSender(second, 2).broadcast('all', message, { idempotencyKey: 'one' });
    const others = await Promise.all(
      [startSender(third, 0), startSender(fourth, 1)].map((sender) =>
        sender.broadcast('all', message, { idempotencyKey: 'one' }),
      ),
    );
    for (const { finished } of [run, ...others]) assertDone(await finished, { accepted: rows });
    assert.deepEqual(timesReceived(pushService), { 1: rows });
  });

  test('a broadcast is paused, resumed and cancelled; people, schedules and operators are stored', async (t) => {
    const store = await open();
    await register(store, t);
    const { broadcast } = await startSender(store, 0).createBroadcast('all', message);
    const { id } = broadcast;
    await store.broadcasts.pause(id);
    assert.equal(await store.leases.leaseSlice({ leaseMs: 1000 }), undefined);
    await store.broadcasts.resume(id);
    assert.equal((await store.leases.leaseSlice({ leaseMs: 1000 }))?.broadcastId, id);
    await store.broadcasts.cancel(id);
    assert.equal((await store.broadcasts.find(id))?.counts.cancelled, rows);

    const [row] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    await store.subscriptions.put(row!, vapid.publicKey, { assign: { user: 'ada', tags: ['news'] } });
    const audience = { tags: { all: ['news'] } };
    const tagged = await startSender(store, 0).broadcast(audience, message);
    assertDone(await tagged.finished, { accepted: 1 });
    await store.people.remove('ada');
    assert.equal(await store.subscriptions.count(), rows - 1);

    await store.operators.add({ name: 'grace', role: 'full', tokenHash: new Uint8Array(32) });
    assert.deepEqual(pluck(await store.operators.list(), 'name'), ['grace']);
  });

  test('a call whose server process is killed behind it is made again', async (t) => {
    const store = await open();
    await register(store, t);
    const other = new Client({ connectionString: database.url });
    // its own connection ends too
    other.on('error', () => {});
    await other.connect();
    await other.query('begin; lock table deskbell.subscriptions in access exclusive mode');
    const found = store.subscriptions.findById(1);
    const pids = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    const pid = await until(async () => {
      // what a transaction has seen of it, it sees again
      await other.query('select pg_stat_clear_snapshot()');
      return (await other.query<{ readonly pid: number }>(pids)).rows[0]?.pid;
    }, 'the server process that waits for the lock');
    process.kill(pid, 'SIGKILL');
    assert.equal((await found)?.id, 1);
    await other.end().catch(() => {});
  });
});
