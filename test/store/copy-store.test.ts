// Copies between databases: nothing is forgotten, the copy of a copy is the same, an interrupted one goes on, and what cannot
// be copied safely is refused.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import type { Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import { copiedTables } from '../../src/store/copy/copied-tables.ts';
import type { CopyDatabase, Progress } from '../../src/store/copy/copy-database.ts';
import { copyStore, type CopyOptions } from '../../src/store/copy/copy-store.ts';
import { openPostgresSource, openPostgresTarget } from '../../src/store/copy/postgres-copy.ts';
import { openSqliteSource, openSqliteTarget } from '../../src/store/copy/sqlite-copy.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { copyDatabase } from '../../src/store/sqlite/backup.ts';
import { inspectDatabase } from '../../src/store/sqlite/inspect-database.ts';
import { schema } from '../../src/store/sqlite/migrations.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { dumpDatabase, fillDatabase } from './filled-database.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { openProxy } from './postgres-proxy.ts';
import { readRows } from '../../tools/postgres-client.ts';
import { useSharedServer, type TestDatabase } from '../../tools/postgres-server.ts';
import {
  acceptAll,
  addSubscriptions,
  commitNext,
  commitRows,
  commitSlice,
  commitSlices,
  madeUpBroadcast,
  withRetry,
} from './store-under-test.ts';
import { until } from '../../tools/until.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { refuses } from '../../tools/refuses.ts';

const getServer = useSharedServer();
const fcm = 'https://fcm.googleapis.com';

let folder: string;
let files = 0;
const newPath = (): string => join(folder, `${(files += 1)}.db`);
/** Goes with its server. */
const newDatabase = async (): Promise<TestDatabase> => (await getServer()).createDatabase();

before(() => {
  folder = mkdtempSync(join(fastFolder(), 'deskbell-copy-'));
});
after(() => rmSync(folder, { recursive: true }));

const isUrl = (place: string): boolean => place.startsWith('postgres:');
const openSource = (place: string): Promise<CopyDatabase> =>
  isUrl(place) ? openPostgresSource({ url: place }) : openSqliteSource(place);
const openTarget = (place: string): Promise<CopyDatabase> =>
  isUrl(place) ? openPostgresTarget({ url: place }) : openSqliteTarget(place);
const openStore = (place: string): Promise<Store> =>
  isUrl(place) ? openPostgresStore({ url: place }) : openSqliteStore({ path: place });

