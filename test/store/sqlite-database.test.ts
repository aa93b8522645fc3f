// How writes share transactions, and what a write is told when it fails.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { SqliteDatabase } from '../../src/store/sqlite/database.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import { inBatches } from '../../src/store/sqlite/portable-database.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { temporaryFolder } from '../cli/run-command.ts';
import { acceptAll, addSubscriptions, madeUpBroadcast } from './store-under-test.ts';
import { pluck } from '../../tools/pluck.ts';

describe('a SQLite database', () => {
  let folder: string;
  let path: string;
  let database: SqliteDatabase;
  /** Another connection to the same file, as another process has it. */
  let other: DatabaseSync;

  beforeEach(async () => {
    folder = mkdtempSync(join(fastFolder(), 'deskbell-commit-'));
    path = join(folder, 'deskbell.db');
    database = await SqliteDatabase.open({ path, lockTimeoutMs: 50 });
    other = new DatabaseSync(path);
    other.exec('create table notes (text text unique) strict');
    other.exec('create table rows (id integer primary key, word text) strict');
  });
  afterEach(async () => {
    other.close();
    await database.close();
    rmSync(folder, { recursive: true });
  });

  const add = (text: string) => () => database.run('insert into notes values (:text)', { text });
  const setMaxPages = (pages: number) => database.all(`pragma max_page_count = ${pages}`);
  const countNotes = () => other.prepare('select count(*) as count from notes').get()?.['count'];

  test('writes of one turn become visible to others at once, by one commit', async () => {
    other.exec('pragma wal_checkpoint(truncate)');
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        await database.write(add(`note ${index}`));
        assert.equal(countNotes(), 100);
      }),
    );
    // a commit writes each page once that it has changed
    const pages = Number(other.prepare('pragma wal_checkpoint').get()?.['log']);
    assert.ok(pages > 0 && pages < 20, `${pages} pages are in the log`);
  });

  test('an erasure that is durable succeeds even if the log cannot be emptied', async (t) => {
    t.mock.method(database, 'read', () => Promise.reject(new Error('disk I/O error')));
    assert.equal(await database.erase(add('last')), 1);
    assert.equal(countNotes(), 1);
  });

  test('a commit is synced to the disk', () => {
    const full = 2;
    const setting = database.first<{ synchronous: number }>('pragma synchronous');
    assert.equal(setting?.synchronous, full);
  });

  test('work that throws is undone alone, also what it had done before', async () => {
    const thrown = new Error('half-way');
    const results = await Promise.allSettled([
      database.write(add('first')),
      database.write(() => {
        add('half')();
        throw thrown;
      }),
      database.write(add('last')),
    ]);
    assert.deepEqual(pluck(results, 'status'), ['fulfilled', 'rejected', 'fulfilled']);
    assert.ok(results[1]?.status === 'rejected' && results[1].reason === thrown);
    assert.equal(countNotes(), 2);
  });

  test('a full disk fails every write of the turn, keeps what was there, and later writes work again', async () => {
    await database.write(add('before'));
    const pages = database.first<{ page_count: number }>('pragma page_count')?.page_count;
    setMaxPages(pages ?? 0);

    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => database.write(add(`${index}${'x'.repeat(4000)}`))),
    );
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    assert.ok(reasons.length > 0);
    for (const reason of reasons) {
      assert.equal(reason.code, 'ERR_STORE_UNAVAILABLE');
      assert.match(reason.message, /disk is full/);
    }
    assert.equal(countNotes(), 1 + results.length - reasons.length, 'what was acknowledged is there');

    setMaxPages(1_000_000);
    await database.write(add('after'));
    assert.equal(countNotes(), 2 + results.length - reasons.length);
  });

  test('a lock that is held too long is ERR_STORE_UNAVAILABLE, also to check(), and later writes work again', async () => {
    const locked = { code: 'ERR_STORE_UNAVAILABLE', message: /locked by another process/ };
    other.exec('begin immediate');
    await assert.rejects(database.write(add('kept out')), locked);
    await assert.rejects(database.check(), locked);
    other.exec('rollback');
    await database.check();
    await database.write(add('let in'));
    assert.equal(countNotes(), 1);
  });

  test('values go to their names, in whatever order and as often as they stand in the text', () => {
    const insert = 'insert into rows (id, word) values (:id, :word)';
    assert.equal(database.run(insert, { word: 'one', id: 1 }), 1);
    assert.equal(database.run(insert, { id: 2, word: null }), 1);
    const find = 'select id from rows where id = :id and (word = :word or :id = 2)';
    assert.equal(database.first<{ id: number }>(find, { word: 'one', id: 1 })?.id, 1);
    assert.equal(database.first<{ id: number }>(find, { word: 'one', id: 2 })?.id, 2);
    assert.equal(database.first(find, { word: 'two', id: 1 }), undefined);
    // a value that is missing is not taken for null, and one that nobody asked for is not passed over
    assert.throws(() => database.run(insert, { id: 3 }), /No value for the parameter "word"/);
    assert.throws(() => database.run(insert, { id: 3, word: 'x', wrod: 'y' }), /no parameter "wrod"/);
    assert.equal(database.first<{ n: number }>('select count(*) as n from rows')?.n, 2);
  });

  test('rows come as tuples where that is asked for, even if the same text has given objects', () => {
    const sql = 'select :id as id, :word as word';
    const values = { id: 1, word: 'one' };
    for (let times = 0; times < 2; times += 1) {
      assert.deepEqual({ ...database.first<object>(sql, values) }, values);
      assert.deepEqual(database.tuples(sql, values), [[1, 'one']]);
    }
  });

  test('a statement is prepared when it is first run, and only then', (t) => {
    const count = 'select count(*) as n from later';
    assert.throws(() => database.first(count), /no such table: later/);
    other.exec('create table later (id integer primary key) strict');
    const { mock } = t.mock.method(DatabaseSync.prototype, 'prepare');
    for (let times = 0; times < 3; times += 1) assert.equal(database.first<{ n: number }>(count)?.n, 0);
    assert.equal(mock.callCount(), 1);
  });
});

