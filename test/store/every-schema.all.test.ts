// Databases of every schema that there has been, with rows in their tables, are upgraded by today's code: no row is lost or
// altered, and what had begun is delivered to its end.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { test } from 'node:test';
import { Client } from 'pg';
import { PostgresDatabase } from '../../src/store/postgres/database.ts';
import { describeFunctions } from '../../src/store/postgres/functions/all-functions.ts';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { migrations as postgresMigrations } from '../../src/store/postgres/migrations.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { migrations as sqliteMigrations } from '../../src/store/sqlite/migrations.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { normalizeEndpoint } from '../../src/protocol/endpoint.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { acceptAllSlices } from './store-under-test.ts';

const fcm = 'https://fcm.googleapis.com';
const wns = 'https://wns2-db5p.notify.windows.com';
const longAgo = Date.UTC(2026, 0);
const farAway = Date.UTC(2100, 0);

type Row = Readonly<Record<string, unknown>>;
type Tables = ReadonlyMap<string, readonly Row[]>;

/** A database as the tests need it, whichever it is. */
interface OldDatabase {
  columns(table: string): Promise<ReadonlySet<string>>;
  insert(table: string, row: Row): Promise<void>;
  run(sql: string): Promise<void>;
  dump(): Promise<Tables>;
  close(): Promise<void>;
}

const counts = {
  attempts: 2,
  accepted: 2,
  gone: 0,
  rejected: 0,
  expired: 0,
  exhausted: 0,
  capped: 0,
  doubtful: 0,
};
const hash = (number: number): Buffer => Buffer.alloc(32, number);

/**
 * Rows of all tables that there have been, with each name that a column has had: of a schema, those are written that it has.
 */
