// A database at several hosts, of which one takes writes: standbys are passed over, and after a failover the new primary is found.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test, type TestContext } from 'node:test';
import { Client, type ClientConfig } from 'pg';
import { checkDatabaseUrl, describeDatabase, urlsOfHosts } from '../../src/store/postgres/database-url.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { connectToWritable } from '../../src/store/postgres/writable-server.ts';
import { PostgresServer } from '../../tools/postgres-server.ts';
import { until, within } from '../../tools/until.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { acceptAll, addSubscriptions, madeUpBroadcast } from './store-under-test.ts';
import { listenOnNewPort } from '../../tools/listening.ts';
import { pluck } from '../../tools/pluck.ts';

test('a URL has one host or several, each with its port', () => {
  const text = 'postgres://me:pa,ss@one:5433,two,[::1]:5434/bell?sslmode=require';
  assert.deepEqual(pluck(urlsOfHosts(text), 'href'), [
    'postgres://me:pa,ss@one:5433/bell?sslmode=require',
    'postgres://me:pa,ss@two/bell?sslmode=require',
    'postgres://me:pa,ss@[::1]:5434/bell?sslmode=require',
  ]);
  assert.equal(urlsOfHosts('postgresql://one,two/bell').length, 2, 'the longer name of the scheme');
  assert.equal(describeDatabase(text), 'one:5433,two,[::1]:5434/bell');
  assert.equal(describeDatabase('postgres:///bell?host=/run/postgresql'), '/run/postgresql/bell');
});

for (const [name, url, reason] of [
  ['a host without a name of its own', 'postgres://one:54x,two/bell', /must be a URL such as/],
  ['any server', 'postgres://one,two/bell?target_session_attrs=any', /one of read-write, primary$/],
  ['a standby', 'postgres://one,two/bell?target_session_attrs=standby', /one of read-write, primary$/],
] as const) {
  test(`a URL that asks for ${name} is refused`, () => {
    assert.throws(() => checkDatabaseUrl(url), { code: 'ERR_CONFIGURATION', message: reason });
  });
}

test('the host that takes writes is used, and after a failover the other one', async (t) => {
  const { primary, standby, urlOf } = await startTwo(t);
  const hosts = ['no-such-host.invalid', standby, primary] as const;
  const store = await openPostgresStore({ url: `${urlOf(...hosts)}?target_session_attrs=read-write` });
  t.after(() => store.close());
  await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
  // opens the connection for notices too
  const { signal } = new AbortController();
  await store.leases.waitForWork({ signal });

  primary.kill();
  await standby.promote();
  await store.subscriptions.put(madeUpSubscription(2), vapidPublicKey);
  await store.broadcasts.create(madeUpBroadcast(Date.now()));
  assert.equal(await within(store.leases.waitForWork({ signal }), 'work of the new primary'), 'ready');
  assert.ok((await store.subscriptions.count()) >= 1);
});

test('standbys alone are waited for, and then named', async (t) => {
  const { standby, urlOf } = await startTwo(t);
  await assert.rejects(openPostgresStore({ url: urlOf(standby, standby), retryForMs: 300 }), {
    code: 'ERR_STORE_UNAVAILABLE',
    message: /is read-only: it is a standby, or set so/,
  });
});

test('a former primary that still takes writes is left for the host that was promoted, as long as there is one', async (t) => {
  const { primary: former, standby: promoted, urlOf } = await startTwo(t);
  const url = urlOf(former, promoted);
  const store = await openPostgresStore({ url });
  t.after(() => store.close());
  await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);

  // it is cut off from the standby that it must wait for
  await former.administer("alter system set synchronous_standby_names = 'standby'");
  await former.administer('select pg_reload_conf()');
  const isWaiting = `do $$ begin assert exists (select from pg_stat_activity where wait_event = 'SyncRep'); end $$`;
  let registered: Promise<unknown> | undefined;
  // the server heeds the setting in its own time: what is committed before that waits for nobody
  await until(() => {
    registered ??= store.subscriptions
      .put(madeUpSubscription(2), vapidPublicKey)
      .then(() => (registered = undefined));
    return former.administer(isWaiting).then(yes, no);
  }, 'a commit to wait for the standby');
  await promoted.promote();
  await within(registered ?? Promise.resolve(), 'the registration');

  const direct = await openPostgresStore({ url: urlOf(promoted) });
  t.after(() => direct.close());
  const before = await direct.subscriptions.count();
  await store.subscriptions.put(madeUpSubscription(3), vapidPublicKey);
  assert.equal(await direct.subscriptions.count(), before + 1);

  // as it does once its administrator, or Patroni, starts it again
  await former.administer('alter system reset synchronous_standby_names');
  await former.administer('select pg_reload_conf()');
  const another = await openPostgresStore({ url: `${url}?application_name=another` });
  t.after(() => another.close());
  await another.subscriptions.put(madeUpSubscription(4), vapidPublicKey);
  assert.equal(await direct.subscriptions.count(), before + 2);

  // nothing else is left; the processes of the other one may answer for a moment yet
  promoted.kill();
  const formerAlone = await openPostgresStore({ url: urlOf(former) });
  t.after(() => formerAlone.close());
  const count = await formerAlone.subscriptions.count();
  await until(async () => {
    await another.subscriptions.put(madeUpSubscription(5), vapidPublicKey);
    return (await formerAlone.subscriptions.count()) > count;
  }, 'the former primary to be used again');
});

