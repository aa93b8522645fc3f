// Workers on PostgreSQL that wait are woken by whoever stores work; where no notices arrive, they poll.
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, beforeEach, describe, test } from 'node:test';
import timers from 'node:timers/promises';
import { pgbouncer, skipWithout } from '../../scripts/install-test-tools.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { PostgresDatabase } from '../../src/store/postgres/database.ts';
import { createBroadcastReader } from '../../src/store/broadcast-reader.ts';
import { createPostgresLeases } from '../../src/store/postgres/leases.ts';
import { createPortableDatabase } from '../../src/store/postgres/portable-database.ts';
import { type Notices, ThreadNotices, WorkNotices } from '../../src/store/postgres/work-notices.ts';
import type { Store } from '../../src/store/store.ts';
import type { Leases } from '../../src/store/leases.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { closing } from '../../tools/closing.ts';
import { countNotices } from '../../tools/notice-counter.ts';
import { message, quickRetries, vapid, vapidKeys } from '../delivery/broadcast-bench.ts';
import { startPgBouncer } from './pgbouncer.ts';
import { openProxy } from './postgres-proxy.ts';
import { useSharedServer, type TestDatabase } from '../../tools/postgres-server.ts';
import {
  addSubscriptions,
  commitSlice,
  commitSlices,
  leaseSlices,
  madeUpBroadcast,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { until, within } from '../../tools/until.ts';

const getServer = useSharedServer();
const origin = 'https://fcm.googleapis.com';
const { signal } = new AbortController();
/** The statement that looks for work, as the database shows it. */
const dueIn = String.raw`^select \* from deskbell_functions_\w+\.due_in`;

interface Waiting extends AsyncDisposable {
  readonly work: Leases;
  readonly notices: Notices;
  readonly database: PostgresDatabase;
}

const workOf = (database: PostgresDatabase, notices: Notices): Leases => {
  const portable = createPortableDatabase(database);
  return createPostgresLeases(database, portable, notices, createBroadcastReader(portable));
};

/** Waits once, which begins the listening. */
const untilHearing = async ({ work, notices }: Pick<Waiting, 'work' | 'notices'>): Promise<void> => {
  while (!notices.isHearing) await work.waitForWork({ signal });
};

describe('a worker that waits for work in PostgreSQL', () => {
  let database: TestDatabase;
  /** Of another process. */
  let other: Store;
  beforeEach(async () => {
    database = await (await getServer()).createDatabase();
    other = await openPostgresStore({ url: database.url });
    await addSubscriptions(other, 10);
  });
  afterEach(async () => {
    await other.close();
    await database.remove();
  });

  /** @param listenUrl where its notices come from; as a rule the same database */
  const openWaiting = async (listenUrl = database.url, url = database.url): Promise<Waiting> => {
    const opened = await PostgresDatabase.open({ url });
    const notices = new WorkNotices(opened, { url: listenUrl });
    return {
      work: workOf(opened, notices),
      notices,
      database: opened,
      async [Symbol.asyncDispose]() {
        await notices.close();
        await opened.close();
      },
    };
  };
  /** Begins to wait, and resolves when the worker has looked for work in vain. */
  const startWaiting = async ({ work }: Pick<Waiting, 'work'>, broadcastId?: number) => {
    const watching = await PostgresDatabase.open({ url: database.url, maxConnections: 1 });
    const start = await watching.first<{ readonly at: string }>('select clock_timestamp()::text as at');
    const told = work.waitForWork({ broadcastId, signal });
    await until(
      async () =>
        (await watching.first(
          `select from pg_stat_activity where datname = current_database() and state = 'idle'
           and state_change > $1::timestamptz and query ~ $2`,
          [start!.at, dueIn],
        )) !== undefined,
      'a look for work',
    );
    await watching.close();
    return { told };
  };
  const createBroadcast = async () =>
    (await other.broadcasts.create(madeUpBroadcast(Date.now()))).broadcast.id;

  test('is woken rarely, whatever notices anybody sends who can connect', async () => {
    await using waiting = await openWaiting();
    await untilHearing(waiting);
    let woken = 0;
    const endListening = waiting.notices.listen(() => (woken += 1));
    const beganMs = performance.now();
    const send = (payloads: string) =>
      waiting.database.query(`select pg_notify('deskbell_work', payload) from ${payloads} as g (payload)`);
    await send(
      "unnest(array['', '0', '-1', '1e3', '0x7', 'ada', '99999999999999999999', repeat('9', 7000)])",
    );
    for (let round = 0; round < 20; round += 1) await send('(select n::text from generate_series(1, 500) n)');
    await until(() => woken > 1, 'the first notice and those after it');
    const tookMs = performance.now() - beganMs;
    assert.ok(woken <= 2 + tookMs / 50, `${woken} times in ${tookMs} ms`);
    endListening();
  });

  test('is told of a new broadcast', async () => {
    await using waiting = await openWaiting();
    await untilHearing(waiting);
    const listening = await waiting.database.query(
      `select from pg_stat_activity where datname = current_database() and query ~ '^listen'`,
    );
    assert.equal(
      listening.length,
      1,
      'the other one, which does not wait for work, has no connection for it',
    );
    const { told } = await startWaiting(waiting);
    const id = await createBroadcast();
    assert.equal(await told, 'ready', 'a poll that finds nothing due says "idle"');

    await other.broadcasts.pause(id);
    await until(async () => (await waiting.work.waitForWork({ signal })) === 'idle', 'nothing to do');
    const { told: again } = await startWaiting(waiting);
    await other.broadcasts.resume(id);
    assert.equal(await again, 'ready', 'one that is resumed may have work again');
  });

  test('looks by itself every two seconds, and four times a second while it hears nothing', async (t) => {
    const opened = await PostgresDatabase.open({ url: database.url });
    t.after(() => opened.close());
    const slept = t.mock.method(timers, 'setTimeout', async () => {});
    syncBuiltinESMExports();
    t.after(() => {
      slept.mock.restore();
      syncBuiltinESMExports();
    });
    for (const [isHearing, everyMs] of [
      [true, 2000],
      [false, 250],
    ] as const) {
      const work = workOf(opened, { isHearing, listen: () => () => {}, close: async () => {} });
      assert.equal(await work.waitForWork({ signal }), 'idle');
      assert.equal(slept.mock.calls.at(-1)?.arguments[0], everyMs);
    }
  });

  test('is told of slices that another one gives back, and of the end of the broadcast it waits for', async () => {
    await using waiting = await openWaiting();
    const broadcastId = await createBroadcast();
    const lease = await other.leases.leaseSlice({ leaseMs: 60_000 });
    await untilHearing(waiting);
    const { told: given } = await startWaiting(waiting, broadcastId);
    await other.leases.release(lease!);
    assert.equal(await given, 'ready');

    const again = await other.leases.leaseSlice({ leaseMs: 60_000 });
    const { told: ended } = await startWaiting(waiting, broadcastId);
    await commitSlice(other, again!, withResult(origin, 'accepted'), 0);
    assert.equal(await ended, 'ready');
    assert.equal(await waiting.work.waitForWork({ broadcastId, signal }), 'over');
  });

  test('is told once of all that is given back before anybody has looked', async () => {
    const notices = await countNotices(database.url);
    const { broadcast } = await other.broadcasts.create(madeUpBroadcast(Date.now(), { sliceRows: 1 }));
    const { id } = broadcast;
    const leases = await leaseSlices(other, id, 60_000);
    assert.ok(leases.length >= 10);
    const before = await notices.count(id);
    for (const lease of leases) await other.leases.release(lease);
    assert.equal((await notices.count(id)) - before, 1);
    // somebody looks, and takes all of it
    const [lease] = await leaseSlices(other, id, 60_000);
    await other.leases.release(lease!);
    assert.equal((await notices.count(id)) - before, 2, 'and is told again');
    await notices.close();
  });

  test('ends at once though the connection for notices is cut off', async () => {
    await using proxy = await openProxy(database.url);
    await using worker = await openWaiting(proxy.url);
    await untilHearing(worker);
    proxy.cutOff();
    await within(worker.notices.close(), 'the notices to end');
  });

  test('is told of retries that another one gives back when no slice is left', async () => {
    const notices = await countNotices(database.url);
    const id = await createBroadcast();
    await commitSlices(other, id, withRetry(origin, Date.now()));
    const leased = await other.leases.leaseRetries({ leaseMs: 60_000, limit: 100, broadcastId: id });
    assert.equal(leased?.rows.length, 10);
    const before = await notices.count(id);
    await other.leases.release(leased);
    assert.equal((await notices.count(id)) - before, 1);
    await notices.close();
  });

  test('is told of a broadcast with retries and a pause at most ten times in all', async () => {
    const notices = await countNotices(database.url);
    const pushService = await startPushService({ checksBodies: false });
    pushService.faults.inject({ kind: 'status', status: 503, share: 0.2 });
    const store = await openPostgresStore({ url: database.url });
    const policy = createEndpointPolicy([pushService.origin]);
    const sinks = [...pushService.createSinks(500, { vapidPublicKey: vapidKeys.publicKey })];
    await store.subscriptions.putAll(
      sinks.map((sink) => ({
        subscription: parseSubscription(sink, policy),
        vapidPublicKey: vapidKeys.publicKey,
      })),
    );
    const options = { vapid, pushServices: [pushService.origin], threads: 0, retryPolicy: quickRetries };
    const senders = [store, other].map((of) => createSender({ ...options, store: of }));
    const stop = new AbortController();
    const working = senders.map((sender) => sender.work(stop.signal));
    const { broadcast } = await senders[0]!.createBroadcast({ subscriptions: sinks }, message);
    const { id } = broadcast;
    await until(() => (pushService.tallySinks()[0]?.messages ?? 0) > 0, 'the first message');
    await store.broadcasts.pause(id);
    await store.broadcasts.resume(id);
    pushService.faults.clear();
    await until(async () => (await store.broadcasts.get(id)).state === 'done', 'the end of the broadcast');
    const count = await notices.count(id);
    assert.ok(count >= 3 && count <= 10, `${count} notices`);
    stop.abort();
    await Promise.all(working);
    for (const sender of senders) await sender.close();
    await store.close();
    await pushService.close();
    await notices.close();
  });

  test('hears again after its connection has ended', async () => {
    await using waiting = await openWaiting();
    await untilHearing(waiting);
    await database.endConnections();
    await until(() => !waiting.notices.isHearing, 'the end of the connection to be noticed');
    await untilHearing(waiting);
    const told = waiting.work.waitForWork({ signal });
    await createBroadcast();
    assert.equal(await told, 'ready');
  });

  test('hears on where its proof comes before the statement that sends it is answered', async () => {
    await using opened = await openWaiting();
    const answersLate = {
      query: async (...statement: Parameters<PostgresDatabase['query']>) => {
        const rows = await opened.database.query(...statement);
        await until(() => notices.isHearing, 'the proof');
        return rows;
      },
    } as PostgresDatabase;
    const notices = new WorkNotices(answersLate, { url: database.url });
    const work = workOf(opened.database, notices);
    await untilHearing({ work, notices });
    assert.equal(await work.waitForWork({ signal }), 'idle', 'for two seconds nothing has failed');
    assert.equal(notices.isHearing, true);
    await notices.close();
  });

  test('in a thread is told by the main thread, until that stops', async () => {
    // whose notices are not passed on
    await other.close();
    await using main = await openWaiting();
    const notices = new ThreadNotices(main.database.label);
    const work = workOf(main.database, notices);
    await untilHearing({ work, notices });
    const { told } = await startWaiting({ work });
    other = await openPostgresStore({ url: database.url });
    await createBroadcast();
    assert.equal(await told, 'ready');
    await main.notices.close();
    await until(() => !notices.isHearing, 'the thread to hear no more');
    await notices.close();
  });

  test('in one of several threads shares one connection for notices with the others', async () => {
    await using looking = closing(await PostgresDatabase.open({ url: database.url }));
    const channel = new BroadcastChannel(`deskbell work ${looking.label}`);
    let asked = 0;
    channel.addEventListener('message', ({ data }) => {
      if (data === 'ask') asked += 1;
    });
    const sender = createSender({ store: other, threads: 2, vapid });
    const stop = new AbortController();
    const working = sender.work(stop.signal);
    const listening = async (): Promise<number> => {
      const rows = await looking.query(
        `select from pg_stat_activity where datname = current_database() and query ~ '^listen'`,
      );
      return rows.length;
    };
    // a thread either asks the main thread for notices, or has a connection of its own
    await until(async () => {
      const connections = await listening();
      return connections > 1 || (asked === 2 && connections === 1);
    }, 'notices in both threads');
    assert.deepEqual([asked, await listening()], [2, 1]);
    channel.close();
    stop.abort();
    await working;
    await sender.close();
  });

  test('polls behind PgBouncer', { skip: skipWithout('PgBouncer', [pgbouncer]) }, async () => {
    const bouncer = await startPgBouncer(database.url);
    // of another database, so that it hears nothing of this one
    const quiet = await (await getServer()).createDatabase();
    await using hearing = await openWaiting(quiet.url, quiet.url);
    await untilHearing(hearing);
    const seldom = hearing.work.waitForWork({ signal });
    await using waiting = await openWaiting(bouncer.through(database.url));
    const { notices, work } = waiting;
    await new Promise<void>((resolve) => notices.listen(resolve));
    assert.equal(notices.isHearing, false, 'it has listened, and heard nothing');
    assert.equal(await seldom, 'idle', 'whoever hears polls too');
    const last = await Promise.race([
      work.waitForWork({ signal }).then(() => 'often'),
      hearing.work.waitForWork({ signal }).then(() => 'seldom'),
    ]);
    assert.equal(last, 'often');
    await createBroadcast();
    assert.equal(await work.waitForWork({ signal }), 'ready');
    await bouncer.close();
  });
});
