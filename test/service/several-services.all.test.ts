// Several services on one PostgreSQL database: clients are limited by all of them together, and any answers any request.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { openProxy } from '../store/postgres-proxy.ts';
import { afterEach, beforeEach, describe, test, type TestContext } from 'node:test';
import { unlistedLimits } from '../../src/protocol/endpoint-policy.ts';
import timers from 'node:timers/promises';
import { createClientLimits } from '../../src/http/client-limits.ts';
import { clientPlaces, type ClientRequests } from '../../src/store/client-requests.ts';
import { createPostgresClientRequests } from '../../src/store/postgres/client-requests.ts';
import { PostgresDatabase } from '../../src/store/postgres/database.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { useSharedServer, type TestDatabase } from '../../tools/postgres-server.ts';
import { until } from '../../tools/until.ts';
import { newSubscription, sendJson, startService } from './running-service.ts';

const getServer = useSharedServer();
const minuteMs = 60_000;

const register = async ({ base }: { readonly base: string }, address = '192.0.2.1'): Promise<number> => {
  const headers = { 'x-forwarded-for': address };
  return (await sendJson(base, 'POST', '/webPush', newSubscription(), headers)).status;
};

describe('several services on one database', () => {
  let database: TestDatabase;
  let nowMs = Date.now();
  beforeEach(async () => {
    database = await (await getServer()).createDatabase();
  });
  afterEach(() => database.remove());

  const openStore = async (t: TestContext, url = database.url, retryForMs?: number): Promise<Store> => {
    const store = await openPostgresStore({ url, now: () => nowMs, retryForMs });
    t.after(() => store.close());
    return store;
  };

  test('admit together no more registrations of a client than the limit, also of one turn', async (t) => {
    const options = { registrationsPerMinute: 5, trustProxy: true };
    const one = await startService({ ...options, store: await openStore(t) }, t);
    const other = await startService({ ...options, store: await openStore(t) }, t);
    const statuses = await Promise.all(
      [one, other, one, other, one, other, one, other].map((s) => register(s)),
    );
    assert.equal(statuses.filter((status) => status === 200).length, 5);
    assert.equal(statuses.filter((status) => status === 429).length, 3);
    assert.equal(await register(other, '192.0.2.2'), 200, 'another client has a limit of its own');
  });

  test('take together no more subscriptions of a push service that nobody has listed than the limit', async (t) => {
    const options = { registrationsPerMinute: 'off', pushServices: 'public' } as const;
    const one = await startService({ ...options, store: await openStore(t) }, t);
    const other = await startService({ ...options, store: await openStore(t) }, t);
    const { registrationsPerMinute } = unlistedLimits;
    const statuses = await Promise.all(
      Array.from({ length: registrationsPerMinute + 2 }, async (_, number) => {
        const subscription = { ...newSubscription(), endpoint: `https://up.example.net/up${number}` };
        const { base } = number % 2 === 0 ? one : other;
        return (await sendJson(base, 'POST', '/webPush', subscription)).status;
      }),
    );
    assert.deepEqual(
      [200, 429].map((wanted) => statuses.filter((status) => status === wanted).length),
      [registrationsPerMinute, 2],
    );
  });

  test('go on with a limit of their own where the database is away', async (t) => {
    const proxy = await openProxy(database.url);
    const store = await openStore(t, proxy.url, 100);
    const service = await startService({ registrationsPerMinute: 2, store }, t);
    assert.equal(await register(service), 200);
    await proxy.close();
    // it was admitted, and cannot be stored
    assert.equal(await register(service), 503);
    assert.equal(await register(service), 429);
  });

  test('count a client from its first request on, until its window is over', async (t) => {
    const [one, other] = [await openStore(t), await openStore(t)];
    const count = (store: Store) => store.clientRequests!.count('192.0.2.1 register', minuteMs);
    assert.deepEqual(await count(one), { requests: 1, endsInMs: minuteMs });
    nowMs += 20_000;
    assert.deepEqual(await Promise.all([count(other), count(other)]), [
      { requests: 2, endsInMs: 40_000 },
      { requests: 3, endsInMs: 40_000 },
    ]);
    assert.equal((await one.clientRequests!.count('192.0.2.1 report', minuteMs))?.requests, 1);
    nowMs += 40_000;
    assert.deepEqual(await count(one), { requests: 1, endsInMs: minuteMs });
  });

  test('count the requests of one turn by one statement', async (t) => {
    const counting = await PostgresDatabase.open({ url: database.url });
    t.after(() => counting.close());
    const statements = t.mock.method(counting, 'queryBriefly');
    const requests = createPostgresClientRequests(counting);
    const ask = async (client: string) => {
      await undefined;
      return requests.count(client, minuteMs);
    };
    const windows = await Promise.all([requests.count('a', minuteMs), ask('b'), ask('a')]);
    assert.deepEqual(
      windows.map((window) => window?.requests),
      [1, 1, 2],
    );
    assert.equal(statements.mock.callCount(), 1);
  });

  test('forget who has asked, a minute after the window is over', async (t) => {
    // before a connection begins to be idle, which only a timer of the same kind can end
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = await openStore(t);
    const looking = await PostgresDatabase.open({ url: database.url, maxConnections: 1 });
    t.after(() => looking.close());
    const known = () => looking.query('select from deskbell.client_requests');
    const client = '192.0.2.1 register';
    await store.clientRequests!.count(client, minuteMs);
    assert.equal((await known()).length, 1);
    const kept = await looking.first(
      `select replace(client::text, '-', '') as client, relpersistence as persistence
       from deskbell.client_requests, pg_class where oid = 'deskbell.client_requests'::regclass`,
    );
    const hashed = createHash('sha256').update(client).digest('hex').slice(0, 32);
    assert.deepEqual({ ...kept }, { client: hashed, persistence: 'u' }, 'a hash, in a table without a log');
    // nobody asks after that; the window is not over yet
    t.mock.timers.tick(minuteMs);
    const deleted = `select from pg_stat_activity where datname = current_database() and state = 'idle'
      and query like 'delete from deskbell.client_requests%'`;
    await until(async () => (await looking.query(deleted)).length > 0, 'the first look');
    assert.equal((await known()).length, 1);
    nowMs += minuteMs + 1;
    t.mock.timers.tick(minuteMs);
    t.mock.timers.reset();
    await until(async () => (await known()).length === 0, 'the client is forgotten');

    // as where the service has stopped before
    await store.clientRequests!.count('192.0.2.1 register', minuteMs);
    while (await store.retention.prune({}));
    assert.equal((await known()).length, 1);
    nowMs += minuteMs + 1;
    while (await store.retention.prune({}));
    assert.equal((await known()).length, 0, 'with other data that is older than it is kept');
  });

  test('keep so many clients and no more: of two with one place, the newer one has it', async (t) => {
    const { clientRequests } = await openStore(t);
    const [first, second] = findClientsOfOnePlace();
    assert.equal((await clientRequests!.count(first, minuteMs))?.requests, 1);
    assert.equal((await clientRequests!.count(second, minuteMs))?.requests, 1);
    assert.equal((await clientRequests!.count(first, minuteMs))?.requests, 1);
    const both = await Promise.all([first, second].map((client) => clientRequests!.count(client, minuteMs)));
    assert.equal(both.filter((window) => window !== undefined).length, 1);
  });
});

