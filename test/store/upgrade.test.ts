// A data directory of an earlier version goes on under every later schema: keys, rows, broadcasts in each state, retries,
// users. One of a later version is refused and stays as it is.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  databasePathOf,
  exampleUsersPathOf,
  openDataDirectory,
  type DataDirectory,
} from '../../src/cli/data/data-directory.ts';
import { normalizeEndpoint } from '../../src/protocol/endpoint.ts';
import { openExampleUsers } from '../../src/service/demonstration/example-users.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import { migrations } from '../../src/store/sqlite/migrations.ts';
import { runCommand } from '../cli/run-command.ts';
import { madeUpSubscription, otherVapidPublicKey } from './made-up-subscription.ts';
import { copyOldData } from './old-data.ts';
import { acceptAllSlices, madeUpBroadcast } from './store-under-test.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { until } from '../../tools/until.ts';

const schemaOfFixture = 2;
const origin = 'https://fcm.googleapis.com';
const leaseMs = 10_000;

let directory: string;

function copyFixture(name: Parameters<typeof copyOldData>[0]): void {
  directory = mkdtempSync(join(fastFolder(), 'deskbell-upgrade-'));
  copyOldData(name, directory);
}

async function use(work: (data: DataDirectory) => Promise<void>): Promise<void> {
  const data = await openDataDirectory(directory);
  try {
    await work(data);
  } finally {
    await data.close();
  }
}

afterEach(() => rmSync(directory, { recursive: true }));

describe('a data directory of 0.1.0', () => {
  beforeEach(() => copyFixture('data-0.1.0'));

  test('every migration leaves a database that is whole', () => {
    const database = new DatabaseSync(databasePathOf(directory), { enableForeignKeyConstraints: true });
    database.function('normalize_endpoint', { deterministic: true }, (endpoint) =>
      normalizeEndpoint(String(endpoint)),
    );
    const check = (name: string) => database.prepare(`pragma ${name}`).all();
    assert.equal(check('user_version')[0]?.['user_version'], schemaOfFixture);
    for (const migration of migrations.slice(schemaOfFixture)) {
      database.exec(`begin immediate; ${migration}; commit`);
      assert.equal(check('integrity_check')[0]?.['integrity_check'], 'ok');
      assert.deepEqual(check('foreign_key_check'), []);
    }
    database.close();
  });

  test('keeps keys, subscriptions and users; what was one endpoint in four spellings is one row', async () => {
    await use(async ({ store, vapidKeys, sessionKey, databasePath }) => {
      assert.equal(sessionKey.length, 32);
      const rows = await store.subscriptions.page({ afterId: 0, limit: 100 });
      assert.deepEqual(
        rows.map(({ id }) => id),
        Array.from({ length: 26 }, (_, index) => index + 1),
      );
      const [first] = rows;
      assert.equal(first?.endpoint, madeUpSubscription(1).endpoint);
      assert.deepEqual([...(first?.auth ?? [])], [...madeUpSubscription(102).auth], 'the newest keys');
      assert.equal(first?.vapidPublicKey, vapidKeys.publicKey);
      assert.equal(rows.at(-1)?.vapidPublicKey, otherVapidPublicKey);

      const users = openExampleUsers({ path: exampleUsersPathOf(directory), importFrom: databasePath });
      assert.equal((await users.find(1n))?.name, 'Grace Changed');
      users.close();
    });
  });

  test('keeps broadcasts in each state, with counts and alarms', async () => {
    await use(async ({ store }) => {
      const newestFirst = await store.broadcasts.list({ limit: 10 });
      assert.deepEqual(
        newestFirst.map(({ id, state, recipients, waiting }) => [id, state, recipients, waiting]),
        [
          [6, 'running', 5, 0],
          [5, 'running', 29, 0],
          [4, 'cancelled', 29, 0],
          [3, 'paused', 29, 1],
          [2, 'running', 29, 3],
          [1, 'done', 29, 0],
        ],
      );
      const [list, scheduled, cancelled, paused, running, done] = newestFirst as Broadcast[];
      assert.equal(list?.counts.pending, 5);
      for (const { audience, createdBy } of newestFirst)
        assert.deepEqual([audience, createdBy], [undefined, undefined], 'not recorded then');
      assert.ok((scheduled?.startAtMs ?? 0) > Date.UTC(2099, 0));
      assert.deepEqual([cancelled?.counts.accepted, cancelled?.counts.cancelled], [5, 24]);
      assert.deepEqual([paused?.counts.accepted, paused?.counts.pending], [4, 25]);
      assert.deepEqual([running?.topic, running?.urgency, running?.counts.accepted], ['news', 'high', 3]);
      assert.deepEqual([done?.counts.accepted, done?.counts.rejected], [26, 3]);
      assert.deepEqual(
        done?.alarms.map(({ reason, detail, rows }) => [reason, detail, rows]),
        [['vapid-refused', 'BadJwtToken', 3]],
      );
      const content = { idempotencyKey: 'done', contentHash: new Uint8Array(32).fill(1) };
      const again = await store.broadcasts.create(madeUpBroadcast(0, content));
      assert.deepEqual([again.broadcast.id, again.isNew], [1, false]);
      assert.deepEqual(
        (await store.attempts.outcomesOf(1, [1])).map(({ state: rowState }) => rowState),
        ['noLongerKept'],
      );
    });
  });

  test('delivers what it had begun: slices from their cursors, retries with their attempts', async () => {
    await use(async ({ store }) => {
      await store.broadcasts.resume(3);
      const attempts = new Map<number, number[]>();
      for (;;) {
        const retries = await store.leases.leaseRetries({ leaseMs, limit: 100 });
        if (retries === undefined) break;
        for (const row of retries.rows) {
          attempts.set(retries.broadcastId, [...(attempts.get(retries.broadcastId) ?? []), row.attempts]);
        }
        await store.ledger.commit({
          broadcastId: retries.broadcastId,
          fenceToken: retries.fenceToken,
          rows: retries.rows.map((recipient) => ({ recipient, origin, attempts: 1, result: 'accepted' })),
          leaseMs,
        });
      }
      // two rows that were tried once, and one whose answer was still to come
      assert.deepEqual(
        attempts.get(2)?.toSorted((a, b) => a - b),
        [0, 1, 1],
      );
      assert.deepEqual(attempts.get(3), [1]);

      await acceptAllSlices(store, origin);
      for (const id of [2, 3]) {
        const broadcast = await store.broadcasts.find(id);
        assert.equal(broadcast?.state, 'done');
        assert.deepEqual([broadcast.counts.accepted, broadcast.counts.removed], [26, 3]);
      }
      const list = await store.broadcasts.find(6);
      // ids 5 and 1, and a subscription that is not stored; 27 and 28 were other spellings of 1
      assert.deepEqual([list?.state, list?.counts.accepted, list?.counts.removed], ['done', 3, 2]);
      assert.equal((await store.broadcasts.find(5))?.counts.pending, 29, 'it is scheduled for later');
    });
  });
});

