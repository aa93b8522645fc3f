// PostgreSQL's own promises: one schema however many processes make it, audiences that are exact while others register,
// nothing counted twice where connections break, and clear words about servers that cannot be used.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { createServer, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test, type TestContext } from 'node:test';
import timers, { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, Pool } from 'pg';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { checkData } from '../../src/cli/doctor/checks.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import type { Subscription } from '../../src/protocol/subscription.ts';
import type { CommitAnswer } from '../../src/store/ledger.ts';
import { hashEndpoint } from '../../src/protocol/endpoint.ts';
import {
  describeFunctions,
  functionsText,
  insertValues,
} from '../../src/store/postgres/functions/all-functions.ts';
import { keepFunctions } from '../../src/store/postgres/functions/use-functions.ts';
import { hashInvitation } from '../../src/store/invitations.ts';
import { inspectDatabase } from '../../src/store/postgres/preflight.ts';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { migrations, partitions, schemaVersion } from '../../src/store/postgres/migrations.ts';
import { checkDatabaseUrl, describeDatabase, urlsOfHosts } from '../../src/store/postgres/database-url.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { PostgresDatabase } from '../../src/store/postgres/database.ts';
import { DiskFullError } from '../../src/store/database-content.ts';
import { isPassing, toStoreError } from '../../src/store/postgres/database-errors.ts';
import type { Store } from '../../src/store/store.ts';
import type { Registration } from '../../src/store/subscriptions.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { openProxy } from './postgres-proxy.ts';
import { closing } from '../../tools/closing.ts';
import { connect, readRows } from '../../tools/postgres-client.ts';
import { until, within } from '../../tools/until.ts';
import { useSharedServer, type TestDatabase } from '../../tools/postgres-server.ts';
import {
  acceptAll,
  addSubscriptions,
  answerCommit,
  commitNext,
  commitPage,
  commitRows,
  commitSlice,
  commitSlices,
  madeUpBroadcast,
  withResult,
  withRetry,
} from './store-under-test.ts';
import { listenOnNewPort } from '../../tools/listening.ts';
import { pluck } from '../../tools/pluck.ts';
import { refuses } from '../../tools/refuses.ts';

const origin = 'https://fcm.googleapis.com';
const leaseMs = 10_000;
const nowMs = Date.now();
const getServer = useSharedServer();

const accepted = withResult(origin, 'accepted');

const retried = withRetry(origin, nowMs);

/** Until a connection to the same database waits for a lock. @param client may be in a transaction */
const untilOneWaits = (client: Client, what: string) =>
  until(async () => {
    // what a transaction has seen of it, it sees again
    await client.query('select pg_stat_clear_snapshot()');
    const { rowCount } = await client.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    return rowCount;
  }, what);

test('a pool whose connections all hang is tried again', async () => {
  const pool = new Pool({ connectionString: (await getServer()).urlOf('postgres'), max: 1 });
  const client = await pool.connect();
  pool.options.connectionTimeoutMillis = 1;
  await assert.rejects(pool.connect(), isPassing);
  client.release();
  await pool.end();
});

const withCode = (code: string, message = 'x') => Object.assign(new Error(message), { code });

test('what passes once a server is there again, or another one, is tried again, and nothing else', () => {
  const passing =
    'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EAI_AGAIN EHOSTUNREACH ENETUNREACH ENOENT ' +
    '25006 53300 57P01 57P02 57P03 08001 08006 40001 40P01 55P03';
  for (const code of passing.split(' ')) assert.equal(isPassing(withCode(code)), true, code);
  for (const code of '28P01 3D000 42501 42P01 53100 57014 23505 ENOTFOUND'.split(' '))
    assert.equal(isPassing(withCode(code)), false, code);
  // of PgBouncer
  assert.equal(isPassing(withCode('08P01', 'server login has been failing, try again later')), true);
  for (const refusal of [
    'no such database: bell',
    'no such user: ada',
    'password authentication failed',
    'SASL authentication failed',
    'login rejected: not allowed',
  ])
    assert.equal(isPassing(withCode('08P01', refusal)), false, refusal);
});

test('no part of a password that is not escaped is printed or looked up', () => {
  for (const rest of [
    'p@SECRET/x@h/d',
    'SECRET/x@h/d',
    'SECRET#x@h/d',
    'SECRET?x@h/d',
    'p@SECRET@h/d',
    '5432/SECRET@h',
    'p@h/SECRET@h/d',
    'p@h/d?SECRET@h',
    'p@h/d#SECRET',
    'p@one,SECRET:x@h/d',
  ]) {
    const url = `postgres://u:${rest}`;
    assert.equal(describeDatabase(url), 'of this URL', rest);
    assert.throws(
      () => checkDatabaseUrl(url),
      (error: DeskbellError) => {
        assert.match(error.message, /write @ as %40/);
        return error.code === 'ERR_CONFIGURATION' && !error.message.includes('SECRET');
      },
    );
  }
});

test('a URL is read as pg reads it, sockets too, and what neither knows is refused by name', () => {
  for (const [url, label, host, port, user, password, database] of [
    ['postgres://ada:a%2Fb%40c@h:1/d', 'h:1/d', 'h', '1', 'ada', 'a/b@c', 'd'],
    ['postgres://ada@/d?host=/run/postgresql', '/run/postgresql/d', '/run/postgresql', '', 'ada', '', 'd'],
    [
      'postgres:///d?host=/run/pg&port=5433&user=ada&password=p',
      '/run/pg:5433/d',
      '/run/pg',
      '5433',
      'ada',
      'p',
      'd',
    ],
    ['postgres://ada:p%40q@/d', 'localhost/d', '', '', 'ada', 'p@q', 'd'],
    ['postgres://ada@%2Fcloudsql%2Fp%3Az%3Ai/d', '/cloudsql/p:z:i/d', '/cloudsql/p:z:i', '', 'ada', '', 'd'],
    ['socket:/run/postgresql?db=d&user=ada', '/run/postgresql/d', '/run/postgresql', '', 'ada', '', 'd'],
    ['socket://ada:p@/run/pg/?db=d&encoding=utf8', '/run/pg/d', '/run/pg', '', 'ada', 'p', 'd'],
  ] as const) {
    checkDatabaseUrl(url);
    assert.equal(describeDatabase(url), label);
    const read = new Client({ connectionString: urlsOfHosts(url)[0].href });
    assert.deepEqual(
      [read.host, read.port, read.user, read.password, read.database],
      [host || 'localhost', Number(port || 5432), user, password || null, database],
    );
  }
  for (const [parameter, words] of [
    ['sslmode=prefer', /its sslmode is "prefer"; it must be one of disable, require, verify-ca, verify-full/],
    ['channel_binding=always', /its channel_binding is "always"; it must be one of disable, prefer, require/],
    ['connect_timeout=0', /its connect_timeout is "0"; it must be a number of seconds/],
    ['connect_timeout=1s', /its connect_timeout is "1s"/],
  ] as const)
    assert.throws(() => checkDatabaseUrl(`postgres://h/d?${parameter}`), { message: words });
  checkDatabaseUrl('postgres://h/d?sslmode=require&channel_binding=require&connect_timeout=10');
  for (const name of ['schema', 'search_path', 'constructor'])
    assert.throws(() => checkDatabaseUrl(`postgres://h/d?sslmode=disable&${name}=x`), {
      code: 'ERR_CONFIGURATION',
      message: new RegExp(`its parameter "${name}" is not supported`),
    });
});