const open = (shared?: ClientRequests) => new (createClientLimits(shared))();
const ask = async (limits: ReturnType<typeof open>, client: string, max = 2) =>
  (await limits.count(client, minuteMs, max)).requests;

describe('the limit of a process', () => {
  test('asks nobody about a client that is over it, and begins anew after its time', async (t) => {
    t.mock.timers.enable({ apis: ['Date'] });
    let asked = 0;
    const limits = open({
      count: async () => {
        asked += 1;
        return { requests: 7, endsInMs: 30_000 };
      },
    });
    assert.deepEqual([await ask(limits, 'a'), await ask(limits, 'a'), asked], [7, 8, 1]);
    t.mock.timers.tick(30_000);
    assert.deepEqual([await ask(limits, 'a'), asked], [7, 2]);
  });

  test('holds for a while where the shared one is not told', async (t) => {
    t.mock.timers.enable({ apis: ['Date'] });
    let asked = 0;
    const limits = open({
      count: async () => {
        asked += 1;
        throw new Error('The database is away.');
      },
    });
    assert.deepEqual([await ask(limits, 'a'), await ask(limits, 'a'), asked], [1, 2, 1]);
    t.mock.timers.tick(4999);
    assert.deepEqual([await ask(limits, 'a', 9), asked], [3, 1]);
    t.mock.timers.tick(1);
    assert.deepEqual([await ask(limits, 'a', 9), asked], [4, 2]);
  });

  test('holds where the shared one is not told in time', async (t) => {
    let asked = 0;
    const limits = open({
      count: async () => {
        asked += 1;
        await new Promise(setImmediate);
        return { requests: 7, endsInMs: 30_000 };
      },
    });
    const slept = t.mock.method(timers, 'setTimeout', async (_ms: number, value: unknown) => value);
    syncBuiltinESMExports();
    t.after(() => {
      slept.mock.restore();
      syncBuiltinESMExports();
    });
    assert.deepEqual([await ask(limits, 'a'), await ask(limits, 'a'), asked], [1, 2, 1]);
    assert.deepEqual(
      slept.mock.calls.map(({ arguments: [ms] }) => ms),
      [1000],
    );
  });
});

function findClientsOfOnePlace(): readonly [string, string] {
  const clients = new Map<number, string>();
  for (let number = 0; ; number += 1) {
    const client = `192.0.2.${number} register`;
    const place = createHash('sha256').update(client).digest().readUInt32BE(0) % clientPlaces;
    const other = clients.get(place);
    if (other !== undefined) return [other, client];
    clients.set(place, client);
  }
}
