// SQLite's own promises: durable through kill -9, shared by processes, and clear about files that are not usable.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspectDatabase } from '../../src/store/sqlite/inspect-database.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import { receiptWindowMs } from '../../src/store/receipts.ts';
import type { Store } from '../../src/store/store.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import './alarms-suite.ts';
import './attempts-suite.ts';
import './audiences-suite.ts';
import './bells-suite.ts';
import './broadcast-suite.ts';
import './cancelled-slices-suite.ts';
import './endpoint-spellings-suite.ts';
import './frequency-cap-suite.ts';
import './held-deletions-suite.ts';
import './invitations-suite.ts';
import './lost-commits-suite.ts';
import './operators-suite.ts';
import './people-suite.ts';
import './push-services-suite.ts';
import './rate-shares-suite.ts';
import './readers-suite.ts';
import './receipts-suite.ts';
import './registration-suite.ts';
import './retention-suite.ts';
import './schedules-suite.ts';
import './sending-suite.ts';
import './split-audiences-suite.ts';
import './statistics-suite.ts';
import './store-suite.ts';
import './unlisted-push-services-suite.ts';
import './vapid-keys-suite.ts';
import './webhook-outbox-suite.ts';
import { addSubscriptions, madeUpBroadcast } from './store-under-test.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { until } from '../../tools/until.ts';
import { pluck } from '../../tools/pluck.ts';
import { refuses } from '../../tools/refuses.ts';

const isWindows = process.platform === 'win32';