/** Of PostgreSQL's protocol 3.0: AuthenticationSASL (10), AuthenticationSASLContinue (11). */
const authentication = (kind: number, text: string): Buffer => {
  const message = Buffer.alloc(9 + Buffer.byteLength(text));
  message.write('R');
  message.writeInt32BE(message.length - 1, 1);
  message.writeInt32BE(kind, 5);
  message.write(text, 9);
  return message;
};

test('a missing password ends at once, in one sentence, and leaves no connection open', async (t) => {
  const ended: Promise<unknown>[] = [];
  const server = createServer((socket) => {
    const answers = [authentication(10, 'SCRAM-SHA-256\0\0'), authentication(11, 'r=x,s=c2FsdA==,i=4096')];
    socket.on('data', () => void socket.write(answers.shift() ?? ''));
    socket.on('error', () => {});
    ended.push(once(socket, 'close'));
  });
  t.after(() => server.close());
  const port = await listenOnNewPort(server);
  await assert.rejects(openPostgresStore({ url: `postgres://ada@127.0.0.1:${port}/d` }), {
    code: 'ERR_STORE_UNAVAILABLE',
    message: `The database 127.0.0.1:${port}/d asks for a password, and its URL has none: write postgres://user:password@host/database.`,
  });
  await within(Promise.all(ended), 'the connections are closed');
  assert.equal(ended.length, 1);
});

const refusal = (text: string) =>
  String(toStoreError(Object.assign(new Error(text), { code: '28000' }), 'bell'));

test('a server that takes connections over TLS only is told from one that refuses the password', () => {
  const entry = 'pg_hba.conf entry for host "10.0.0.1", user "bell", database "bell"';
  assert.match(refusal(`no ${entry}, no encryption`), /without TLS \(28000\): add sslmode=verify-full/);
  assert.match(refusal(`no ${entry}, SSL off`), /without TLS/);
  assert.match(refusal(`no ${entry}, SSL encryption`), /refuses the user or password \(28000\)/);
});

test('a full disk is told from other faults, so that sending waits for room', () => {
  const full = toStoreError(Object.assign(new Error('could not extend file'), { code: '53100' }), 'bell');
  assert.ok(full instanceof DiskFullError);
});

test('a name in a function without a value is an error, and a value that no function uses', () => {
  assert.throws(() => insertValues('select :rows', {}), /name :rows, which has no value/);
  assert.throws(() => insertValues('select 1', { rows: 1 }), /uses rows\./);
});

/** Of this process. */
const countConnections = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