test('a former primary is not used because one connection to the primary has failed', async (t) => {
  const { primary: former, standby: promoted, urlOf } = await startTwo(t);
  await promoted.promote();
  class Listening extends Client {
    constructor(config?: ClientConfig) {
      super(config);
      // the server ends it, when it stops
      this.on('error', () => {});
    }
  }
  const Connection = connectToWritable(Listening, [urlOf(promoted), urlOf(former)]);
  const connect = (config: ClientConfig = {}): Promise<Client> => new Connection(config).connect();
  assert.equal((await connect()).port, promoted.port);
  await assert.rejects(connect({ connectionTimeoutMillis: 1 }), /timeout expired/);
  const isFormer = { code: '08004', message: 'It is a former primary.' };
  await assert.rejects(connect(), isFormer);
  assert.equal((await connect()).port, promoted.port);

  // nor by the first connection of all, where it has answered before the other host does
  const hasAnswered = Promise.withResolvers<void>();
  class FormerFirst extends Listening {
    override async connect(): Promise<this> {
      if (this.port === promoted.port) await hasAnswered.promise;
      await super.connect();
      this.once('drain', hasAnswered.resolve);
      return this;
    }
  }
  const { setTimeout: start } = globalThis;
  // however slow this machine is
  const patiently = (work: () => void, ms?: number) => start(work, ms === 1000 ? 60_000 : ms);
  t.mock.method(globalThis, 'setTimeout', patiently as typeof setTimeout);
  const First = connectToWritable(FormerFirst, [urlOf(former), urlOf(promoted)]);
  await assert.rejects(new First().connect(), isFormer);
});

test('a connection that the server ends while another host is asked fails alone', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.stop());
  const database = await server.createDatabase();
  // it is waited for, for a while
  const silent = createServer((socket) => t.after(() => socket.destroy()));
  t.after(() => silent.close());
  const port = await listenOnNewPort(silent);
  const { host } = new URL(database.url);
  const hosts = `${host},127.0.0.1:${port}`;
  const opening = openPostgresStore({ url: database.url.replace(host, hosts) });
  t.after(async () => (await opening).close());

  const endChecked = `do $$ begin assert (select count(*) from (select pg_terminate_backend(pid)
      from pg_stat_activity where application_name = 'deskbell' and state = 'idle') as ended) > 0; end $$`;
  await until(() => server.administer(endChecked).then(yes, no), 'a connection to end');
  assert.equal(await (await opening).subscriptions.count(), 0);
});

test('a user that can only connect, and fills the queue of notices, stops nothing', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.stop());
  await server.administer('alter system set max_notify_queue_pages = 64');
  await server.crash();
  await server.administer("create role stranger login password 'stranger'");
  const url = new URL((await server.createDatabase()).url);
  const store = await openPostgresStore({ url: url.href });
  t.after(() => store.close());
  await addSubscriptions(store, 10);
  const connect = async (): Promise<Client> => {
    const client = new Client({
      connectionString: Object.assign(new URL(url), { username: 'stranger', password: 'stranger' }).href,
    });
    // the server stops before it
    client.on('error', () => undefined);
    await client.connect();
    t.after(() => client.end());
    return client;
  };
  // what has not been read by everybody who listens stays in the queue
  const holder = await connect();
  for (const sql of ['listen deskbell_work', 'begin', 'select 1']) await holder.query(sql);
  const flooder = await connect();
  const flood = async (): Promise<void> => {
    for (let time = 0; time < 500; time += 1)
      await flooder.query("select pg_notify('deskbell_work', repeat('9', 7900))");
  };
  await assert.rejects(flood(), /too many notifications in the NOTIFY queue/);
  const { id } = (await store.broadcasts.create(madeUpBroadcast(Date.now()))).broadcast;
  await store.broadcasts.pause(id);
  await store.broadcasts.resume(id);
  await acceptAll(store, 'https://fcm.googleapis.com');
  assert.equal((await store.broadcasts.get(id)).state, 'done');
});

/** A database on a primary with an asynchronous standby. */
async function startTwo(t: TestContext) {
  const primary = await PostgresServer.start();
  t.after(() => primary.stop());
  const database = new URL((await primary.createDatabase()).url);
  const standby = await primary.startStandby();
  t.after(() => standby.stop());
  const urlOf = (...hosts: readonly (PostgresServer | string)[]) =>
    database.href.replace(database.host, hosts.map(nameOf).join());
  return { primary, standby, urlOf };
}

const nameOf = (host: PostgresServer | string): string =>
  typeof host === 'string' ? host : `127.0.0.1:${host.port}`;

const yes = (): boolean => true;
const no = (): boolean => false;