describe('the SQLite file', () => {
  let folder: string;
  let files = 0;
  const newPath = () => join(folder, `${(files += 1)}.db`);

  before(() => {
    folder = mkdtempSync(join(fastFolder(), 'deskbell-sqlite-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  test('every acknowledged registration survives kill -9 at any moment, and the file is whole', async () => {
    const path = newPath();
    const acknowledged = new Set<number>();
    for (let round = 0; round < 3; round += 1) {
      const lines = await registerUntilKilled(path, round * 1000, 1000);
      for (const line of lines) acknowledged.add(line);
    }
    assert.ok(acknowledged.size > 0, 'some registrations were acknowledged before the kills');
    await withStore(path, async (store) => {
      for (const index of acknowledged) {
        const { endpoint } = madeUpSubscription(index);
        assert.ok(await store.subscriptions.findByEndpoint(endpoint), `registration ${index} is lost`);
      }
    });
    assert.equal(integrityOf(path), 'ok');
  });

  test('whoever reported receipts is forgotten, however many they are, 5,000 rows in each step', async () => {
    const path = newPath();
    await withStore(path, async (store) => {
      const startAtMs = Date.now() - receiptWindowMs - 1000;
      const draft = madeUpBroadcast(startAtMs, { receiptActions: [] });
      const { broadcast } = await store.broadcasts.create(draft);
      using database = new DatabaseSync(path);
      database.exec(`
        with recursive ids (id) as (select 1 union all select id + 1 from ids where id < 5001)
          insert into receipts select ${broadcast.id}, id, 'shown' from ids;
        update receipt_windows set ends_at_ms = ${startAtMs + receiptWindowMs}`);
      const left = [];
      while (await store.receipts.prune())
        left.push(database.prepare('select count(*) as rows from receipts').get()?.['rows']);
      assert.deepEqual(left, [1, 0]);
    });
  });

  test('processes that write at once all get their rows in', async () => {
    const path = newPath();
    // the file is new as well: they race to make it
    const codes = await Promise.all(
      [0, 1, 2].map(async (process) => {
        const child = startChild(path, process * 100, 100);
        child.stdout.resume();
        const [code] = await new Promise<[number | null]>((resolve) => {
          child.on('close', (exitCode) => resolve([exitCode]));
        });
        return code;
      }),
    );
    assert.deepEqual(codes, [0, 0, 0]);
    await withStore(path, async (store) => assert.equal(await store.subscriptions.count(), 300));
  });

  test('a write waits for the lock of another process without blocking the event loop', async () => {
    const path = newPath();
    await withStore(path, async (store) => {
      const other = new DatabaseSync(path);
      other.exec('begin immediate');
      let turns = 0;
      const interval = setInterval(() => (turns += 1), 5);
      let isStored = false;
      const put = store.subscriptions
        .put(madeUpSubscription(1), vapidPublicKey)
        .then(() => (isStored = true));
      await until(() => turns >= 10, 'the event loop to turn');
      assert.equal(isStored, false, 'the write waits meanwhile');
      other.exec('rollback');
      other.close();
      await put;
      clearInterval(interval);
    });
  });

  test('cancelling a broadcast with many retries lets other processes write in between', async () => {
    const path = newPath();
    await withStore(path, async (store) => {
      await addSubscriptions(store, 1);
      const { broadcast } = await store.broadcasts.create(madeUpBroadcast(Date.now()));
      const other = new DatabaseSync(path);
      other.exec(`pragma foreign_keys = off; pragma busy_timeout = 0;
        with recursive counted (position) as (values (1) union all select position + 1 from counted where position < 12000)
        insert into retries (broadcast_id, position, attempts, deferrals, due_at_ms, expires_at_ms)
        select ${broadcast.id}, position, 1, 0, 9000000000000, 9000000000000 from counted`);
      const cancelling = store.broadcasts.cancel(broadcast.id);
      const left = new Set<number>();
      for (let isOver = false; !isOver; await new Promise(setImmediate)) {
        // the lock is free whenever this thread is, and taken without waiting
        other.exec('begin immediate');
        left.add((other.prepare('select count(*) as rows from retries').get() as { rows: number }).rows);
        other.exec('commit');
        isOver = left.has(0);
      }
      await cancelling;
      other.close();
      assert.ok(left.size >= 4, `others saw ${[...left].join(', ')} retries`);
    });
  });

  test('a damaged file is ERR_STORE_CORRUPT', async () => {
    const path = newPath();
    await withStore(path, async (store) => {
      for (let index = 0; index < 100; index += 1) {
        await store.subscriptions.put(madeUpSubscription(index), vapidPublicKey);
      }
    });
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 100, bytes.length);
    writeFileSync(path, bytes);
    await isRefused(path, 'ERR_STORE_CORRUPT');
  });

  test('damage that shows only when a row is read is ERR_STORE_CORRUPT as well', async () => {
    const path = newPath();
    await withStore(path, (store) => addSubscriptions(store, 2000));
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 64 * 1024, bytes.length - 4096);
    writeFileSync(path, bytes);
    await assert.rejects(
      withStore(path, async (store) => {
        await store.subscriptions.page({ afterId: 0, limit: 2000 });
      }),
      { code: 'ERR_STORE_CORRUPT' },
    );
  });

  test('a file that is not a database is ERR_STORE_CORRUPT and is left alone', async () => {
    const path = newPath();
    const text = 'This is a diary, and a long one at that. '.repeat(50);
    writeFileSync(path, text);
    await isRefused(path, 'ERR_STORE_CORRUPT');
    assert.equal(readFileSync(path, 'utf8'), text);
  });

  test("another program's database is refused and left alone", async () => {
    const path = newPath();
    const other = new DatabaseSync(path);
    other.exec('create table diary (day text)');
    other.close();
    await isRefused(path, 'ERR_STORE_CORRUPT', /another program/);
    using again = new DatabaseSync(path);
    assert.deepEqual(pluck(again.prepare('select name from sqlite_schema').all(), 'name'), ['diary']);
  });

  test('a schema of a newer Deskbell is ERR_STORE_TOO_NEW and names both versions', async () => {
    const path = newPath();
    await withStore(path, async () => {});
    const raw = new DatabaseSync(path);
    raw.exec('pragma user_version = 9999');
    raw.close();
    await isRefused(path, 'ERR_STORE_TOO_NEW', /9999.*up to \d+/);
  });

  test('a schema of before 1.0.0 is ERR_STORE_TOO_OLD, says how to move, and is left alone', async () => {
    const path = newPath();
    await withStore(path, async () => {});
    const raw = new DatabaseSync(path);
    raw.exec('pragma user_version = 72; pragma wal_checkpoint(truncate)');
    raw.close();
    const bytes = readFileSync(path);
    await assert.rejects(openSqliteStore({ path }), {
      code: 'ERR_STORE_TOO_OLD',
      message: /schema 72/,
      remedy: /`deskbell subscriptions export >.*`deskbell subscriptions import/,
    });
    assert.deepEqual(readFileSync(path), bytes);
  });

  test('tables are made all or none', async () => {
    const path = newPath();
    const raw = new DatabaseSync(path);
    raw.exec('pragma application_id = 0x4465736b; create table webhook_events (id text)');
    raw.close();
    chmodSync(path, 0o600);
    await assert.rejects(openSqliteStore({ path }), /already exists/);
    using again = new DatabaseSync(path);
    const names = again.prepare("select name from sqlite_schema where type = 'table'").all();
    assert.deepEqual(pluck(names, 'name'), ['webhook_events']);
  });

  test('a folder that is not there is ERR_STORE_UNAVAILABLE', async () => {
    await isRefused(join(folder, 'none', 'deskbell.db'), 'ERR_STORE_UNAVAILABLE');
  });

  test('a folder that may not be written to is ERR_STORE_UNAVAILABLE', async () => {
    const locked = mkdtempSync(join(folder, 'locked-'));
    chmodSync(folder, 0o755);
    chmodSync(locked, 0o555);
    const reason = /check the owner and rights of the file and its folder/;
    await asNobody(() => isRefused(join(locked, 'deskbell.db'), 'ERR_STORE_UNAVAILABLE', reason));
  });

  test('nothing is written into a file that is not the database any more, which check() notices', async () => {
    const path = newPath();
    await withStore(path, async (store) => {
      const put = () => store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
      const { broadcast } = await store.broadcasts.create(madeUpBroadcast(Date.now()));
      await store.check();
      renameSync(path, `${path}.gone`);
      const writes = [() => store.check(), put, () => store.leases.leaseSlice({ leaseMs: 1000 })];
      for (const write of writes)
        await refuses(write(), 'ERR_STORE_UNAVAILABLE', /deleted since it was opened/);
      writeFileSync(path, '');
      for (const write of writes)
        await refuses(write(), 'ERR_STORE_UNAVAILABLE', /replaced since it was opened.* restart/);
      assert.equal(await store.subscriptions.count(), 0);
      assert.ok(await store.broadcasts.find(broadcast.id), 'it can be read');
      renameSync(`${path}.gone`, path);
      await put();
    });
  });

  test('check() and each write notice that the file may not be written', { skip: isWindows }, async () => {
    const own = mkdtempSync(join(folder, 'read-only-'));
    const path = join(own, 'deskbell.db');
    await withStore(path, async () => {});
    chmodSync(path, 0o400);
    chmodSync(folder, 0o755);
    if (process.getuid?.() === 0) for (const file of [own, path]) chownSync(file, 65_534, 65_534);
    await asNobody(async () => {
      const readOnly = {
        code: 'ERR_STORE_UNAVAILABLE',
        message: /cannot be written: check the owner.* -wal/,
      };
      await withStore(path, async (store) => {
        await assert.rejects(store.check(), readOnly);
        await assert.rejects(store.sending.pause('asked'), readOnly);
        assert.equal(await store.subscriptions.count(), 0);
      });
      await assert.rejects(inspectDatabase(path), readOnly);
      // a connection that only reads leaves its side files behind
      for (const file of readdirSync(own)) chmodSync(join(own, file), 0o600);
      await withStore(path, async (store) => {
        await store.check();
        const other = new DatabaseSync(path);
        other.exec('begin immediate');
        const { content } = await inspectDatabase(path);
        assert.equal(content?.pause, undefined, 'another process may be writing');
        other.close();
      });
    });
  });

  test('nobody but the owner may read the file', { skip: isWindows }, async () => {
    const path = newPath();
    await withStore(path, async () => {
      for (const file of [path, `${path}-wal`]) assert.equal(statSync(file).mode & 0o777, 0o600);
    });
  });

  test('a database, log or directory that others may use is refused', { skip: isWindows }, async () => {
    const path = newPath();
    await withStore(path, async () => {
      for (const file of [path, `${path}-wal`, `${path}-shm`]) {
        for (const mode of [0o640, 0o604, 0o620, 0o602]) {
          chmodSync(file, mode);
          await isRefused(path, 'ERR_DATA_EXPOSED', /must be 0600/);
        }
        chmodSync(file, 0o600);
      }
      chmodSync(folder, 0o770);
      await assert.rejects(openSqliteStore({ path }), { code: 'ERR_DATA_EXPOSED', message: /chmod go-w/ });
      await isRefused(newPath(), 'ERR_DATA_EXPOSED');
      chmodSync(folder, 0o700);
    });
  });

  test('a file of zero bytes is no new database', async () => {
    const path = newPath();
    writeFileSync(path, '', { mode: 0o600 });
    await isRefused(path, 'ERR_STORE_CORRUPT', /zero bytes.*Restore it from a backup.*delete the file/);
    assert.equal(statSync(path).size, 0, 'it is left alone');
    rmSync(path);
    await withStore(path, async () => {});
  });

  test('a log without its database is no new database', async () => {
    const path = newPath();
    writeFileSync(`${path}-wal`, 'rows that were not checkpointed', { mode: 0o600 });
    await assert.rejects(openSqliteStore({ path }), { code: 'ERR_STORE_CORRUPT', message: /delete the log/ });
  });

  test('what is no regular file is refused, and nothing waits for it', { skip: isWindows }, async () => {
    const fifo = newPath();
    execFileSync('mkfifo', ['-m', '600', fifo]);
    await isRefused(fifo, 'ERR_STORE_CORRUPT', /is a FIFO/);
    const directory = newPath();
    mkdirSync(directory);
    await isRefused(directory, 'ERR_STORE_CORRUPT', /is a directory/);
  });

  test('a new database leaves nothing else behind', async () => {
    const alone = mkdtempSync(join(folder, 'alone-'));
    await withStore(join(alone, 'deskbell.db'), async () => {});
    assert.deepEqual(readdirSync(alone), ['deskbell.db']);
  });

  test('a page of few subscriptions among many lets others have their turn', async () => {
    const matching = { tags: { none: ['news'] } };
    const rows = Array.from({ length: 5000 }, (_, index) => ({
      subscription: madeUpSubscription(index),
      vapidPublicKey,
      assign: { tags: ['news'] },
    }));
    await withStore(newPath(), async ({ subscriptions }) => {
      await subscriptions.putAll(rows);
      const pushService = new URL(rows[0]!.subscription.endpoint).origin;
      const range = { afterId: 0, limit: 10, rows: 10, matching, pushService, by: 'matching' } as const;
      for (const read of [() => subscriptions.page(range), () => subscriptions.search(range)]) {
        let turns = 0;
        let turn = setImmediate(function next() {
          turns += 1;
          turn = setImmediate(next);
        });
        await read();
        clearImmediate(turn);
        assert.ok(turns > 3, `${turns} turns`);
      }
    });
  });

  test('close() waits for the writes that were asked for, and refuses later calls', async () => {
    const path = newPath();
    const store = await openSqliteStore({ path });
    const put = store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    await store.close();
    await put;
    await store.close();
    const isClosed = { code: 'ERR_CLOSED' };
    await assert.rejects(store.subscriptions.put(madeUpSubscription(2), vapidPublicKey), isClosed);
    await assert.rejects(store.subscriptions.count(), isClosed);
    await withStore(path, async (again) => assert.equal(await again.subscriptions.count(), 1));
  });
});

const isRefused = (path: string, code: string, message = /./) =>
  assert.rejects(openSqliteStore({ path }), { code, message });

/** Runs work as nobody, if this is root, who may write everywhere. */
async function asNobody(work: () => Promise<void>): Promise<void> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

async function withStore(path: string, use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openSqliteStore({ path });
  try {
    await use(store);
  } finally {
    await store.close();
  }
}

function startChild(path: string, first: number, count: number) {
  return spawn(
    process.execPath,
    [fileURLToPath(new URL('registering-child.ts', import.meta.url)), path, String(first), String(count)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
}

/** @returns the numbers that the child wrote out before it was killed at a random moment */
async function registerUntilKilled(path: string, first: number, count: number): Promise<readonly number[]> {
  const child = startChild(path, first, count);
  let text = '';
  child.stdout.setEncoding('utf8');
  child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), Math.random() * 150));
  child.stdout.on('data', (chunk: string) => (text += chunk));
  await new Promise((resolve) => child.on('close', resolve));
  // what follows the last line break was cut off by the kill
  return text.split('\n').slice(0, -1).map(Number);
}

function integrityOf(path: string): unknown {
  using database = new DatabaseSync(path);
  return database.prepare('pragma integrity_check').get()?.['integrity_check'];
}
