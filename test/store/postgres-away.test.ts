// PostgreSQL that cannot be used, for a while or at all: restarts, a failover to a standby, and servers that are refused at the
// start, with a reason.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkData } from '../../src/cli/doctor/checks.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { inspectDatabase } from '../../src/store/postgres/preflight.ts';
import type { Store } from '../../src/store/store.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { useSharedServer, type TestDatabase } from '../../tools/postgres-server.ts';

const getServer = useSharedServer();

const nameOf = ({ url }: TestDatabase): string => new URL(url).pathname.slice(1);

describe('a PostgreSQL server that goes away', () => {
  let database: TestDatabase;
  let store: Store;
  beforeEach(async () => {
    database = await (await getServer()).createDatabase();
    store = await openPostgresStore({ url: database.url });
  });
  afterEach(async () => {
    await store.close();
    await database.remove();
  });

  const register = (index: number, into = store) =>
    into.subscriptions.put(madeUpSubscription(index), vapidPublicKey);
  /** For connections from now on. */
  const setReadOnly = async (value: 'on' | 'off') => {
    await (
      await getServer()
    ).administer(`alter database ${nameOf(database)} set default_transaction_read_only = ${value}`);
    await database.endConnections().catch(() => {});
  };

  test('is waited for while it restarts: each registration is stored once', async () => {
    await register(0);
    const crashed = (await getServer()).crash();
    const registered = Array.from({ length: 20 }, async (_, index) => {
      await sleep(20 * index);
      return register(index + 1);
    });
    await crashed;
    await Promise.all(registered);
    assert.equal(await store.subscriptions.count(), 21);
  });

  test('is waited for while it is a standby, and named as one where that lasts', async () => {
    await setReadOnly('on');
    const impatient = await openAs({ retryForMs: 300 });
    await assert.rejects(register(1, impatient), {
      code: 'ERR_STORE_UNAVAILABLE',
      message: /is read-only: it is a standby, or set so/,
    });
    await assert.rejects(impatient.check(), { code: 'ERR_STORE_UNAVAILABLE', message: /is read-only/ });
    const registered = register(2);
    assert.equal(await Promise.race([registered, sleep(300, 'waits')]), 'waits');
    await setReadOnly('off');
    await registered;
    assert.equal(await store.subscriptions.count(), 1);
    await impatient.close();
  });

  /** A store that was opened before the server became read-only. */
  const openAs = async (options: { readonly retryForMs: number }): Promise<Store> => {
    await setReadOnly('off');
    const opened = await openPostgresStore({ url: database.url, ...options });
    await setReadOnly('on');
    return opened;
  };
});

describe('a PostgreSQL server that is not fit', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await (await getServer()).createDatabase('template1');
  });
  afterEach(() => database.remove());

  /** Functions of the system that say something else to whoever connects from now on. */
  const pretend = (functions: string) =>
    database.run(`
      create schema pretence; set search_path = pretence, pg_catalog; ${functions};
      alter database ${nameOf(database)} set search_path = pretence, pg_catalog`);
  const pretendVersion = (number: number) =>
    pretend(`create function current_setting(name text) returns text language sql as
      $$ select case name when 'server_version_num' then '${number}' else pg_catalog.current_setting(name) end $$`);
  const pretendClock = (difference: string) =>
    pretend(`create function clock_timestamp() returns timestamptz language sql as
      $$ select pg_catalog.clock_timestamp() + interval '${difference}' $$`);
  const refused = async (message: RegExp, url = database.url) => {
    const expected = { code: 'ERR_STORE_UNAVAILABLE', message };
    await assert.rejects(openPostgresStore({ url }), expected);
    await assert.rejects(inspectDatabase(url), expected);
  };

  test('is refused where it is too old', async () => {
    await pretendVersion(140_011);
    await refused(/is PostgreSQL 14; version 15 or newer is needed/);
    await database.run(`drop schema pretence cascade`);
    await pretendVersion(150_000);
    assert.equal((await inspectDatabase(database.url)).schema, 0);
  });

  test('is refused where its user may not create tables', async () => {
    const server = await getServer();
    const user = `reader_of_${nameOf(database)}`;
    await server.administer(`create role ${user} login password 'reader'`);
    const url = new URL(database.url);
    [url.username, url.password] = [user, 'reader'];
    await refused(/gives its user too few rights: it needs CREATE on the database/, url.href);
    url.password = 'other';
    await refused(/refuses the user or password \(28P01\)/, url.href);
    await server.administer(`drop role ${user}`);
  });

  test('is refused where it has another encoding', async () => {
    const server = await getServer();
    await server.administer(
      `create database of_latin1 template template0 encoding 'LATIN1' locale 'C' strategy file_copy`,
    );
    await refused(/has the encoding LATIN1; it must be UTF8/, server.urlOf('of_latin1'));
    await server.administer('drop database of_latin1');
  });

  test('is refused where there is none of its name', async () => {
    await refused(/does not exist; create it with "createdb"/, (await getServer()).urlOf('none'));
  });

  test('is warned of where its clock differs', async () => {
    const warningOf = /clock of the database .* differs from this machine's by (119|120|121) s/;
    await pretendClock('2 minutes');
    assert.match((await inspectDatabase(database.url)).warnings.join(), warningOf);
    await database.run('drop schema pretence cascade');
    await pretendClock('-2 minutes');
    const warnings: string[] = [];
    const store = await openPostgresStore({
      url: database.url,
      onWarning(warning) {
        warnings.push(warning);
        throw new Error('an error of the application keeps no store from opening');
      },
    });
    // from the first moment on
    assert.equal(Math.round((Date.now() - store.now()) / 60_000), 2, 'its time is that of the store');
    await store.close();
    const doctor = await checkData(import.meta.dirname, database.url);
    const { status, detail } = doctor.find(({ subject }) => subject === 'database')!;
    assert.equal(status, 'warning');
    for (const warning of [...warnings, detail]) assert.match(warning, warningOf);
    assert.equal(warnings.length, 1);
  });
});