const rows: readonly (readonly [table: string, row: Row])[] = [
  ['vapid_keys', { id: 1, public_key: vapidPublicKey, state: 'current' }],
  ...[1, 2, 3].map((id) => subscription(id)),
  ['subscription_tags', { tag: 'news', subscription_id: 2 }],
  ['audiences', { id: 1, members: 2, created_at_ms: longAgo }],
  ['audience_members', { audience_id: 1, position: 1, subscription_id: 2, endpoint_hash: hashOf(2) }],
  ['audience_members', { audience_id: 1, position: 2, ...keysOf(9) }],
  broadcast(1, 'done', { audience: 2, finished_at_ms: longAgo + 9, expires_at_ms: longAgo + 9 }),
  broadcast(2, 'running', { audience: 3, receipt_actions: '[]' }),
  broadcast(3, 'paused', { audience: 2, audience_id: 1, has_list: 1, rows_in: 'list' }),
  ['slices', { broadcast_id: 2, number: 0, cursor: 1, through_position: 3 }],
  ['slices', { broadcast_id: 3, number: 0, cursor: 0, through_position: 2 }],
  [
    'push_services',
    { id: 1, origin: wns, vapid_public_key: vapidPublicKey, refusals_in_row: 30, refusals_to_hold: 20 },
  ],
  ['accepted_subscriptions', { push_service_id: 1, slot: 1, subscription_id: 3 }],
  [
    'retries',
    {
      broadcast_id: 2,
      position: 1,
      endpoint_hash: hashOf(1),
      due_at_ms: longAgo,
      attempts: 1,
      deferrals: 0,
      expires_at_ms: farAway,
    },
  ],
  ['broadcast_origins', { broadcast_id: 1, origin: fcm, ...counts }],
  ['origin_counts', { broadcast_id: 1, shard: 0, origin: fcm, ...counts }],
  [
    'alarms',
    {
      broadcast_id: 1,
      origin: fcm,
      reason: 'vapid-refused',
      detail: 'BadJwtToken',
      first_at_ms: longAgo,
      rows: 2,
    },
  ],
  [
    'attempts',
    { broadcast_id: 1, subscription_id: 1, at_ms: longAgo, origin: fcm, attempt: 1, outcome: 'accepted' },
  ],
  ['answers', { broadcast_id: 1, id: 5, origin: fcm, outcome: 'accepted', status: 201 }],
  ['answer_counts', { broadcast_id: 1, shard: 0, answer_id: 5, rows: 2, last_at_ms: longAgo }],
  [
    'attempt_sets',
    {
      broadcast_id: 1,
      at_ms: longAgo,
      since_ms: longAgo,
      outcome: 'accepted',
      attempt: 1,
      answer_id: 5,
      first_id: 1,
      last_id: 2,
      rows: 2,
      ids: Buffer.of(1, 1),
    },
  ],
  ['answer_windows', { origin: fcm, number: 1, answers: 100, accepted: 2 }],
  [
    'gone_marks',
    { subscription_id: 3, endpoint_hash: hashOf(3), origin: fcm, answer_window: 1, marked_at_ms: longAgo },
  ],
  ['few_deletions', { origin: fcm, rows: 3 }],
  [
    'ended_subscriptions',
    { id: 7, endpoint: `${fcm}/7`, gone_at_ms: longAgo, user: 'ada', user_name: 'ada' },
  ],
  [
    'outcome_intervals',
    { broadcast_id: 0, shard: 0, width_ms: 60_000, start_ms: 0, push_service: 'FCM', ...counts },
  ],
  ['broadcast_intervals', { broadcast_id: 1, width_ms: 60_000, start_ms: 0, push_service: 'FCM', ...counts }],
  ['receipt_windows', { broadcast_id: 2, ends_at_ms: farAway }],
  ['receipts', { broadcast_id: 2, subscription_id: 1, event: 'shown' }],
  ['receipt_counts', { broadcast_id: 2, shard: 0, origin: fcm, event: 'shown', action: '', count: 1 }],
  ['operators', { id: 1, name: 'ada', role: 'full', token_hash: hash(1), created_at_ms: longAgo }],
  ['console_sessions', { name_hash: hash(2), operator_id: 1, ends_at_ms: farAway }],
  ['operator_broadcasts', { broadcast_id: 1, operator_id: 1 }],
  ['audit', { at_ms: longAgo, operator: 'ada', action: 'pause', target: '3', status: 200 }],
  [
    'schedules',
    {
      creation: 'c',
      cron: '0 9 * * 1',
      timezone: 'Europe/Berlin',
      audience: '"all"',
      message: '{"title":"t","message":"m"}',
      receipts: 0,
      created_at_ms: longAgo,
      next_at_ms: farAway,
    },
  ],
  ['webhook_events', { id: '0a', type: 'broadcast.done', at_ms: longAgo, broadcast_id: 1 }],
  ['rate_limits', { origin: fcm, permits: 1.5, refilled_at_ms: 1, queued_until_ms: 2, sent_at_ms: 3 }],
  ['person_reaches', { person: 'user:ada', broadcast_id: 1, at_ms: longAgo, is_accepted: 1 }],
  ['message_requests', { key: 'order-7', content_hash: hash(3), at_ms: longAgo, answer: '[]' }],
  ['removed_rows', { broadcast_id: 1, shard: 0, rows: 0 }],
  ['invitations', { token_hash: hash(4), user_name: 'ada', expires_at_ms: farAway }],
  [
    'acknowledgements',
    { alarm: 'no-worker', operator: 'ada', note: 'n', at_ms: longAgo, count: 1, broadcasts: 1 },
  ],
  ['people', { user_name: 'ada', data: '{"name":"Ada"}', language: 'de', updated_at_ms: longAgo }],
  ['unlisted_push_services', { origin: 'https://push.example.org', added_at_ms: longAgo }],
  ['channels', { name: 'news', title: 'News', titles: '{}', is_on_by_default: 1 }],
  ['broadcast_texts', { broadcast_id: 1, language: 'de', payload: Buffer.from('{}'), recipients: 1 }],
];

/**
 * Written by triggers, or by processes that run; `preparations` and `audience_sets` only while a broadcast to user and tags is open; a pause
 * would keep everything from being delivered.
 */
const filledByItself = new Set([
  'users',
  'subscription_days',
  'subscription_counts',
  'waiting_rows',
  'held_origins',
  'held_marks',
  'work',
  'removals',
  'commits',
  'unlocked_answers',
  'senders',
  'client_requests',
  'webhook_watch',
  'sending_pause',
  'preparations',
  'audience_sets',
]);

function keysOf(index: number): Row {
  const { endpoint, p256dh, auth } = madeUpSubscription(index);
  return { endpoint, p256dh: Buffer.from(p256dh), auth: Buffer.from(auth), endpoint_hash: hashOf(index) };
}

function subscription(id: number): readonly [string, Row] {
  const times = { created_at_ms: longAgo, updated_at_ms: longAgo + id };
  const user = id === 2 ? { user: 'ada', user_name: 'ada', tags: ['news'] } : {};
  return ['subscriptions', { id, ...keysOf(id), vapid_key_id: 1, ...times, ...user }];
}