describe('a data directory of schema 7', () => {
  beforeEach(() => copyFixture('data-schema-7'));

  test('keeps both key pairs, and subscriptions with the pair that each was made with', async () => {
    await use(async ({ store, vapidKeys }) => {
      const [previous, current] = await store.vapidKeys.list();
      assert.deepEqual([previous?.state, current?.state], ['previous', 'current']);
      assert.equal(vapidKeys.publicKey, current?.publicKey);
      assert.deepEqual(
        vapidKeys.previousKeys.map(({ publicKey }) => publicKey),
        [previous?.publicKey],
      );
      const rows = await store.subscriptions.page({ afterId: 0, limit: 100 });
      assert.deepEqual(
        rows.map(({ id, vapidPublicKey }) => [id, vapidPublicKey === current?.publicKey]),
        [3, 4, 5, 6, 7, 8, 9, 29, 30, 31, 32, 33, 34, 35, 36].map((id) => [id, id > 30]),
      );
      assert.equal(await store.subscriptions.count(), rows.length);
    });
  });

  test('keeps broadcasts, held deletions, held push services and what has ended', async () => {
    await use(async ({ store }) => {
      const newestFirst = await store.broadcasts.list({ limit: 10 });
      assert.deepEqual(
        newestFirst.map(({ id, state, recipients, waiting, counts }) => [
          id,
          state,
          recipients,
          waiting,
          counts.accepted,
        ]),
        [
          [6, 'running', 3, 0, 0],
          [5, 'running', 34, 0, 0],
          [4, 'paused', 34, 0, 5],
          [3, 'cancelled', 34, 0, 0],
          [2, 'running', 34, 5, 5],
          [1, 'done', 36, 0, 33],
        ],
      );
      for (const { recipients, counts } of newestFirst) {
        assert.equal(
          Object.values(counts).reduce((sum, count) => sum + count),
          recipients,
        );
      }
      const held = await store.heldDeletions.list();
      assert.deepEqual(
        held.map((each) => [each.origin, each.subscriptions]),
        [['https://web.push.apple.com', 5]],
      );
      assert.equal(await store.heldDeletions.discard('https://web.push.apple.com'), 5);
      assert.deepEqual(
        (await store.ledger.pushServices()).map((state) => [state.origin, state.isSuspended]),
        [['https://wns2-db5p.notify.windows.com', true]],
      );
      assert.equal((await store.ended.list(100)).length, 21);
    });
  });
});

const contents = () =>
  new Map(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name))]));

const nothing = async () => {};

test('migrations of an older database are made all or none, and after another process that has begun them', async (t) => {
  copyFixture('data-schema-7');
  const other = new DatabaseSync(databasePathOf(directory));
  t.after(() => other.close());
  const schema = () => other.prepare('select name, sql from sqlite_schema order by name').all();
  // a late one fails
  other.exec('create table unlisted_push_services (name text)');
  const before = schema();
  const fault = { code: 'ERR_STORE_UNAVAILABLE', message: /already exists/ };
  await assert.rejects(use(nothing), fault);
  assert.deepEqual(schema(), before);

  other.exec('drop table unlisted_push_services; begin immediate');
  const statements = t.mock.method(DatabaseSync.prototype, 'exec');
  const opening = use(nothing);
  const isWaiting = () => statements.mock.calls.filter(({ error }) => error !== undefined).length > 1;
  await Promise.race([opening, until(isWaiting, 'a second attempt')]);
  other.exec('commit');
  await opening;
  assert.equal(other.prepare('pragma user_version').get()?.['user_version'], migrations.length);
});

describe('a data directory of a later version', () => {
  test('is refused by every command, and stays as it is', async () => {
    copyFixture('data-schema-7');
    await use(async () => {});
    const database = new DatabaseSync(databasePathOf(directory));
    database.exec(`pragma user_version = ${migrations.length + 1}`);
    database.close();
    const before = contents();
    await assert.rejects(
      use(async () => {}),
      { code: 'ERR_STORE_TOO_NEW' },
    );
    for (const words of [
      ['serve'],
      ['send', '--all', '--title', 't', '--message', 'm'],
      ['subscriptions', 'list'],
    ]) {
      const { exitCode, stderr } = await runCommand([...words, '--data', directory]);
      assert.equal(exitCode, 1);
      assert.match(stderr, /knows schemas up to \d+\. Update Deskbell.*ERR_STORE_TOO_NEW/);
    }
    assert.deepEqual(contents(), before);
  });
});
