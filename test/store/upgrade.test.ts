// A data directory of 0.1.0 goes on under every later schema: keys, rows, broadcasts in each state, retries, users.
import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  databasePathOf,
  exampleUsersPathOf,
  openDataDirectory,
  type DataDirectory,
} from '../../src/cli/data-directory.ts';
import { normalizeEndpoint } from '../../src/protocol/endpoint-policy.ts';
import { openExampleUsers } from '../../src/service/demonstration/example-users.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import { migrations } from '../../src/store/sqlite/migrations.ts';
import { madeUpSubscription, otherVapidPublicKey } from './made-up-subscription.ts';

const fixture = join(import.meta.dirname, '../fixtures/data-0.1.0');
const schemaOfFixture = 2;
const origin = 'https://fcm.googleapis.com';
const leaseMs = 10_000;

describe('a data directory of 0.1.0', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'deskbell-upgrade-'));
    cpSync(fixture, directory, { recursive: true });
    // version control keeps no rights of this kind
    for (const name of readdirSync(directory)) chmodSync(join(directory, name), 0o600);
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const use = async (work: (data: DataDirectory) => Promise<void>) => {
    const data = await openDataDirectory(directory);
    try {
      await work(data);
    } finally {
      await data.close();
    }
  };

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

  test('keeps broadcasts in each state, with counts, alarms and attempts', async () => {
    await use(async ({ store }) => {
      const newestFirst = await store.broadcasts.list({ limit: 10 });
      assert.deepEqual(
        newestFirst.map(({ id, state, audience, waiting }) => [id, state, audience, waiting]),
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
      assert.ok((scheduled?.startAtMs ?? 0) > Date.UTC(2099, 0));
      assert.deepEqual([cancelled?.counts.accepted, cancelled?.counts.cancelled], [5, 24]);
      assert.deepEqual([paused?.counts.accepted, paused?.counts.pending], [4, 25]);
      assert.deepEqual([running?.topic, running?.urgency, running?.counts.accepted], ['news', 'high', 3]);
      assert.deepEqual([done?.counts.accepted, done?.counts.rejected], [26, 3]);
      assert.deepEqual(
        done?.alarms.map(({ reason, detail, rows }) => [reason, detail, rows]),
        [['vapid-refused', 'BadJwtToken', 3]],
      );
      const again = await store.broadcasts.create({
        idempotencyKey: 'done',
        contentHash: new Uint8Array(32).fill(1),
        payload: new Uint8Array(1),
        ttlSeconds: 1,
        urgency: 'normal',
        startAtMs: 0,
        expiresAtMs: 1,
        sliceRows: 10,
      });
      assert.deepEqual([again.broadcast.id, again.isNew], [1, false]);
      const ofMerged = await store.broadcasts.attempts({ subscriptionId: 1, limit: 100 });
      assert.ok(ofMerged.filter(({ broadcastId }) => broadcastId === 1).length > 1, 'of all its spellings');
    });
  });

  test('delivers what it had begun: slices from their cursors, retries with their attempts', async () => {
    await use(async ({ store }) => {
      await store.broadcasts.resume(3);
      const attempts = new Map<number, number[]>();
      for (;;) {
        const retries = await store.work.leaseRetries({ leaseMs, limit: 100 });
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

      for (;;) {
        const lease = await store.work.leaseSlice({ leaseMs });
        if (lease === undefined) break;
        const rows = await store.ledger.readRows(lease, lease.cursor, 100);
        await store.ledger.commit({
          broadcastId: lease.broadcastId,
          fenceToken: lease.fenceToken,
          slice: { number: lease.slice, cursor: lease.throughPosition },
          rows: rows.map((recipient) => ({ recipient, origin, attempts: 1, result: 'accepted' })),
          leaseMs,
        });
      }
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