function broadcast(id: number, state: string, row: Row): readonly [string, Row] {
  const common = {
    id,
    creation: randomUUID(),
    content_hash: hash(id),
    state,
    payload: Buffer.from('{}'),
    ttl_seconds: 60,
    urgency: 'normal',
    has_list: 0,
    rows_in: 'all',
    created_at_ms: longAgo,
    start_at_ms: longAgo,
    expires_at_ms: farAway,
  };
  return ['broadcasts', { ...common, ...row }];
}

function hashOf(index: number): string {
  return createHash('sha256').update(madeUpSubscription(index).endpoint).digest('hex').slice(0, 32);
}

async function fill(database: OldDatabase): Promise<void> {
  for (const [table, row] of rows) {
    const columns = await database.columns(table);
    const known = Object.entries(row).filter(([column]) => columns.has(column));
    if (columns.size > 0) await database.insert(table, Object.fromEntries(known));
  }
  if ((await database.columns('gone_marks')).size > 0)
    await database.run(`update gone_marks set is_held = '1'`);
}

/** Opens an upgraded database, and reads what was in it; then goes on with what had begun. */
async function useStore(store: Store, before: Tables): Promise<void> {
  const written = (table: string): number => before.get(table)?.length ?? 0;
  const subscriptions = await store.subscriptions.page({ afterId: 0, limit: 10 });
  assert.deepEqual(
    subscriptions.map(({ id, endpoint, vapidPublicKey: key }) => [id, endpoint, key]),
    [1, 2, 3].map((id) => [id, madeUpSubscription(id).endpoint, vapidPublicKey]),
  );
  assert.equal(await store.subscriptions.count(), 3);
  assert.deepEqual(
    (await store.ended.list(10)).map(({ user }) => user),
    (before.get('ended_subscriptions') ?? []).map((row) => row['user'] ?? row['user_name'] ?? undefined),
  );
  assert.equal((await store.heldDeletions.list())[0]?.subscriptions ?? 0, written('gone_marks'));
  assert.equal((await store.operators.list()).length, written('operators'));
  assert.equal((await store.audit.list({ limit: 10 })).length, written('audit'));
  assert.equal((await store.schedules.list()).length, written('schedules'));
  assert.equal((await store.channels.list()).length, written('channels'));
  if (written('broadcasts') === 0) return;

  await store.broadcasts.resume(3);
  const retries = await store.leases.leaseRetries({ leaseMs: 10_000, limit: 10 });
  assert.deepEqual(
    retries?.rows.map(({ subscriptionId, attempts }) => [subscriptionId, attempts]),
    [[1, 1]],
  );
  await store.ledger.commit({
    broadcastId: retries!.broadcastId,
    fenceToken: retries!.fenceToken,
    rows: retries!.rows.map((recipient) => ({ recipient, origin: fcm, attempts: 1, result: 'accepted' })),
    leaseMs: 10_000,
  });
  await acceptAllSlices(store, fcm);
  assert.deepEqual(
    (await store.broadcasts.list({ limit: 10 })).map(({ id, state, recipients, counts: { accepted } }) => [
      id,
      state,
      recipients,
      accepted,
    ]),
    [
      [3, 'done', 2, 2],
      [2, 'done', 3, 3],
      [1, 'done', 2, 2],
    ],
  );
}

/** @returns rows of before that are there no more, or no longer the same */
function findLosses(before: Tables, after: Tables): readonly string[] {
  return [...before].flatMap(([table, old]) => {
    const now = after.get(table);
    if (now === undefined) return old.length > 0 && table !== 'attempts' ? [table] : [];
    if (filledByItself.has(table)) return [];
    return old
      .filter((row) => !now.some((other) => isKept(row, other)))
      .map((row) => `${table}: ${JSON.stringify(row)} not in ${JSON.stringify(now)}`);
  });
}

/** The columns of before have the values of before. */
function isKept(before: Row, after: Row): boolean {
  return Object.entries(before).every(([column, value]) => {
    const renamed = column === 'user' && !(column in after) ? 'user_name' : column;
    return !(renamed in after) || JSON.stringify(after[renamed]) === JSON.stringify(value);
  });
}

/** Whoever adds a table adds rows of it above, so that it is upgraded from then on. */
function assertEveryTableFilled(tables: Tables): void {
  const empty = [...tables].filter(([table, all]) => all.length === 0 && !filledByItself.has(table));
  assert.deepEqual(
    empty.map(([table]) => table),
    [],
  );
}