test('without the package pg, it is said how to install it', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    registerHooks({
      resolve(name, context, next) {
        if (name !== 'pg') return next(name, context);
        throw Object.assign(new Error('none'), { code: 'MODULE_NOT_FOUND' });
      },
    });
    const { openPostgresStore } = await import(process.argv[1]);
    await openPostgresStore({ url: 'postgres://127.0.0.1:1/none' }).catch(({ code, message }) => console.log(code, message));
  `;
  const module = new URL('../../src/store/postgres/open-store.ts', import.meta.url).href;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    script,
    module,
  ]);
  assert.match(stdout, /^ERR_PACKAGE_MISSING .*: run "npm install pg"$/m);
});

test('a connection that ends between two statements of a transaction is replaced', async () => {
  const server = await getServer();
  const database = await PostgresDatabase.open({ url: server.urlOf('postgres') });
  let runs = 0;
  const last = await database.transaction(async (query) => {
    runs += 1;
    const [backend] = await query<{ readonly pid: number }>('select pg_backend_pid() as pid');
    if (runs === 1) {
      const connections = countConnections();
      await server.administer(`select pg_terminate_backend(${backend?.pid}, 1000)`);
      // while it asks nothing
      await until(() => countConnections() < connections, 'this side to hear of it');
    }
    return query('select 1 as one');
  });
  assert.deepEqual([runs, last[0]], [2, { one: 1 }]);
  await database.close();
});

test('a statement that the server does not cancel is given up, and its connection is closed', async (t) => {
  const server = await getServer();
  await using blocker = await connect(server.urlOf('postgres'));
  await blocker.query('select pg_advisory_lock(19)');
  const database = await PostgresDatabase.open({ url: server.urlOf('postgres'), maxConnections: 1 });
  const askPid = 'select pg_backend_pid() as pid';
  let former = 0;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const timedOut = database.transaction(async (query) => {
    [{ pid: former }] = (await query<{ pid: number }>(askPid)) as [{ pid: number }];
    try {
      await query('select pg_advisory_xact_lock(19)');
    } finally {
      // from now on it could be used again
      await blocker.query('select pg_advisory_unlock(19)');
    }
  });
  const refused = assert.rejects(timedOut, { code: 'ERR_STORE_UNAVAILABLE', message: /does not answer/ });
  await untilOneWaits(blocker, 'the statement to wait');
  t.mock.timers.tick(40_000);
  await within(refused, 'the statement to be given up');
  t.mock.timers.reset();
  const now = await database.first<{ pid: number }>(askPid);
  assert.notEqual(now?.pid, former);
  await database.close();
});

describe('a new PostgreSQL database', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await (await getServer()).createDatabase('template1');
  });
  afterEach(() => database.remove());

  test('gets its tables once, whoever else begins at the same time', async () => {
    const stores = await Promise.all(
      Array.from({ length: 10 }, () => openPostgresStore({ url: database.url, maxConnections: 1 })),
    );
    await addSubscriptions(stores[0]!, 1);
    assert.equal(await stores[9]!.subscriptions.count(), 1);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('has the public key that an id has now, even if it was another one’s before a restore', async (t) => {
    let clockMs = Date.now();
    const store = await openPostgresStore({ url: database.url, now: () => clockMs });
    t.after(() => store.close());
    await addSubscriptions(store, 1);
    await store.broadcasts.create(madeUpBroadcast(clockMs));
    const slice = (await store.leases.leaseSlice({ leaseMs: 60_000 }))!;
    const readKey = async () => (await store.ledger.readRows(slice, slice.cursor, 10))[0]?.vapidPublicKey;
    assert.equal(await readKey(), vapidPublicKey);
    await database.run(`update deskbell.vapid_keys set public_key = 'other'`);
    clockMs += 5000;
    assert.equal(await readKey(), 'other');
  });

  test('is left alone where its schema is another program’s', async () => {
    await database.run('create schema deskbell; create table deskbell.diary (day text)');
    await refuses(openPostgresStore({ url: database.url }), 'ERR_STORE_CORRUPT', /another program/);
  });

  test('is not opened with a directory that lacks the current private key, and none is made there', async (t) => {
    const [first, second] = ['one', 'two'].map((name) => mkdtempSync(join(tmpdir(), `deskbell-${name}-`)));
    t.after(() => [first, second].map((folder) => rmSync(folder!, { recursive: true })));
    const opened = await openDataDirectory(first!, { database: database.url });
    await opened.close();
    await assert.rejects(openDataDirectory(second!, { database: database.url }), {
      code: 'ERR_KEY_FILE_MISSING',
      message: /There is no key file .*vapid-keys\.json/,
    });
    assert.ok(!readdirSync(second!).includes('vapid-keys.json'));
    copyFileSync(join(first!, 'vapid-keys.json'), join(second!, 'vapid-keys.json'));
    const other = await openDataDirectory(second!, { database: database.url });
    await other.close();
    assert.equal(other.vapidKeys.publicKey, opened.vapidKeys.publicKey);
  });

  test('has the limit on subscriptions that a data directory is opened with', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'deskbell-limit-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const subscriptionLimit = { maxSubscriptions: 1 };
    const { store, close } = await openDataDirectory(folder, { database: database.url, subscriptionLimit });
    t.after(close);
    await addSubscriptions(store, 1);
    await assert.rejects(addSubscriptions(store, 1, 1), { code: 'ERR_SUBSCRIPTION_LIMIT' });
  });

  test('with a limit, an invited browser is registered on one connection', async (t) => {
    const subscriptionLimit = { maxSubscriptions: 1 };
    const store = await openPostgresStore({ url: database.url, maxConnections: 1, subscriptionLimit });
    t.after(() => within(store.close(), 'the store to close'));
    const register = async (number: number) => {
      const invitation = hashInvitation(String(number).repeat(22));
      await store.invitations.add({ tokenHash: invitation, user: 'ann' });
      const registration = { subscription: madeUpSubscription(number), vapidPublicKey, invitation };
      const registered = store.subscriptions.register({ ...registration, assign: { user: 'ann' } });
      return within(registered, 'the registration');
    };
    assert.equal((await register(1)).user, 'ann');
    await assert.rejects(register(2), { code: 'ERR_SUBSCRIPTION_LIMIT' });
  });

  test('serves and delivers as a user with the rights that docs/postgresql.md names, and no others', async () => {
    const owned = await openPostgresStore({ url: database.url });
    await owned.vapidKeys.adopt(vapidPublicKey);
    await owned.close();
    const url = new URL(database.url);
    const name = url.pathname.slice(1);
    const role = `serve_${name}`;
    const [, sql = ''] =
      /```sql\n(create role deskbell_serve[^`]*)```/.exec(await readFile('docs/postgresql.md', 'utf8')) ?? [];
    assert.notEqual(sql, '');
    await database.run(
      sql
        .replaceAll('deskbell_serve', role)
        .replace('on database deskbell ', `on database ${name} `)
        .replaceAll('for role deskbell ', `for role ${url.username} `),
    );
    // every role that can connect may take these locks, so nothing may wait for them
    await database.run(`
      do $$ declare lock text; begin
        for lock in select oid::regprocedure from pg_proc where proname like 'pg%advisory%' loop
          execute format('revoke execute on function %s from public', lock);
        end loop;
      end $$`);
    try {
      url.username = role;
      url.password = 'another';
      await using store = closing(await openPostgresStore({ url: url.href }));
      const tokenHash = hashInvitation('mine');
      await store.invitations.add({ tokenHash, user: 'me' });
      const registration = { subscription: madeUpSubscription(1), vapidPublicKey, invitation: tokenHash };
      const { id } = await store.subscriptions.register({ ...registration, assign: { user: 'me' } });
      await store.readers.setPerson('me', { data: { plan: 'gold' } });
      const draft = madeUpBroadcast(Date.now(), { perPerson: '1/day' });
      const { broadcast } = await store.broadcasts.create(draft);
      await commitSlices(store, broadcast.id, retried);
      assert.equal((await store.leases.leaseRetries({ leaseMs, limit: 10 }))?.rows.length, 1);
      assert.equal(await store.leases.leaseRetries({ leaseMs, limit: 10 }), undefined);
      await store.sending.pause('asked');
      await store.audit.list({ limit: 1 });
      await store.retention.prune({});
      assert.equal(await store.subscriptions.removeById(id), true);
      await using client = await connect(url.href);
      for (const forbidden of [
        'create table deskbell.mine (id int)',
        'drop table deskbell.subscriptions',
        'create schema mine',
      ])
        await assert.rejects(client.query(forbidden), { code: '42501' }, forbidden);
    } finally {
      await database.run(`drop owned by ${role}; drop role ${role}`);
    }
  });

  test('is left as it is by the doctor', async () => {
    const look = async () =>
      (await checkData(import.meta.dirname, database.url)).find(({ subject }) => subject === 'database')!;
    for (const time of ['first', 'second'])
      assert.match((await look()).detail, /has no tables of Deskbell yet/, `the ${time} time`);
    const paused = await openPostgresStore({ url: database.url });
    await paused.vapidKeys.adopt(vapidPublicKey);
    await paused.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    await paused.sending.pause('asked');
    await paused.close();
    const { keys, subscriptions, pause } = (await inspectDatabase(database.url)).content!;
    assert.deepEqual(keys, [{ publicKey: vapidPublicKey, state: 'current' }]);
    assert.deepEqual([subscriptions.get(vapidPublicKey), pause?.reason], [1, 'asked']);
    assert.match(`${(await look()).status} ${(await look()).detail}`, /^ok .*, schema \d+$/);
  });

  test('has no table that a role can lock which may only connect, nor one that a role can which may read', async () => {
    await (await openPostgresStore({ url: database.url })).close();
    const url = new URL(database.url);
    const role = `stranger_${url.pathname.slice(1)}`;
    await database.run(`create role ${role} login password 'stranger'`);
    try {
      [url.username, url.password] = [role, 'stranger'];
      await using stranger = await connect(url.href);
      const { rows: tables } = await stranger.query<{ name: string }>(
        `select 'deskbell.' || relname as name from pg_class
         where relnamespace = 'deskbell'::regnamespace and relkind in ('r', 'p')`,
      );
      assert.ok(tables.length > 80);
      const lock = (table: string, mode: string) =>
        stranger.query(`do $$ begin lock table ${table} in ${mode} mode; end $$`);
      for (const { name } of tables)
        await assert.rejects(lock(name, 'access share'), { code: '42501' }, name);
      await database.run(`
        grant usage on schema deskbell to ${role}; grant select on all tables in schema deskbell to ${role}`);
      for (const { name } of tables) await assert.rejects(lock(name, 'row share'), { code: '42501' }, name);
    } finally {
      await database.run(`drop owned by ${role}; drop role ${role}`);
    }
  });
});