async function copy(from: string, to: string, options: Partial<CopyOptions> = {}): Promise<Progress> {
  const source = await openSource(from);
  try {
    const target = await openTarget(to);
    try {
      return await copyStore({ from: source, to: target, ...options });
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

const keysOf = async (store: Store) => [
  await store.vapidKeys.list(),
  await store.subscriptions.page({ afterId: 0, limit: 10 }),
];

/** Types of PostgreSQL that have the form of a type of SQLite. */
const sameForm: Readonly<Record<string, readonly string[]>> = {
  INTEGER: ['bigint', 'integer', 'boolean'],
  REAL: ['double precision'],
  TEXT: ['text'],
  BLOB: ['bytea'],
};

test('PostgreSQL has every table and column that is copied by the same name and in the same form', async () => {
  const { url } = await newDatabase();
  const rows = await readRows(
    url,
    `select c.relname as "table", a.attname as "column", format_type(a.atttypid, a.atttypmod) as type
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'deskbell'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  const typeOf = new Map(rows.map(({ table, column, type }) => [`${table}.${column}`, String(type)]));
  for (const { name, columns } of copiedTables) {
    for (const { name: column, type } of columns) {
      if (name === 'sequences' || column === 'tags') continue;
      assert.ok(sameForm[type]?.includes(typeOf.get(`${name}.${column}`) ?? ''), `${name}.${column}`);
    }
  }
  const copied = new Set(copiedTables.map(({ name }) => name));
  const others = new Set(rows.map(({ table }) => String(table)).filter((table) => !copied.has(table)));
  assert.deepEqual([...others].sort(), [
    'client_requests',
    'commits',
    'console_sessions',
    'held_marks',
    'locks',
    'schema_version',
    'senders',
    'subscription_counts',
    'waiting_rows',
    'work',
  ]);
});

test('PostgreSQL deletes what SQLite deletes together with a broadcast', async () => {
  using sqlite = new DatabaseSync(':memory:');
  sqlite.exec(schema);
  const cascading = sqlite
    .prepare(
      `select m.name from sqlite_schema m, pragma_foreign_key_list(m.name) k
       where m.type = 'table' and k."table" = 'broadcasts' and k.on_delete = 'CASCADE'`,
    )
    .all();
  const { url } = await newDatabase();
  const [row] = await readRows<{ forgotten: string; cascading: readonly string[] }>(
    url,
    `select (select prosrc from pg_proc where oid = 'deskbell.forget_broadcasts'::regproc) as forgotten,
       (select array_agg(conrelid::regclass::text) from pg_constraint
        where confrelid = 'deskbell.broadcasts'::regclass and confdeltype = 'c') as cascading`,
  );
  const forgotten = new Set(row!.forgotten.match(/\w+/g));
  assert.ok(cascading.length > 10);
  for (const { name } of cascading) {
    const table = `deskbell.${String(name)}`;
    assert.ok(forgotten.has(String(name)) || row!.cascading.includes(table), table);
  }
});

describe('a copy', () => {
  test('of SQLite to PostgreSQL and back has every row of every table', async () => {
    const path = newPath();
    await fillDatabase(path);
    const original = dumpDatabase(path);
    const [first, second] = [await newDatabase(), await newDatabase()];
    const back = newPath();
    const copied = await copy(path, first.url);
    const empty = copiedTables.filter(({ name }) => (copied[name]?.rows ?? 0) === 0).map(({ name }) => name);
    assert.deepEqual(empty, [], 'the database of this test has a row in each table');
    assert.deepEqual(await copy(first.url, second.url), copied);
    assert.deepEqual(await copy(second.url, back), copied);
    assert.deepEqual(await copy(back, newPath()), copied);
    assert.deepEqual(dumpDatabase(back), original);
    assert.deepEqual(dumpDatabase(path), original, 'the source is as it was');
  });

  test('has the keys of the source, and gives ids out behind its ids, also behind those of deleted rows', async () => {
    const path = newPath();
    await fillDatabase(path);
    const source = await openStore(path);
    const keys = await keysOf(source);
    await source.close();
    const database = await newDatabase();
    await copy(path, database.url);
    const back = newPath();
    await copy(database.url, back);
    for (const place of [database.url, back]) {
      const store = await openStore(place);
      assert.deepEqual(await keysOf(store), keys);
      const { id } = await store.subscriptions.put(madeUpSubscription(99), 'K3');
      assert.equal(id, 7, 'after the deleted subscription 6');
      const { broadcast } = await store.broadcasts.create(madeUpBroadcast(Date.now()));
      assert.equal(broadcast.id, 10, 'after the deleted broadcast 9');
      assert.equal(broadcast.recipients, 6);
      assert.equal(
        (await store.vapidKeys.list()).find(({ publicKey }) => publicKey === 'K1')?.state,
        'current',
      );
      await store.close();
    }
    const [row] = await readRows(
      database.url,
      `insert into deskbell.attempt_sets
         (broadcast_id, at_ms, since_ms, outcome, attempt, answer_id, first_id, last_id, rows, ids)
       values (3, 1, 1, 'gone', 1, 1, 1, 1, 1, '\\x01') returning id`,
    );
    assert.equal(row?.['id'], '13');
  });

  test('of counts that PostgreSQL keeps in shards has their sums', async () => {
    const { url } = await newDatabase();
    const store = await openPostgresStore({ url });
    await addSubscriptions(store, 200);
    const { id } = (await store.broadcasts.create(madeUpBroadcast(Date.now()))).broadcast;
    await acceptAll(store, fcm);
    const expected = await store.broadcasts.find(id);
    const days = await store.statistics.subscriptionDays(0);
    const totals = await store.statistics.outcomeTotals();
    const ofKeys = await store.vapidKeys.countSubscriptions();
    const intervals = await store.statistics.outcomesOf(id);
    assert.equal(totals[0]?.accepted, 200);
    await store.close();
    const path = newPath();
    await copy(url, path);
    const copied = await openSqliteStore({ path });
    assert.deepEqual(await copied.broadcasts.find(id), expected);
    assert.deepEqual(await copied.statistics.subscriptionDays(0), days);
    assert.deepEqual(await copied.statistics.outcomeTotals(), totals);
    assert.deepEqual(await copied.vapidKeys.countSubscriptions(), ofKeys);
    assert.deepEqual(await copied.statistics.outcomesOf(id), intervals);
    await copied.close();
  });

  test('of a broadcast in slices of partitions leaves nobody out and repeats nobody', async () => {
    const { url } = await newDatabase();
    const store = await openPostgresStore({ url });
    await addSubscriptions(store, 500);
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(Date.now(), { sliceRows: 4 }));
    const [rowsIn] = await readRows(url, 'select rows_in from deskbell.broadcasts');
    assert.equal(rowsIn?.['rows_in'], 'partition');
    const reached: unknown[] = [];
    const accept = (recipient: Recipient): RowResult => {
      reached.push(recipient.subscriptionId);
      return { recipient, origin: fcm, attempts: 1, result: 'accepted' };
    };
    const retry = withRetry(fcm, Date.now());
    for (let slice = 0; slice < 40; slice += 1)
      await commitNext(store, (row) => ((row.subscriptionId ?? 0) % 3 === 0 ? retry(row) : accept(row)));
    await store.broadcasts.pause(broadcast.id);
    const paused = await store.broadcasts.find(broadcast.id);
    assert.ok(reached.length > 50 && (paused?.waiting ?? 0) > 10, 'it is somewhere in the middle');
    // some of them wait, others were not read yet
    const left = (await store.subscriptions.page({ afterId: 0, limit: 500 })).filter(
      ({ id }) => !reached.includes(id),
    );
    const removed = left.slice(0, 50).map(({ id }) => id);
    for (const id of removed) await store.subscriptions.removeById(id);
    await store.close();

    const path = newPath();
    await copy(url, path);
    const other = await newDatabase();
    await copy(path, other.url);
    const copied = await openPostgresStore({ url: other.url });
    assert.deepEqual(await copied.broadcasts.find(broadcast.id), paused);
    await copied.broadcasts.resume(broadcast.id);
    await commitSlices(copied, undefined, accept);
    for (let lease; (lease = await copied.leases.leaseRetries({ leaseMs: 10_000, limit: 100 }));)
      await commitRows(copied, lease, lease.rows.map(accept));
    const over = await copied.broadcasts.find(broadcast.id);
    assert.deepEqual([over?.state, over?.counts.accepted, over?.counts.removed], ['done', 450, 50]);
    assert.deepEqual(
      reached.map(Number).sort((one, next) => one - next),
      Array.from({ length: 500 }, (_, index) => index + 1).filter((id) => !removed.includes(id)),
    );
    // a new list of recipients does not get the number of the one that the copy has made
    const list = await copied.broadcasts.openAudience();
    assert.ok(list > 1);
    await copied.close();
  });

  test('that is killed goes on where it was, and is opened by nobody else before it is whole', async () => {
    const path = newPath();
    const source = await openSqliteStore({ path });
    await addSubscriptions(source, 6000);
    await source.close();
    const { url } = await newDatabase();
    for (const [target, step] of [
      [url, 'copying'],
      [newPath(), 'copying'],
      [newPath(), 'comparing'],
    ] as const) {
      const child = spawn(process.execPath, [
        join(import.meta.dirname, 'copying-child.ts'),
        path,
        target,
        step,
        '3000',
      ]);
      assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL']);
      await assert.rejects(openStore(target), { code: 'ERR_COPY_UNFINISHED' });
      if (!isUrl(target)) {
        await assert.rejects(inspectDatabase(target), { code: 'ERR_COPY_UNFINISHED' });
        await assert.rejects(copyDatabase(target, newPath()), { code: 'ERR_COPY_UNFINISHED' });
      }
      const compared: number[] = [];
      await copy(path, target, {
        onProgress: ({ step: done, table, rows }) => {
          if (done === 'comparing' && table === 'subscriptions') compared.push(rows);
        },
      });
      assert.deepEqual(compared, [1000, 2000, 3000, 4000, 5000, 6000], 'a page at a time is in memory');
      const store = await openStore(target);
      assert.equal(await store.subscriptions.count(), 6000);
      await store.close();
    }
  });

  test('writes no page twice where the answer to a commit was lost', async () => {
    const path = newPath();
    await fillDatabase(path);
    await using proxy = await openProxy((await newDatabase()).url);
    await copy(path, proxy.url, {
      onProgress: ({ step, table }) => {
        if (step === 'copying' && ['vapid_keys', 'audit'].includes(table)) proxy.loseAnswerTo('commit');
      },
    });
    assert.equal(proxy.lostAnswers(), 2);
  });

  test('that was interrupted does not go on with a source that has changed, or with another one', async () => {
    const path = newPath();
    const source = await openSqliteStore({ path });
    await addSubscriptions(source, 2500);
    await source.close();
    const other = newPath();
    const { url } = await newDatabase();
    const stopped = new AbortController();
    const interrupted = copy(path, url, {
      signal: stopped.signal,
      onProgress: ({ table, rows }) => {
        if (table === 'subscriptions' && rows >= 2000) stopped.abort(new Error('stopped'));
      },
    });
    await assert.rejects(interrupted, /stopped/);
    await fillDatabase(other);
    await refuses(copy(other, url), 'ERR_COPY_DIFFERS', /vapid_keys of .* is not as it was/);
    const changed = await openSqliteStore({ path });
    await changed.subscriptions.put({ ...madeUpSubscription(3), auth: new Uint8Array(16) }, vapidPublicKey);
    await changed.close();
    await refuses(copy(path, url), 'ERR_COPY_DIFFERS', /subscriptions of .* is not as it was/);
  });

  test('is refused where what was written is not what was read', async () => {
    const path = newPath();
    await fillDatabase(path);
    const { url, run } = await newDatabase();
    let isSpoiled = false;
    const source = await openSqliteSource(path);
    const target = await openPostgresTarget({ url });
    const spoiling: CopyDatabase = {
      ...target,
      finish: async (transaction) => {
        await target.finish(transaction);
        await run(`update deskbell.schedules set message = '{}'`);
        isSpoiled = true;
      },
    };
    await refuses(copyStore({ from: source, to: spoiling }), 'ERR_COPY_DIFFERS', /schedules/);
    assert.ok(isSpoiled);
    await target.close();
    await source.close();
    await assert.rejects(openStore(url), { code: 'ERR_COPY_UNFINISHED' });
  });

  test('is made to an empty target only', async () => {
    const path = newPath();
    await fillDatabase(path);
    const { url } = await newDatabase();
    for (const target of [url, newPath()]) {
      const store = await openStore(target);
      await addSubscriptions(store, 1);
      await store.close();
      await assert.rejects(copy(path, target), { code: 'ERR_STORE_NOT_EMPTY', message: /subscriptions/ });
    }
    // one operator is enough
    for (const target of [(await newDatabase()).url, newPath()]) {
      const store = await openStore(target);
      await store.operators.add({ name: 'grace', role: 'full', tokenHash: new Uint8Array(32) });
      await store.close();
      await assert.rejects(copy(path, target), { code: 'ERR_STORE_NOT_EMPTY', message: /operators/ });
    }
  });

  test('is refused while another process has the source or the target open', async () => {
    const path = newPath();
    const { url } = await newDatabase();
    for (const place of [path, url]) {
      const store = await openStore(place);
      await store.subscriptions.count();
      const options = { url: place, waitForOthersMs: 0 };
      const inUse = {
        code: 'ERR_STORE_IN_USE',
        message: /is open in another process|by 1 other connection of/,
      };
      await assert.rejects(isUrl(place) ? openPostgresSource(options) : openSqliteSource(place), inUse);
      await assert.rejects(isUrl(place) ? openPostgresTarget(options) : openSqliteTarget(place), inUse);
      await store.close();
    }
    // of the server's other databases nothing is asked
    const { url: otherUrl } = await newDatabase();
    const elsewhere = new Client({ connectionString: otherUrl, application_name: 'deskbell' });
    await elsewhere.connect();
    await (await openPostgresSource({ url })).close();
    await elsewhere.end();
    const reading = await openSqliteSource(path);
    const late = new DatabaseSync(path);
    assert.throws(() => late.exec('select 1 from subscriptions'), /locked/);
    late.close();
    await reading.close();
  });

  test('of PostgreSQL is refused while a worker that is not connected holds rows', async () => {
    const { url, run } = await newDatabase();
    const store = await openPostgresStore({ url });
    await addSubscriptions(store, 5);
    await store.broadcasts.create(madeUpBroadcast(Date.now()));
    const slice = await store.leases.leaseSlice({ leaseMs: 60_000 });
    await store.close();
    const isLeased = { code: 'ERR_STORE_IN_USE', message: /broadcast 1 .* for \d+ s/ };
    await assert.rejects(copy(url, newPath()), isLeased);

    const again = await openPostgresStore({ url });
    await commitSlice(again, slice!, withRetry(fcm, Date.now()), 0);
    const retries = await again.leases.leaseRetries({ leaseMs: 60_000, limit: 10 });
    assert.equal(retries?.rows.length, 5);
    await again.broadcasts.create(madeUpBroadcast(Date.now()));
    await again.close();
    await assert.rejects(copy(url, newPath()), isLeased, 'retries are leased too');
    await run('update deskbell.retries set due_at_ms = 1');
    // as one for a local time to come, which nobody has leased
    await run('update deskbell.slices set lease_until_ms = 4102444800000 where token is null');
    assert.equal((await copy(url, newPath()))['slices']?.rows, 1);
  });

  test('lets nobody write to its source meanwhile', async () => {
    const { url } = await newDatabase();
    const store = await openPostgresStore({ url });
    await addSubscriptions(store, 5);
    await store.close();
    const written: unknown[] = [];
    let writing: Promise<unknown> | undefined;
    const tables = ['subscriptions', 'webhook_events'];
    const late = tables.map(() => new Client({ connectionString: url }));
    for (const client of late) await client.connect();
    const areWaiting = async (): Promise<boolean> =>
      (await readRows(url, `select from pg_locks where not granted and database is not null`)).length === 2;
    const source = await openPostgresSource({ url });
    const target = await openSqliteTarget(newPath());
    const progress = await copyStore({
      from: source,
      to: {
        ...target,
        finish: async (transaction) => {
          const remove = async (table: string, index: number) =>
            written.push(await late[index]!.query(`delete from deskbell.${table}`));
          writing = Promise.all(tables.map(remove));
          await until(async () => written.length > 0 || (await areWaiting()), 'the deletions to wait');
          const locked = await readRows(
            url,
            `select c.relname from pg_locks l join pg_class c on c.oid = l.relation
             where l.granted and l.mode = 'ExclusiveLock'`,
          );
          const names = new Set(locked.map(({ relname }) => relname));
          const copied = copiedTables.filter(({ name }) => name !== 'sequences');
          const free = copied.map(({ name }) => name).filter((name) => !names.has(name));
          assert.deepEqual(free, []);
          await target.finish(transaction);
          assert.deepEqual(written, []);
        },
      },
    });
    await writing;
    assert.equal(progress['subscriptions']?.rows, 5);
    for (const client of late) await client.end();
    await target.close();
    await source.close();
  });

  test('begun by another version is not continued', async () => {
    const path = newPath();
    await fillDatabase(path);
    const { url, run } = await newDatabase();
    await run(`create table deskbell.unfinished_copy (source text, schema_version int, progress text);
               insert into deskbell.unfinished_copy values ('x', 1, '{}')`);
    await refuses(copy(path, url), 'ERR_COPY_UNFINISHED', /begun by a Deskbell with schema 1;/);
  });

  test('of a database without tables of Deskbell is refused', async () => {
    const database = await (await getServer()).createDatabase('template1');
    await assert.rejects(copy(database.url, newPath()), { code: 'ERR_COPY_SOURCE' });
  });
});