function openOldSqlite(path: string, version: number): OldDatabase {
  const database = new DatabaseSync(path);
  database.function('normalize_endpoint', { deterministic: true }, (endpoint) =>
    normalizeEndpoint(String(endpoint)),
  );
  const write = database.prepare('pragma user_version').get()?.['user_version'] === 0;
  if (write) {
    for (const migration of sqliteMigrations.slice(0, version)) database.exec(migration);
    database.exec(`pragma application_id = ${0x4465736b}; pragma user_version = ${version}`);
  }
  const columns = (table: string) =>
    new Set(
      database
        .prepare('select name from pragma_table_info(?)')
        .all(table)
        .map(({ name }) => String(name)),
    );
  return {
    columns: async (table) => columns(table),
    insert: async (table, row) => {
      const names = Object.keys(row);
      database
        .prepare(`insert into ${table} (${names.join()}) values (${names.map(() => '?').join()})`)
        .run(...(Object.values(row) as SQLInputValue[]));
    },
    run: async (sql) => database.exec(sql),
    dump: async () => {
      const tables = database
        .prepare(`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`)
        .all();
      return new Map(
        tables.map(({ name }) => [String(name), database.prepare(`select * from ${String(name)}`).all()]),
      );
    },
    close: async () => database.close(),
  };
}

async function migratePostgres(url: string, version: number): Promise<void> {
  const database = await PostgresDatabase.open({ url });
  // today's functions would miss columns
  await migrate(database, postgresMigrations.slice(0, version), describeFunctions(version, ''));
  await database.close();
}

async function openOldPostgres(url: string): Promise<OldDatabase> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('set search_path to deskbell');
  const known = await client.query<{ readonly table: string; readonly columns: readonly string[] }>(
    `select c.relname as table, array_agg(a.attname::text) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'deskbell'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname <> 'schema_version' group by 1`,
  );
  const tables = new Map(known.rows.map(({ table, columns }) => [table, new Set(columns)]));
  return {
    columns: async (table) => tables.get(table) ?? new Set(),
    insert: async (table, row) => {
      const names = Object.keys(row);
      const places = names.map((_, at) => `$${at + 1}`);
      await client.query(
        `insert into ${table} (${names.join()}) overriding system value values (${places.join()})`,
        Object.values(row),
      );
    },
    run: async (sql) => void (await client.query(sql)),
    dump: async () => {
      const found = new Map<string, readonly Row[]>();
      for (const table of tables.keys()) {
        const result = await client.query<{ readonly row: Row }>(`select to_jsonb(t) as row from ${table} t`);
        found.set(
          table,
          result.rows.map(({ row }) => row),
        );
      }
      return found;
    },
    close: () => client.end(),
  };
}

test('SQLite: from each schema', async (t) => {
  for (const version of sqliteMigrations.keys().map((at) => at + 1)) {
    await t.test(`schema ${version}`, async () => {
      const folder = mkdtempSync(join(fastFolder(), 'deskbell-schema-'));
      const path = join(folder, 'deskbell.db');
      try {
        const old = openOldSqlite(path, version);
        await fill(old);
        const before = await old.dump();
        await old.close();
        if (version === sqliteMigrations.length) assertEveryTableFilled(before);
        chmodSync(path, 0o600);

        const store = await openSqliteStore({ path });
        try {
          const upgraded = openOldSqlite(path, sqliteMigrations.length);
          assert.deepEqual(findLosses(before, await upgraded.dump()), []);
          await upgraded.close();
          await useStore(store, before);
        } finally {
          await store.close();
        }
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
});

const getServer = useSharedServer();

test('PostgreSQL: from each schema', async (t) => {
  const server = await getServer();
  // empty, and one schema further each time
  const empty = await server.createDatabase('template1');
  for (const version of postgresMigrations.keys().map((at) => at + 1)) {
    await t.test(`schema ${version}`, async () => {
      await migratePostgres(empty.url, version);
      // goes with its server
      const { url } = await server.createDatabase(basename(new URL(empty.url).pathname));
      const old = await openOldPostgres(url);
      await fill(old);
      const before = await old.dump();
      await old.close();
      if (version === postgresMigrations.length) assertEveryTableFilled(before);

      const store = await openPostgresStore({ url });
      try {
        const upgraded = await openOldPostgres(url);
        assert.deepEqual(findLosses(before, await upgraded.dump()), []);
        await upgraded.close();
        await useStore(store, before);
      } finally {
        await store.close();
      }
    });
  }
});