test('ids are values: however many different ones are asked for, there are no more statements', async (t) => {
  const directory = mkdtempSync(join(fastFolder(), 'deskbell-statements-'));
  const store = await openSqliteStore({ path: join(directory, 'deskbell.db') });
  t.after(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  await addSubscriptions(store, 3);
  const ids: number[] = [];
  while (ids.length < 3) {
    ids.push((await store.broadcasts.create(madeUpBroadcast(Date.now()))).broadcast.id);
    await acceptAll(store, 'https://fcm.googleapis.com');
  }
  const { mock } = t.mock.method(DatabaseSync.prototype, 'prepare');
  const askFor = async (some: readonly number[]): Promise<number> => {
    await store.attempts.countAnswers(some);
    await store.broadcasts.findAll(some);
    for (const subscriptionId of some) {
      await store.attempts.list({ subscriptionId, limit: 10 });
      await store.attempts.outcomesOf(some[0]!, some);
      await store.attempts.outcomesTo([subscriptionId], {
        beforeId: Number.MAX_SAFE_INTEGER,
        limit: some.length,
      });
    }
    return mock.callCount();
  };
  const first = await askFor(ids.slice(0, 1));
  assert.ok(first > 0);
  assert.equal(await askFor(ids.slice(1)), first);
  assert.equal(await askFor(ids), first);
});

// Work in many transactions: others get the lock between two of them.

test('each step is a transaction of its own, and the lock is free for a while after it', async () => {
  const path = `${await temporaryFolder()}/deskbell.db`;
  const [own, other] = [await SqliteDatabase.open({ path }), await SqliteDatabase.open({ path })];
  const steps: { readonly beganMs: number; readonly endedMs: number }[] = [];
  let writesOfOther = 0;
  await inBatches(own, () => {
    const beganMs = performance.now();
    void other.write(() => (writesOfOther += 1));
    assert.equal(writesOfOther, steps.length, 'the other one wrote after each step');
    steps.push({ beganMs, endedMs: performance.now() });
    return steps.length < 4;
  });
  assert.equal(steps.length, 4);
  const pauses = steps.slice(1).map(({ beganMs }, index) => beganMs - steps[index]!.endedMs);
  for (const pauseMs of pauses) assert.ok(pauseMs >= 10, `${pauseMs} ms`);
  await other.write(() => {});
  await Promise.all([own.close(), other.close()]);
});
