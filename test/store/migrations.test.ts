// What migrations do to rows that are there: databases are filled at an older schema, and opened by this one.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { migrations } from '../../src/store/sqlite/migrations.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { acceptAllSlices } from './store-under-test.ts';
import { fastFolder } from '../../tools/fast-folder.ts';

const applicationId = 0x4465736b;
const origin = 'https://fcm.googleapis.com';

/** The schema before endpoints had one spelling. */
const beforeOneSpelling = migrations.findIndex((migration) => migration.includes('normalize_endpoint'));

describe('the migration to one row per endpoint', () => {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = mkdtempSync(join(fastFolder(), 'deskbell-migrations-'));
    path = join(folder, 'deskbell.db');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const fill = (
    sql: string,
    rows: readonly (readonly [id: number, endpoint: string, updatedAtMs: number])[],
  ) => {
    const database = new DatabaseSync(path);
    for (const migration of migrations.slice(0, beforeOneSpelling)) database.exec(migration);
    database.exec(`pragma application_id = ${applicationId}; pragma user_version = ${beforeOneSpelling}`);
    database.prepare('insert into vapid_keys (id, public_key) values (1, ?)').run(vapidPublicKey);
    const insert = database.prepare('insert into subscriptions values (?, ?, ?, ?, 1, ?, ?)');
    for (const [id, endpoint, updatedAtMs] of rows) {
      const { p256dh, auth } = madeUpSubscription(id);
      insert.run(id, endpoint, p256dh, auth, id, updatedAtMs);
    }
    database.exec(sql);
    database.close();
    chmodSync(path, 0o600);
  };

  const use = async (work: (store: Store) => Promise<void>) => {
    const store = await openSqliteStore({ path });
    try {
      await work(store);
    } finally {
      await store.close();
    }
  };

  test('the oldest row stays, with the newest keys, and others stay as they are', async () => {
    fill('', [
      [1, `${origin}/other`, 10],
      [2, `${origin}:443/a`, 20],
      [3, `HTTPS://fcm.googleapis.com/a`, 50],
      [4, `${origin}/a`, 30],
      [5, `https://FCM.googleapis.com/b`, 40],
      [6, `${origin}/A`, 40],
    ]);
    await use(async (store) => {
      const rows = await store.subscriptions.page({ afterId: 0, limit: 10 });
      assert.deepEqual(
        rows.map(({ id, endpoint, createdAtMs, updatedAtMs }) => [id, endpoint, createdAtMs, updatedAtMs]),
        [
          [1, `${origin}/other`, 1, 10],
          [2, `${origin}/a`, 2, 50],
          [5, `${origin}/b`, 5, 40],
          [6, `${origin}/A`, 6, 40],
        ],
      );
      assert.deepEqual([...(rows[1]?.auth ?? [])], [...madeUpSubscription(3).auth]);
      assert.deepEqual([...(rows[1]?.p256dh ?? [])], [...madeUpSubscription(3).p256dh]);
    });
  });

  test('what refers to a merged row refers to the one that stays', async () => {
    fill(
      `
        insert into audiences (id, members, created_at_ms) values (1, 3, 0), (2, 1, 0);
        insert into audience_members (audience_id, position, subscription_id)
          values (1, 1, 2), (1, 2, 3), (1, 3, 1), (2, 1, 3);
        insert into broadcasts (
          id, content_hash, state, payload, ttl_seconds, urgency, audience_id, has_list, audience,
          created_at_ms, start_at_ms, expires_at_ms
        ) values
          (1, x'00', 'running', x'00', 60, 'normal', 1, 1, 3, 0, 0, 4102444800000),
          (2, x'00', 'running', x'00', 60, 'normal', 2, 1, 1, 0, 0, 4102444800000),
          (3, x'00', 'running', x'00', 60, 'normal', null, 0, 3, 0, 0, 4102444800000);
        insert into slices (broadcast_id, number, cursor, through_position)
          values (1, 0, 0, 3), (2, 0, 0, 1), (3, 0, 0, 2);
        insert into retries (broadcast_id, position, due_at_ms, attempts, deferrals, expires_at_ms)
          values (3, 3, 0, 1, 0, 4102444800000);
        insert into attempts (broadcast_id, subscription_id, at_ms, origin, attempt, outcome)
          values (3, 3, 5, '${origin}', 1, 'retry');
      `,
      [
        [1, `${origin}/other`, 10],
        [2, `${origin}/a`, 20],
        [3, `${origin}:443/a`, 30],
      ],
    );
    await use(async (store) => {
      const reached = await acceptAllSlices(store, origin);
      assert.deepEqual(reached.get(1), [2, 1], 'each once');
      assert.deepEqual(reached.get(2), [2]);
      assert.deepEqual(reached.get(3), [1, 2]);
      // the retry of the merged row has nobody to go to: its endpoint was written to as row 2
      assert.equal(await store.leases.leaseRetries({ leaseMs: 10_000, limit: 10 }), undefined);
      for (const { state, recipients, counts } of await store.broadcasts.list({ limit: 10 })) {
        assert.equal(state, 'done');
        assert.equal(counts.accepted + counts.removed, recipients);
      }
    });
  });
});
