// A database at several hosts, of which one takes writes: standbys are passed over, and after a failover the new primary is found.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkDatabaseUrl, describeDatabase, urlsOfHosts } from '../../src/store/postgres/database-url.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { PostgresServer } from '../../tools/postgres-server.ts';
import { within } from '../../tools/until.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { madeUpBroadcast } from './store-under-test.ts';

test('a URL has one host or several, each with its port', () => {
  const text = 'postgres://me:pa,ss@one:5433,two,[::1]:5434/bell?sslmode=require';
  assert.deepEqual(
    urlsOfHosts(text).map(({ href }) => href),
    [
      'postgres://me:pa,ss@one:5433/bell?sslmode=require',
      'postgres://me:pa,ss@two/bell?sslmode=require',
      'postgres://me:pa,ss@[::1]:5434/bell?sslmode=require',
    ],
  );
  assert.equal(describeDatabase(text), 'one:5433,two,[::1]:5434/bell');
  assert.equal(describeDatabase('postgres:///bell?host=/run/postgresql'), '/run/postgresql/bell');
});

for (const [name, url, reason] of [
  ['a host without a name of its own', 'postgres://one:54x,two/bell', /must be a URL such as/],
  ['any server', 'postgres://one,two/bell?target_session_attrs=any', /one of read-write, primary/],
  ['a standby', 'postgres://one,two/bell?target_session_attrs=standby', /one of read-write, primary/],
] as const) {
  test(`a URL that asks for ${name} is refused`, () => {
    assert.throws(() => checkDatabaseUrl(url), { code: 'ERR_CONFIGURATION', message: reason });
  });
}

test(
  'the host that takes writes is used, and after a failover the other one',
  { timeout: 120_000 },
  async (t) => {
    const primary = await PostgresServer.start();
    t.after(() => primary.stop());
    const database = new URL((await primary.createDatabase()).url);
    const standby = await primary.startStandby();
    t.after(() => standby.stop());
    const hosts = `no-such-host.invalid,127.0.0.1:${standby.port},127.0.0.1:${primary.port}`;
    const store = await openPostgresStore({
      url: `${database.href.replace(database.host, hosts)}?target_session_attrs=read-write`,
    });
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
  },
);

test('standbys alone are waited for, and then named', { timeout: 120_000 }, async (t) => {
  const primary = await PostgresServer.start();
  t.after(() => primary.stop());
  const database = new URL((await primary.createDatabase()).url);
  const standby = await primary.startStandby();
  t.after(() => standby.stop());
  const host = `127.0.0.1:${standby.port}`;
  await assert.rejects(
    openPostgresStore({ url: database.href.replace(database.host, `${host},${host}`), retryForMs: 300 }),
    { code: 'ERR_STORE_UNAVAILABLE', message: /is read-only: it is a standby, or set so/ },
  );
});
