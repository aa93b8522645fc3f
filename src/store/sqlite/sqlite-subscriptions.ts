// Subscriptions in SQLite.
import type { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import type { Subscription } from '../../webpush/subscription.ts';
import type { StoredSubscription, SubscriptionStore } from '../store.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Read } from './read.ts';
import { parameter, prepare, queries } from './statement.ts';

interface SubscriptionRow {
  readonly id: number;
  readonly endpoint: string;
  readonly p256dh: Uint8Array;
  readonly auth: Uint8Array;
  readonly public_key: string;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

const toStored = (row: SubscriptionRow): StoredSubscription => ({
  id: row.id,
  endpoint: row.endpoint,
  p256dh: row.p256dh,
  auth: row.auth,
  vapidPublicKey: row.public_key,
  createdAtMs: row.created_at_ms,
  updatedAtMs: row.updated_at_ms,
});

export function createSqliteSubscriptions(
  database: DatabaseSync,
  commits: GroupCommit,
  read: Read,
  now: () => number,
): SubscriptionStore {
  const statements = prepareStatements(database);

  const vapidKeyId = (publicKey: string): number => {
    const known = statements.findVapidKey.first({ publicKey }) ?? statements.addVapidKey.first({ publicKey });
    if (known === undefined) throw new Error('The VAPID key was not stored.');
    return known.id;
  };

  const put = (subscription: Subscription, vapidPublicKey: string): StoredSubscription => {
    const { endpoint, p256dh, auth } = subscription;
    const row = statements.put.first({
      endpoint,
      p256dh,
      auth,
      vapidKeyId: vapidKeyId(vapidPublicKey),
      nowMs: now(),
    });
    if (row === undefined) throw new Error('The subscription was not stored.');
    return {
      id: row.id,
      endpoint,
      p256dh,
      auth,
      vapidPublicKey,
      createdAtMs: row.created_at_ms,
      updatedAtMs: row.updated_at_ms,
    };
  };

  return {
    put: (subscription, vapidPublicKey) => commits.write(() => put(subscription, vapidPublicKey)),

    putAll: (rows) =>
      commits.write(() => {
        for (const { subscription, vapidPublicKey } of rows) put(subscription, vapidPublicKey);
      }),

    findById: (id) =>
      read(() => {
        const row = statements.findById.first({ id });
        return row && toStored(row);
      }),

    findByEndpoint: (endpoint) =>
      read(() => {
        const row = statements.findByEndpoint.first({ endpoint });
        return row && toStored(row);
      }),

    removeById: (id) => commits.write(() => statements.removeById.run({ id }) > 0),

    removeByEndpoint: (endpoint, auth) =>
      commits.write(() => statements.removeByEndpoint.run({ endpoint, auth }) > 0),

    count: () => read(() => statements.count.first()?.count ?? 0),

    page: ({ afterId, throughId = Number.MAX_SAFE_INTEGER, limit }) =>
      read(() => statements.page.all({ afterId, throughId, limit }).map(toStored)),
  };
}

function prepareStatements(database: DatabaseSync) {
  const selectRow = queries
    .selectFrom('subscriptions as s')
    .innerJoin('vapid_keys as v', 'v.id', 's.vapid_key_id')
    .select([
      's.id',
      's.endpoint',
      's.p256dh',
      's.auth',
      'v.public_key',
      's.created_at_ms',
      's.updated_at_ms',
    ]);
  const deleteRow = queries.deleteFrom('subscriptions');

  return {
    findVapidKey: prepare(
      database,
      queries.selectFrom('vapid_keys').select('id').where('public_key', '=', parameter<string>('publicKey')),
    ),
    addVapidKey: prepare(
      database,
      queries
        .insertInto('vapid_keys')
        .values({ public_key: parameter<string>('publicKey') })
        .returning('id'),
    ),
    put: prepare(
      database,
      queries
        .insertInto('subscriptions')
        .values({
          endpoint: parameter<string>('endpoint'),
          p256dh: parameter<Uint8Array>('p256dh'),
          auth: parameter<Uint8Array>('auth'),
          vapid_key_id: parameter<number>('vapidKeyId'),
          created_at_ms: parameter<number>('nowMs'),
          updated_at_ms: parameter<number>('nowMs'),
        })
        .onConflict((conflict) =>
          conflict.column('endpoint').doUpdateSet((row) => ({
            p256dh: row.ref('excluded.p256dh'),
            auth: row.ref('excluded.auth'),
            vapid_key_id: row.ref('excluded.vapid_key_id'),
            updated_at_ms: sql<number>`max(excluded.updated_at_ms, subscriptions.updated_at_ms + 1)`,
          })),
        )
        .returning(['id', 'created_at_ms', 'updated_at_ms']),
    ),
    findById: prepare(database, selectRow.where('s.id', '=', parameter<number>('id'))),
    findByEndpoint: prepare(database, selectRow.where('s.endpoint', '=', parameter<string>('endpoint'))),
    removeById: prepare(database, deleteRow.where('id', '=', parameter<number>('id'))),
    removeByEndpoint: prepare(
      database,
      deleteRow
        .where('endpoint', '=', parameter<string>('endpoint'))
        .where('auth', '=', parameter<Uint8Array>('auth')),
    ),
    count: prepare(
      database,
      queries.selectFrom('subscriptions').select((row) => row.fn.countAll<number>().as('count')),
    ),
    page: prepare(
      database,
      selectRow
        .where('s.id', '>', parameter<number>('afterId'))
        .where('s.id', '<=', parameter<number>('throughId'))
        .orderBy('s.id')
        .limit(parameter<number>('limit')),
    ),
  };
}