describe('a PostgreSQL store', () => {
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

  const createBroadcast = async (sliceRows: number) =>
    (await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows }))).broadcast;

  /** What newer code brings that has changed one function and added no migration. */
  const changed = describeFunctions(
    schemaVersion,
    functionsText().replace('* 1000)::bigint)', '* 1000)::bigint + 1000000)'),
  );
  const current = describeFunctions();

  const functionSchemas = async (client: PostgresDatabase): Promise<readonly string[]> =>
    (
      await client.query<{ readonly nspname: string }>(
        `select nspname from pg_namespace where nspname ~ '^deskbell_functions'
         order by nspname = '${current.schema}', nspname = '${changed.schema}', nspname`,
      )
    ).map(({ nspname }) => nspname);

  test('gets a function that changed without a migration, while processes of before go on with theirs', async () => {
    await using newer = closing(await PostgresDatabase.open({ url: database.url }));
    await migrate(newer, migrations, changed);
    const [row] = await newer.query<{ readonly ahead: number }>(
      `select ${changed.schema}.clock(null) - ${current.schema}.clock(null) as ahead`,
    );
    assert.ok(row !== undefined && Math.abs(row.ahead - 1_000_000) < 1000);
    await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    // it may also start anew, as in a rolling upgrade or a step back
    await (await openPostgresStore({ url: database.url })).close();
    assert.deepEqual(await functionSchemas(newer), [changed.schema, current.schema]);
  });

  test('keeps functions until nobody has used them for 30 days, those of older versions from the upgrade on', async () => {
    await using newer = closing(await PostgresDatabase.open({ url: database.url }));
    const setLastUse = (schema: string, days: number) =>
      newer.query(`do $$ begin execute format('comment on schema ${schema} is %L',
        to_char(now() at time zone 'UTC' - interval '${days} days', '"last used "YYYY-MM-DD')); end $$`);
    await newer.query('create schema deskbell_functions_1');
    await setLastUse(current.schema, 30);
    await migrate(newer, migrations, changed);
    assert.deepEqual(await functionSchemas(newer), ['deskbell_functions_1', changed.schema, current.schema]);
    const [older] = await newer.query<{ readonly note: string }>(
      `select obj_description('deskbell_functions_1'::regnamespace, 'pg_namespace') as note`,
    );
    assert.match(older!.note, /^last used \d{4}-\d\d-\d\d$/, 'whose time begins now');
    // the running process of before renews the note for its own
    await keepFunctions(newer, current);
    await setLastUse('deskbell_functions_1', 31);
    await setLastUse(changed.schema, 1);
    await migrate(newer, migrations, changed);
    assert.deepEqual(await functionSchemas(newer), [changed.schema, current.schema]);
    await setLastUse(current.schema, 31);
    await setLastUse(changed.schema, 1);
    await migrate(newer, migrations, changed);
    assert.deepEqual(await functionSchemas(newer), [changed.schema]);
    await (await openPostgresStore({ url: database.url })).close();
    assert.deepEqual(await functionSchemas(newer), [changed.schema, current.schema]);
  });

  test('keeps the functions of a process that runs for long', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const running = await openPostgresStore({ url: database.url });
    const looking = await PostgresDatabase.open({ url: database.url, maxConnections: 1 });
    t.after(() => Promise.all([running.close(), looking.close()]));
    const lastUse = async () =>
      (await looking.first<{ readonly comment: string }>(
        `select obj_description('${current.schema}'::regnamespace, 'pg_namespace') as comment`,
      ))!.comment;
    const today = await lastUse();
    await looking.query(`comment on schema ${current.schema} is 'last used 2026-01-01'`);
    t.mock.timers.tick(24 * 3_600_000);
    await until(async () => (await lastUse()) >= today, 'the note of today');
  });

  test('is migrated however long a statement of the migration takes, or another process that migrates', async (t) => {
    await using newer = closing(await PostgresDatabase.open({ url: database.url, statementTimeoutMs: 1000 }));
    await using other = await connect(database.url);
    await other.query('begin; lock table deskbell.schema_version in row exclusive mode');
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const warnings: string[] = [];
    // longer than the server lets other statements run
    const slow = [...migrations, 'select pg_sleep(1.1)'];
    const migrating = migrate(newer, slow, changed, (warning) => warnings.push(warning));
    await until(() => warnings.length > 0, 'the migration to give way to the other one');
    await other.query('commit');
    const isSleeping = `select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`;
    await until(async () => (await other.query(isSleeping)).rowCount, 'the slow statement');
    // longer than the answers of other statements are waited for
    t.mock.timers.tick(3_600_000);
    t.mock.timers.reset();
    await within(migrating, 'the migration');
    assert.deepEqual(await functionSchemas(newer), [changed.schema, current.schema]);
  });

  test('goes on registering while a newer version migrates, which then refuses the older one', async () => {
    const newer = await PostgresDatabase.open({ url: database.url });
    const migrating = migrate(newer, [
      ...migrations,
      'alter table deskbell.subscriptions add column country text; select pg_sleep(0.3)',
    ]);
    for (let index = 0; index < 20; index += 1) {
      await store.subscriptions.put(madeUpSubscription(index), vapidPublicKey);
    }
    await migrating;
    await store.subscriptions.put(madeUpSubscription(20), vapidPublicKey);
    await newer.close();
    assert.equal(await store.subscriptions.count(), 21);
    await assert.rejects(openPostgresStore({ url: database.url }), {
      code: 'ERR_STORE_TOO_NEW',
      message: new RegExp(`schema ${schemaVersion + 1}; .* up to ${schemaVersion}`),
    });
  });

  test('a migration gives way to whoever has locked a table, says for whom it waits, and is made when that ends', async () => {
    await using newer = closing(await PostgresDatabase.open({ url: database.url }));
    await using dump = await connect(database.url);
    await dump.query('begin');
    await dump.query('select count(*) from deskbell.subscriptions');
    const { rows } = await dump.query<{ pid: number }>('select pg_backend_pid() as pid');
    const warnings: string[] = [];
    const added = [...migrations, 'alter table deskbell.subscriptions add column country text'];
    const migrating = migrate(newer, added, undefined, (warning) => warnings.push(warning));
    await until(() => warnings.length > 0, 'the migration to give way');
    await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    await dump.query('commit');
    await migrating;
    assert.match(warnings[0]!, new RegExp(`waits for session ${rows[0]?.pid} of the database \\(`));
    assert.equal(await store.subscriptions.count(), 1);
    const [version] = await readRows(database.url, 'select version from deskbell.schema_version');
    assert.deepEqual(version, { version: schemaVersion + 1 });
  });

  test('gets an index while others write and a dump is open, also if one who built it before has died', async (t) => {
    await addSubscriptions(store, 20);
    const migrators = await Promise.all(
      [1, 2].map(() => PostgresDatabase.open({ url: database.url, maxConnections: 1 })),
    );
    const looking = await PostgresDatabase.open({ url: database.url });
    t.after(() => Promise.all([...migrators, looking].map((each) => each.close())));
    await looking.query('create index subscriptions_by_zone_3 on deskbell.subscriptions_3 (id)');
    await looking.query(`update pg_index set indisvalid = false
      where indexrelid = 'deskbell.subscriptions_by_zone_3'::regclass`);
    await using dump = await connect(database.url);
    await dump.query('begin isolation level repeatable read');
    await dump.query('select count(*) from deskbell.subscriptions');
    const { rows } = await dump.query<{ pid: number }>('select pg_backend_pid() as pid');
    const warnings: string[] = [];
    const index = { index: 'subscriptions_by_zone', on: 'subscriptions', by: '(time_zone, id)' };
    const added = [...migrations, index, { ...index, index: 'audit_by_target', on: 'audit', by: '(target)' }];
    const migrating = [looking, ...migrators].map((each) =>
      migrate(each, added, undefined, (warning) => warnings.push(warning)),
    );
    const forDump = new RegExp(`waits for session ${rows[0]?.pid} of the database \\(`);
    await until(() => warnings.some((warning) => forDump.test(warning)), 'the index to wait for the dump');
    await within(store.subscriptions.put(madeUpSubscription(20), vapidPublicKey), 'a registration meanwhile');
    await dump.query('commit');
    await within(Promise.all(migrating), 'the index');
    const [built] = await looking.query<{ readonly indexes: number; definition: string }>(
      `select count(*) filter (where i.indisvalid) as indexes,
         max(pg_get_indexdef(i.indexrelid)) filter (where c.relname = 'subscriptions_by_zone_3') as definition
       from pg_index i join pg_class c on c.oid = i.indexrelid
       where c.relname like 'subscriptions_by_zone%' or c.relname = 'audit_by_target'`,
    );
    assert.equal(built?.indexes, 1 + partitions + 1);
    assert.match(built.definition, /\(time_zone, id\)$/);
    const [version] = await readRows(database.url, 'select version from deskbell.schema_version');
    assert.deepEqual(version, { version: schemaVersion + 2 });
  });

  test('waits for registrations that are open, so that none is sent uncounted or counted unsent', async () => {
    await addSubscriptions(store, 5);
    await using other = await connect(database.url);
    const { endpoint, p256dh, auth } = madeUpSubscription(100);
    const register = () =>
      other.query(
        `select * from ${describeFunctions().schema}.put_subscriptions($1, $2, $3, $4, $5, $6, $7)`,
        [
          null,
          [hashEndpoint(endpoint)],
          [endpoint],
          [Buffer.from(p256dh)],
          [Buffer.from(auth)],
          [vapidPublicKey],
          [null],
        ],
      );
    await other.query('begin');
    await register();
    // an id that is higher than that of the open row, and committed before it
    let isCreated = false;
    const created = createBroadcast(2).finally(() => (isCreated = true));
    const second = store.subscriptions.put(madeUpSubscription(101), vapidPublicKey);
    await untilOneWaits(other, 'a broadcast to wait for the open registration');
    assert.equal(isCreated, false);
    await other.query('commit');
    const { id, recipients } = await created;
    await second;
    const reached = await acceptAll(store, origin, id);
    assert.equal(reached.length, recipients);
    assert.ok(reached.length >= 6, 'the open registration is among them');
    assert.equal((await store.broadcasts.find(id))?.counts.removed, 0);
  });

  test('is done with a broadcast whose last slices are committed at the same time', async () => {
    await addSubscriptions(store, 40);
    for (let round = 0; round < 5; round += 1) {
      const { id } = await createBroadcast(10);
      const slices = await Promise.all(
        [1, 2, 3, 4].map(() => store.leases.leaseSlice({ leaseMs, broadcastId: id })),
      );
      await Promise.all(slices.map((slice) => commitSlice(store, slice!, accepted)));
      const broadcast = await store.broadcasts.find(id);
      assert.deepEqual([broadcast?.state, broadcast?.counts.accepted], ['done', 40]);
    }
  });

  /** Registers while another process has a row of the same endpoint that it has not committed. */
  const registerBeside = async (
    registration: Registration,
    stored: Subscription,
    end: 'commit' | 'rollback',
  ) => {
    await using other = await connect(database.url);
    await other.query('begin');
    const values = [[hashEndpoint(stored.endpoint)], [stored.endpoint], [stored.p256dh], [stored.auth]];
    await other.query(
      `select ${current.schema}.put_subscriptions(null, $1, $2, $3, $4, array['${vapidPublicKey}'],
        array['{"assign": {"user": "bob", "tags": ["two"]}}'::jsonb])`,
      values,
    );
    const registered = store.subscriptions.register(registration).catch((error: unknown) => error);
    await untilOneWaits(other, 'a registration that waits for a lock');
    await other.query(end);
    const answer = await registered;
    const row = await store.subscriptions.findByEndpoint(stored.endpoint);
    if (answer instanceof DeskbellError) return { answer: answer.code, user: row?.user, tags: row?.tags };
    assert.deepEqual(answer, row);
    return { answer: 'stored', user: row?.user, tags: row?.tags };
  };

  test('of two processes that register one endpoint at once, the later one holds if it may change the row', async () => {
    const subscription = madeUpSubscription(1);
    const later = { subscription, vapidPublicKey, assign: { user: 'ada', tags: ['one'] } };
    const [ada, bob] = [later.assign, { user: 'bob', tags: ['two'] }];
    assert.deepEqual(await registerBeside(later, subscription, 'rollback'), { answer: 'stored', ...ada });
    await store.subscriptions.removeById(1);
    await store.subscriptions.removeById(2);
    assert.deepEqual(await registerBeside(later, subscription, 'commit'), { answer: 'stored', ...ada });

    const second = madeUpSubscription(2);
    const strange = { ...madeUpSubscription(3), endpoint: second.endpoint };
    assert.deepEqual(await registerBeside({ ...later, subscription: strange }, second, 'commit'), {
      answer: 'ERR_ENDPOINT_IN_USE',
      ...bob,
    });
    const third = madeUpSubscription(4);
    const proven = { ...later, subscription: { ...madeUpSubscription(5), endpoint: third.endpoint } };
    assert.deepEqual(await registerBeside({ ...proven, provenUser: 'bob' }, third, 'commit'), {
      answer: 'stored',
      ...ada,
    });
  });

  test('a proof that is out of date when its turn comes is none', async () => {
    const subscription = madeUpSubscription(1);
    await store.subscriptions.put(subscription, vapidPublicKey);
    const { endpoint } = subscription;
    const registration = {
      subscription: { ...madeUpSubscription(2), endpoint },
      vapidPublicKey,
      former: subscription,
    };
    const newer = { ...madeUpSubscription(3), endpoint };
    assert.deepEqual(await registerBeside(registration, newer, 'commit'), {
      answer: 'ERR_ENDPOINT_IN_USE',
      user: 'bob',
      tags: ['two'],
    });
    assert.equal((await registerBeside(registration, newer, 'rollback')).answer, 'ERR_ENDPOINT_IN_USE');
    await store.subscriptions.put(subscription, vapidPublicKey);
    assert.equal((await registerBeside(registration, newer, 'rollback')).answer, 'stored');
  });

  test('compares secrets by their hashes, so that the time tells nothing of where they differ', async () => {
    const [row] = await readRows<{ readonly body: string }>(
      database.url,
      `select prosrc as body from pg_proc where oid = '${current.schema}.is_same_secret'::regproc`,
    );
    assert.equal(row?.body.trim(), 'select sha256(one) = sha256(other)');
    // whatever compares otherwise does not take a wrong one now
    await database.run(`create or replace function ${current.schema}.is_same_secret(one bytea, other bytea)
      returns boolean language sql immutable as 'select true'`);
    const first = madeUpSubscription(1);
    const wrong = { ...madeUpSubscription(2), endpoint: first.endpoint };
    await store.subscriptions.put(first, vapidPublicKey);
    await store.subscriptions.register({ subscription: wrong, vapidPublicKey });
  });

  test('keeps ids dense: a subscription that is registered again uses up none', async () => {
    const { id: first } = await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    for (let count = 0; count < 10; count += 1) {
      await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    }
    assert.equal((await store.subscriptions.put(madeUpSubscription(2), vapidPublicKey)).id, first + 1);
  });

  const counts = async (id: number) => {
    const found = await store.broadcasts.find(id);
    return [found?.counts.accepted, found?.waiting, found?.origins[0]?.attempts];
  };

  test('counts rows once though the answer to their commit was lost: of a page, of the last page, of retries', async () => {
    await using proxy = await openProxy(database.url);
    await using behind = closing(await openPostgresStore({ url: proxy.url, maxConnections: 1 }));
    let lost = 0;
    const losingAnswer = async (commit: () => Promise<CommitAnswer>): Promise<void> => {
      proxy.loseAnswerTo('commit_page');
      const answer = await commit();
      assert.equal(proxy.lostAnswers(), (lost += 1));
      assert.equal(answer.isLeaseLost, false);
    };
    await addSubscriptions(behind, 30);
    const { id } = await createBroadcast(100);
    const slice = await behind.leases.leaseSlice({ leaseMs, broadcastId: id });
    assert.ok(slice);
    const rows = await behind.ledger.readRows(slice, slice.cursor, 100);
    const middle = rows[3]!.position;
    const page = rows.slice(0, 4).map(accepted);
    await losingAnswer(() => commitPage(behind, slice, page, { cursor: middle }));
    assert.deepEqual(await counts(id), [4, 0, 4]);
    const last = rows.slice(4).map(retried);
    await losingAnswer(() => commitPage(behind, slice, last, { fromCursor: middle }));
    assert.deepEqual(await counts(id), [4, 26, 30]);
    const retries = await behind.leases.leaseRetries({ leaseMs, broadcastId: id, limit: 100 });
    assert.ok(retries);
    const [first, ...others] = retries.rows;
    const results = [retried(first!), ...others.map(accepted)];
    await losingAnswer(() => commitRows(behind, retries, results));
    assert.deepEqual(await counts(id), [29, 1, 56]);
  });

  test('counts all answers of many senders at the same time, whose commits never wait in a circle', async () => {
    await addSubscriptions(store, 200);
    const origins = ['https://a.example', 'https://b.example', 'https://c.example'];
    const commitOf = (index: number) => {
      const answer = index % 4 === 0 ? 'gone' : 'accepted';
      const commits = origins.map((each, offset) =>
        answerCommit(each, [
          [madeUpSubscription((index + offset) % 200), answer],
          [madeUpSubscription((index + offset + 100) % 200), 'accepted'],
        ]),
      );
      // in any order
      if (index % 2 === 0) commits.reverse();
      return { id: randomUUID(), origins: commits.flatMap((each) => each.origins) };
    };
    const all = Array.from({ length: 400 }, (_, index) => store.ledger.recordAnswers(commitOf(index)));
    await Promise.all(all);
    const totals = await store.statistics.outcomeTotals();
    assert.deepEqual(
      pluck(totals, 'attempts', 'gone'),
      origins.map(() => [800, 100]),
    );
    const [row] = await readRows<{ readonly deadlocks: string }>(
      database.url,
      'select deadlocks from pg_stat_database where datname = current_database()',
    );
    assert.equal(Number(row?.deadlocks), 0);
  });

  test('sums what several processes have counted', async () => {
    const others = [
      await openPostgresStore({ url: database.url }),
      await openPostgresStore({ url: database.url }),
    ];
    const all = [store, ...others];
    try {
      for (const [index, one] of all.entries()) await addSubscriptions(one, 5, 5 * index);
      const rows = await store.subscriptions.page({ afterId: 0, limit: 20 });
      for (const [index, one] of all.entries()) await one.subscriptions.removeById(rows[5 * index]!.id);
      assert.equal(await store.subscriptions.count(), 12);
      assert.deepEqual([...(await store.vapidKeys.countSubscriptions()).values()], [12]);
      assert.equal((await store.people.sample(100)).subscriptions, 12);
      const days = await store.statistics.subscriptionDays(0);
      assert.deepEqual(
        [days.reduce((sum, { gained }) => sum + gained, 0), days.reduce((sum, { lost }) => sum + lost, 0)],
        [15, 3],
      );

      const draft = madeUpBroadcast(Date.now(), { sliceRows: 4, receiptActions: [] });
      const { id: broadcastId } = (await store.broadcasts.create(draft)).broadcast;
      const left = (await store.subscriptions.page({ afterId: 0, limit: 20 })).map(({ id }) => id);
      for (const [index, one] of all.entries()) {
        const some = left.slice(4 * index, 4 * index + 4);
        await one.subscriptions.removeById(some[0]!);
        const reported = some.slice(1).map((subscriptionId) => ({ broadcastId, subscriptionId }));
        await one.receipts.add(reported.map((subject) => ({ ...subject, event: 'shown' })));
        await commitNext(one, retried);
      }
      const { receipts, toRetry, counts: settled, origins } = await store.broadcasts.get(broadcastId);
      assert.equal(receipts?.[0]?.shown, 9);
      assert.deepEqual([toRetry, settled.pending, settled.removed, origins[0]?.attempts], [9, 9, 3, 9]);
      const { pendingRows, retryRows } = await store.statistics.backlog();
      assert.deepEqual([pendingRows, retryRows], [9, 9]);
    } finally {
      for (const one of others) await one.close();
    }
  });

  test('adds up the shards of statistics when a broadcast is over', async () => {
    await addSubscriptions(store, 10);
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(Date.now(), { sliceRows: 10 }));
    const slice = (await store.leases.leaseSlice({ leaseMs, broadcastId: broadcast.id }))!;
    await using other = await connect(database.url);
    // as other connections have counted, in this broadcast and an hour ago
    await other.query(
      `insert into deskbell.outcome_intervals (broadcast_id, width_ms, start_ms, push_service, shard, attempts, accepted, gone,
         rejected, expired, exhausted)
       select b.id, 600000, (extract(epoch from now()) * 1000)::bigint / 600000 * 600000 - 3600000, 'FCM', shard, 2, 1, 1, 0, 0, 0
       from (values (0), ($1::bigint)) b (id), generate_series(0, 63) shard`,
      [broadcast.id],
    );
    await commitSlice(store, slice, accepted);
    const rows = await readRows(
      database.url,
      `select count(*)::int as rows, sum(attempts)::int as attempts from deskbell.outcome_intervals
       where start_ms > 0 and (broadcast_id > 0 or start_ms < (extract(epoch from now()) * 1000)::bigint - 3000000)
       group by broadcast_id order by broadcast_id`,
    );
    assert.deepEqual(rows, [
      { rows: 1, attempts: 128 },
      { rows: 2, attempts: 138 },
    ]);
  });

  test('stores pages and answers while another transaction judges their push service', async () => {
    await addSubscriptions(store, 30);
    const record = (index: number, answer: 'accepted' | 'gone') =>
      store.ledger.recordAnswers(answerCommit(origin, [[madeUpSubscription(index), answer]]));
    await record(0, 'gone');
    assert.equal(await store.subscriptions.count(), 29);
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows: 100 }));
    const slice = (await store.leases.leaseSlice({ leaseMs, broadcastId: broadcast.id }))!;
    const rows = await store.ledger.readRows(slice, slice.cursor, 10);
    await using other = await connect(database.url);
    await other.query('begin');
    await other.query('select from deskbell.deletion_guards where origin = $1 for update', [origin]);
    // of so few pages none is judged yet
    const results = rows.map((row, index) => withResult(origin, index % 5 === 0 ? 'gone' : 'accepted')(row));
    await commitPage(store, slice, results, { cursor: rows.at(-1)!.position });
    const gone = record(20, 'gone');
    await untilOneWaits(other, 'the push service to be judged');
    assert.deepEqual(pluck(await store.statistics.outcomeTotals(), 'accepted', 'gone'), [[8, 4]]);
    assert.equal(await store.subscriptions.count(), 29);
    await other.query('commit');
    await gone;
    assert.equal(await store.subscriptions.count(), 26, 'all three that wait are few');
  });

  test('a subscription that is registered again while its mark is judged stays', async () => {
    await addSubscriptions(store, 1);
    await using other = await connect(database.url);
    await other.query('begin');
    await other.query('update deskbell.subscriptions set updated_at_ms = updated_at_ms + 1');
    const gone = store.ledger.recordAnswers(answerCommit(origin, [[madeUpSubscription(0), 'gone']]));
    await untilOneWaits(other, 'the subscription');
    await other.query('commit');
    await gone;
    assert.equal(await store.subscriptions.count(), 1);
  });

  test('a held subscription that is registered again while its deletion is confirmed stays', async () => {
    await addSubscriptions(store, 2);
    await database.run(`insert into deskbell.gone_marks
      (subscription_id, endpoint_hash, origin, answer_window, marked_at_ms, updated_at_ms, is_held)
      select id, endpoint_hash, '${origin}', 0, 0, updated_at_ms, true from deskbell.subscriptions`);
    await using other = await connect(database.url);
    await other.query('begin');
    await other.query('update deskbell.subscriptions set updated_at_ms = updated_at_ms + 1 where id = 1');
    const confirmed = store.heldDeletions.confirm(origin);
    await untilOneWaits(other, 'the subscription');
    await other.query('commit');
    assert.equal(await confirmed, 1);
    assert.deepEqual(pluck(await store.subscriptions.page({ afterId: 0, limit: 9 }), 'id'), [1]);
  });

  test('a row that is renewed while retention is to delete it stays', async () => {
    await database.run('insert into deskbell.client_requests values (1, gen_random_uuid(), 1, 0)');
    await using other = await connect(database.url);
    await other.query('begin');
    await other.query(`update deskbell.client_requests set ends_at_ms = ${2 * nowMs}`);
    const pruned = store.retention.prune({});
    await untilOneWaits(other, 'the row');
    await other.query('commit');
    await pruned;
    assert.equal((await readRows(database.url, 'select 1 from deskbell.client_requests')).length, 1);
  });

  test('a broadcast whose last worker has died after its last page is finished by whoever looks for work, which they get too', async () => {
    await addSubscriptions(store, 3);
    const ending = await createBroadcast(10);
    const left = await createBroadcast(10);
    const due = await createBroadcast(10);
    for (const { id } of [ending, left])
      assert.ok(await store.leases.leaseSlice({ leaseMs: 0, broadcastId: id }));
    await commitSlices(store, due.id, retried);
    await using other = await connect(database.url);
    // what their last commits leave; another worker is just ending the first one
    await other.query(`
      delete from deskbell.slices;
      insert into deskbell.removed_rows (broadcast_id, shard, rows) values (${left.id}, 0, 3);
      set session_replication_role = replica;
      update deskbell.broadcasts set state = 'done' where id = ${ending.id}`);
    assert.equal((await store.broadcasts.get(left.id)).state, 'running');
    for (const { id } of [ending, left])
      assert.equal(await store.leases.leaseSlice({ leaseMs, broadcastId: id }), undefined);
    await other.query('update deskbell.work set retries_at_ms = broadcast_id');
    const retries = await store.leases.leaseRetries({ leaseMs, limit: 10 });
    assert.deepEqual([retries?.broadcastId, retries?.rows.length], [due.id, 3]);
    const { state, alarms } = await store.broadcasts.get(left.id);
    assert.deepEqual([state, alarms], ['done', []]);
  });

  test('reads pages of a broadcast with a frequency cap side by side, unless another one has a cap', async () => {
    await addSubscriptions(store, 10);
    const startSlice = async () => {
      const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs, { perPerson: '1/day' }));
      return (await store.leases.leaseSlice({ leaseMs, broadcastId: broadcast.id }))!;
    };
    await using other = await connect(database.url);
    // as another page of the first one has it
    await other.query('begin; lock table deskbell.reaches_lock in row exclusive mode');
    const first = await startSlice();
    assert.equal((await store.ledger.readRows(first, first.cursor, 10)).length, 10);
    const second = await startSlice();
    const reading = store.ledger.readRows(second, second.cursor, 10);
    await untilOneWaits(other, 'the lock to be asked for');
    await other.query('commit');
    assert.ok((await reading).every(({ isCapped }) => isCapped));
  });

  test('pauses a broadcast with all sending whose preparation ends at the same time', async () => {
    await addSubscriptions(store, 3);
    const audienceId = await store.broadcasts.openAudience();
    const draft = { ...madeUpBroadcast(nowMs), audienceId, matching: {} };
    const { id } = (await store.broadcasts.create(draft)).broadcast;
    await using other = await connect(database.url);
    await other.query('begin');
    await other.query('delete from deskbell.preparations');
    await other.query("update deskbell.broadcasts set state = 'running'");
    const paused = store.sending.pause('asked');
    await untilOneWaits(other, 'the pause to wait');
    await other.query('commit');
    assert.deepEqual((await paused).broadcastIds, [id]);
    assert.equal((await store.broadcasts.get(id)).state, 'paused');
  });

  test('renews and releases rows in the order in which commits lock them', async () => {
    await addSubscriptions(store, 3);
    const { id } = await createBroadcast(10);
    // the last one first, which is the order of the index by which a lease's rows are found
    await database.run(`
      insert into deskbell.retries (broadcast_id, position, due_at_ms, attempts, deferrals, expires_at_ms, token)
      select ${id}, position, 9e12, 1, 0, 9e12, 'lease' from unnest(array[3, 2, 1]) position`);
    await using other = await connect(database.url);
    const lock = (position: number) =>
      other.query(
        `select from deskbell.retries where broadcast_id = ${id} and position = ${position} for update nowait`,
      );
    for (const call of ['renew', 'release'] as const) {
      await other.query('begin');
      await lock(1);
      const called = store.leases[call]({ broadcastId: id, fenceToken: 'lease' }, leaseMs);
      await untilOneWaits(other, `${call} to wait`);
      await lock(3);
      await other.query('commit');
      await called;
    }
  });

  test('lets calls wait for each other longer than a connection may take to be made', async () => {
    const options = { url: database.url, maxConnections: 1, connectTimeoutMs: 200, retryForMs: 0 };
    // on a busy machine the only connection may take longer
    await using narrow = closing(
      await until(() => openPostgresStore(options).catch(() => undefined), 'a connection in time'),
    );
    await using other = await connect(database.url);
    await other.query('begin; lock table deskbell.subscriptions in access exclusive mode');
    const calls = [1, 2, 3].map((id) => narrow.subscriptions.findById(id));
    await sleep(500);
    await other.query('commit');
    assert.deepEqual(await Promise.all(calls), [undefined, undefined, undefined]);
  });

  test('says at once that the server is away to whoever checks', { timeout: 10_000 }, async () => {
    const proxy = await openProxy(database.url);
    const behind = await openPostgresStore({ url: proxy.url });
    await behind.check();
    await proxy.close();
    await assert.rejects(behind.check(), { code: 'ERR_STORE_UNAVAILABLE', message: /cannot be reached/ });
    await behind.close();
  });

  test('has the limits that docs/postgresql.md names', async () => {
    const own = await PostgresDatabase.open({ url: database.url });
    const backends = await Promise.all(
      Array.from({ length: 20 }, () =>
        own.first<{ readonly pid: number }>('select pg_backend_pid() as pid, pg_sleep(0.02)'),
      ),
    );
    assert.equal(new Set(backends.map((row) => row?.pid)).size, 4);
    assert.deepEqual({ ...(await own.first('show statement_timeout')) }, { statement_timeout: '30s' });
    await own.close();
  });

  /** A server that ends connections at once. @param timeOf the monotonic time from the connection with a number on */
  const openAway = async (
    t: TestContext,
    timeOf: (connection: number) => number,
    maxConnections?: number,
  ) => {
    let monotonicMs = 0;
    let tries = 0;
    const away = createServer((socket) => {
      monotonicMs = timeOf(tries);
      tries += 1;
      socket.destroy();
    });
    t.after(() => away.close());
    const port = await listenOnNewPort(away);
    const url = new URL(database.url);
    url.port = String(port);
    const own = await PostgresDatabase.open({ url: url.href, maxConnections });
    t.after(() => own.close());
    t.mock.method(performance, 'now', () => monotonicMs);
    const pauses = t.mock.method(timers, 'setTimeout', async () => {});
    syncBuiltinESMExports();
    t.after(() => {
      pauses.mock.restore();
      syncBuiltinESMExports();
    });
    const pausesMs = () => pauses.mock.calls.map((call) => call.arguments[0] ?? 0);
    return { own, tries: () => tries, pausesMs };
  };

  test('tries calls again for 20 seconds while its server is away, and no longer', async (t) => {
    const { own, tries, pausesMs } = await openAway(t, (connection) =>
      // the pause after most tries is a second
      connection < 8 ? 1000 * connection : ([18_900, 19_100][connection - 8] ?? 1e9),
    );
    await assert.rejects(own.query('select 1'), { code: 'ERR_STORE_UNAVAILABLE' });
    assert.equal(tries(), 10);
    // at least half of each pause, which is twice as long as the one before
    for (const [index, ms] of pausesMs().entries())
      assert.ok(ms >= Math.min(25 * 2 ** index, 500), `${pausesMs()}`);
  });

  test('closes in seconds, and leaves no connection open, though its server is cut off', async (t) => {
    await using proxy = await openProxy(database.url);
    const begin = Socket.prototype.connect;
    const sockets: Socket[] = [];
    t.mock.method(Socket.prototype, 'connect', function note(this: Socket, ...to: Parameters<typeof begin>) {
      sockets.push(this);
      return begin.apply(this, to);
    });
    const own = await PostgresDatabase.open({ url: proxy.url, maxConnections: 2 });
    await Promise.all([own.query('select pg_sleep(0.1)'), own.query('select pg_sleep(0.1)')]);
    const toProxy = sockets.filter(({ remotePort }) => String(remotePort) === new URL(proxy.url).port);
    assert.equal(toProxy.length, 2);
    proxy.cutOff();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const refused = assert.rejects(own.query('select 1'), { code: 'ERR_STORE_UNAVAILABLE' });
    const closed = own.close();
    t.mock.timers.tick(5000);
    t.mock.timers.reset();
    await within(Promise.all([refused, closed]), 'the call to fail and the database to close');
    // one waited for an answer, the other one for a call
    await until(() => toProxy.every(({ destroyed }) => destroyed), 'both connections to be gone');
  });

  test('lets calls that wait for a connection fail when their time is over too, without trying each', async (t) => {
    const { own, tries } = await openAway(t, (connection) => 20_000 * connection, 1);
    const calls = await Promise.allSettled(Array.from({ length: 10 }, () => own.query('select 1')));
    assert.ok(calls.every(({ status }) => status === 'rejected'));
    // the third begins before it is known that the second gives up
    assert.equal(tries(), 3);
  });

  test('has 32 partitions of subscriptions, and room on the pages of tables that change often', async () => {
    const tables = await readRows<{ readonly name: string; readonly options: string }>(
      database.url,
      `select relname as name, coalesce(array_to_string(reloptions, ','), '') as options
       from pg_class where relnamespace = 'deskbell'::regnamespace and relkind = 'r'`,
    );
    const hashed = tables.filter(({ name }) => /^subscriptions_\d+$/.test(name)).map(({ name }) => name);
    assert.deepEqual(
      new Set(hashed),
      new Set(Array.from({ length: 32 }, (_, number) => `subscriptions_${number}`)),
    );
    const roomy = new Set(tables.flatMap(({ name, options }) => (/fillfactor/.test(options) ? name : [])));
    const often =
      'slices retries work waiting_rows removed_rows origin_counts subscription_counts answer_counts receipt_counts ' +
      'subscription_days outcome_intervals push_services rate_limits client_requests senders';
    for (const name of often.split(' ')) assert.ok(roomy.has(name), name);
  });

  test('ends a statement that takes too long', async () => {
    await using impatient = closing(await openPostgresStore({ url: database.url, statementTimeoutMs: 200 }));
    await using other = await connect(database.url);
    await other.query('begin; lock table deskbell.subscriptions in access exclusive mode');
    await assert.rejects(impatient.subscriptions.put(madeUpSubscription(1), vapidPublicKey), {
      code: 'ERR_STORE_UNAVAILABLE',
      message: /took too long/,
    });
  });

  test('says what is wrong without password, endpoint or keys', async () => {
    const away = await openPostgresStore({
      url: 'postgres://deskbell:s3cret@127.0.0.1:1/none',
      retryForMs: 0,
    }).catch((error: unknown) => error);
    assert.ok(away instanceof DeskbellError);
    assert.equal(away.code, 'ERR_STORE_UNAVAILABLE');
    assert.match(away.message, /127\.0\.0\.1:1\/none cannot be reached/);
    assert.doesNotMatch(JSON.stringify([away.message, String(away.cause), away.cause]), /s3cret/);

    const bad = { ...madeUpSubscription(1), auth: new Uint8Array(15) };
    const refused = await store.subscriptions.put(bad, vapidPublicKey).catch((error: unknown) => error);
    assert.ok(refused instanceof DeskbellError && refused.cause instanceof Error);
    assert.equal(refused.code, 'ERR_FIELD_VALUE');
    const shown = JSON.stringify([refused.message, refused.cause.message, { ...refused.cause }]);
    assert.match(shown, /auth_check/);
    assert.doesNotMatch(shown, /googleapis/);
  });
});
