// Subscriptions in PostgreSQL.
import { checkUserAndTags } from '../../audience/user-and-tags.ts';
import { hashEndpoint, normalizeEndpoint } from '../../protocol/endpoint.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import { consumeInvitation, notInvited } from '../invitations.ts';
import { removeSubscription } from '../losses.ts';
import { findOwn, isOwn, moveFromFormer, removeById, removeOwn } from '../people.ts';
import type { PortableDatabase, Work } from '../portable-sql.ts';
import {
  checkVapidPublicKey,
  createLimitCheck,
  endpointInUse,
  type NewSubscription,
  provenBy,
  type Registration,
  type SearchableSubscriptions,
  type StoredSubscription,
  type SubscriptionLimit,
  type SubscriptionRow,
  toSubscription,
} from '../subscriptions.ts';
import { audienceCondition } from './broadcasts.ts';
import type { PostgresDatabase, Query, Value } from './database.ts';
import { runWork } from './portable-database.ts';
import { WriteQueue } from './write-queue.ts';

interface RowWithTags extends SubscriptionRow {
  readonly tags: readonly string[] | null;
}

interface NewRow {
  readonly subscription: Subscription;
  readonly vapidPublicKey: string;
  readonly hash: string;
  /** JSON for `put_subscriptions`. */
  readonly options: string | null;
}

/**
 * A row returned by `put_subscriptions`. If several have the same hash, the last one counts. A row that is not
 * permitted has no hash.
 */
type PutRow = Omit<RowWithTags, keyof Subscription | 'public_key'> & { readonly hash: string };

const toStored = (row: RowWithTags): StoredSubscription => toSubscription(row, row.tags ?? []);

const selectFrom = (source: string): string => `
  select s.id, s.endpoint, s.p256dh, s.auth, v.public_key, s.created_at_ms, s.updated_at_ms, s.user_name, s.tags,
    s.language, s.time_zone, s.channels
  from ${source} s join deskbell.vapid_keys v on v.id = s.vapid_key_id
`;

const selectRow = selectFrom('deskbell.subscriptions');

export function createPostgresSubscriptions(
  database: PostgresDatabase,
  portable: PortableDatabase,
  subscriptionLimit: SubscriptionLimit | undefined,
): SearchableSubscriptions {
  const { functions } = database;
  const selectPushService = `${selectFrom(`${functions}.push_service_page($1, $2, $3, $4)`)} order by s.id`;
  const checkLimit = subscriptionLimit && createLimitCheck(subscriptionLimit);

  const countAdded = async (rows: readonly NewRow[], query: Query, replaced: number) => {
    const [counted] = await query<{ readonly known: number; readonly stored: number }>(
      `with known as (select array(
         select endpoint_hash from deskbell.subscriptions where endpoint_hash = any ($1)) as hashes)
       select cardinality(hashes) + (
         select count(*) from ${functions}.same_browsers($1, $2, $3, $4, $5, hashes)) as known,
         (${selectCount}) as stored from known`,
      columnsOf(rows),
    );
    const { known, stored } = counted!;
    return { added: rows.length - known - replaced, stored };
  };

  /**
   * Writes rows with different endpoints: all that are permitted, or none.
   *
   * @param query of the surrounding transaction, if there is one: the pool may have no second connection
   * @param replaced rows that the same transaction deletes
   */
  const writeRows = async (
    rows: readonly NewRow[],
    query: Query,
    replaced = 0,
  ): Promise<readonly PutRow[]> => {
    if (checkLimit !== undefined) {
      const { added, stored } = await countAdded(rows, query, replaced);
      if (added > 0) checkLimit(stored, added);
    }
    return query<PutRow>(`select * from ${functions}.put_subscriptions($7, $1, $2, $3, $4, $6, $5)`, [
      ...columnsOf(rows),
      rows.map(({ vapidPublicKey }) => vapidPublicKey),
      database.now(),
    ]);
  };

  /** @returns the rows that were permitted, in the same order */
  const putRows = async (
    rows: readonly NewRow[],
    query: Query,
    replaced = 0,
  ): Promise<readonly (StoredSubscription | undefined)[]> => {
    const stored = await writeRows(rows, query, replaced);
    const byHash = new Map(stored.map((row) => [row.hash.replaceAll('-', ''), row]));
    return rows.map(({ subscription, vapidPublicKey, hash }) => {
      const row = byHash.get(hash);
      return row && toStored({ ...row, ...subscription, public_key: vapidPublicKey });
    });
  };

  const queue = new WriteQueue(
    (rows: readonly NewRow[]) => putRows(rows, database.query),
    database.retryForMs,
  );

  /** In one transaction: stores the row, consumes its right to register, and moves a former subscription's data. */
  const putAlone = (row: NewRow, { invitation, former, replacesFormer, assign }: Registration) =>
    database.transaction(async (query) => {
      if (replacesFormer) await lockSubscriptions(query);
      const replaced = replacesFormer && former ? await runWork(query, findOwn(portable, former)) : undefined;
      if (replacesFormer && replaced === undefined && !(await isStored(row.hash, query))) throw notInvited();
      const { endpoint } = row.subscription;
      if (invitation !== undefined)
        await runWork(query, consumeInvitation(invitation, endpoint, database.clock.now()));
      const [stored] = await putRows([row], query, replaced === undefined ? 0 : 1);
      if (stored === undefined) throw endpointInUse();
      if (former === undefined) return stored;
      await runWork(query, moveFromFormer(portable, endpoint, former, assign === undefined));
      if (replaced !== undefined && replaced.id !== stored.id)
        await runWork(query, removeSubscription(portable, replaced, 'replaced'));
      const [moved] = await query<RowWithTags>(`${selectRow} where s.endpoint_hash = $1`, [row.hash]);
      return moved === undefined ? stored : toStored(moved);
    });

  const remove = (work: () => Work<boolean>): Promise<boolean> =>
    database.once(async (query) => {
      await lockSubscriptions(query);
      return runWork(query, work());
    });

  return {
    put: async (subscription, vapidPublicKey, { assign } = {}) => {
      const row = toNewRow({ subscription, vapidPublicKey, assign });
      const stored = await queue.add([row.hash], row);
      if (stored === undefined) throw new Error('The subscription was not stored.');
      return stored;
    },

    register: async (registration) => {
      const { former, invitation } = registration;
      const { auth, user } = provenBy(registration);
      const row = toNewRow(registration, { proof: { auth: auth && toHex(auth), user } });
      if (invitation !== undefined || former !== undefined)
        return queue.run(() => putAlone(row, registration));
      // of two registrations with the same keys, the second replaces the first
      const stored = await queue.add([row.hash, toHex(row.subscription.p256dh)], row);
      if (stored === undefined) throw endpointInUse();
      return stored;
    },

    putAll: async (given) => {
      const sets = inSetsWithoutRepeats(given.map((row) => toNewRow(row, { isImported: true })));
      const putAll = async (query: Query): Promise<number> => {
        let inserted = 0;
        for (const rows of sets) {
          const written = await writeRows(rows, query);
          inserted += written.filter(({ updated_at_ms }) => updated_at_ms === 0).length;
        }
        return inserted;
      };
      return sets.length === 0 ? 0 : queue.run(() => database.transaction(putAll));
    },

    findById: async (id) => {
      const row = await database.first<RowWithTags>(`${selectRow} where s.id = $1`, [id]);
      return row && toStored(row);
    },

    findByEndpoint: async (endpoint) => {
      const row = await database.first<RowWithTags>(`${selectRow} where s.endpoint_hash = $1`, [
        hashEndpoint(endpoint),
      ]);
      return row && toStored(row);
    },

    // no need to wait in the queue: the caller knows the id, so the row is already stored
    removeById: (id, by) => remove(() => removeById(portable, id, by)),

    removeByEndpoint: (endpoint, auth) =>
      queue.run(async () => {
        if (!(await isOwn(portable, { endpoint, auth }))) return false;
        return remove(() => removeOwn(portable, { endpoint, auth }));
      }),

    count: async (expression) => {
      const { condition, values } = audienceCondition(expression ?? {}, 1);
      const row = await database.first<{ readonly rows: number }>(
        expression === undefined
          ? selectCount
          : `select count(*) as rows from deskbell.subscriptions s where ${condition}`,
        values,
      );
      return row?.rows ?? 0;
    },

    page: async ({ afterId, throughId = Number.MAX_SAFE_INTEGER, limit, matching: expression = {} }) => {
      const { condition, values } = audienceCondition(expression, 4);
      const rows = await database.query<RowWithTags>(
        `${selectRow} where s.id > $1 and s.id <= $2 and ${condition} order by s.id limit $3`,
        [afterId, throughId, limit, ...values],
      );
      return rows.map(toStored);
    },

    pageOfPushService: async (origin, { afterId, limit }) => {
      const values = [new URL(origin).host, `${origin}/`, afterId, limit];
      return (await database.query<RowWithTags>(selectPushService, values)).map(toStored);
    },
  };
}

const columnsOf = (rows: readonly NewRow[]): readonly Value[] => [
  rows.map(({ hash }) => hash),
  rows.map(({ subscription }) => subscription.endpoint),
  rows.map(({ subscription }) => Buffer.from(subscription.p256dh)),
  rows.map(({ subscription }) => Buffer.from(subscription.auth)),
  rows.map(({ options }) => options),
];

/** Locks this table before any row, as put_subscriptions does, to prevent deadlocks. */
const lockSubscriptions = (query: Query) =>
  query('lock table deskbell.subscriptions_lock in row exclusive mode');

const isStored = async (hash: string, query: Query): Promise<boolean> =>
  (await query('select 1 from deskbell.subscriptions where endpoint_hash = $1', [hash])).length > 0;

const selectCount = 'select coalesce(sum(subscriptions), 0) as rows from deskbell.subscription_counts';

/** @param further additional members for `put_subscriptions` */
function toNewRow(
  { subscription, vapidPublicKey, assign, createdAtMs, language, timeZone, channels }: NewSubscription,
  further: object = {},
): NewRow {
  const { p256dh, auth } = subscription;
  checkVapidPublicKey(vapidPublicKey);
  const endpoint = normalizeEndpoint(subscription.endpoint);
  const options = {
    assign: assign && checkUserAndTags(assign),
    createdAtMs,
    language,
    timeZone,
    channels,
    ...further,
  };
  const text = JSON.stringify(options);
  return {
    subscription: { endpoint, p256dh, auth },
    vapidPublicKey,
    hash: hashEndpoint(endpoint),
    options: text === '{}' ? null : text,
  };
}

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Distributes rows over sets. No set contains an endpoint twice, and rows of one endpoint keep their order. */
function inSetsWithoutRepeats(rows: readonly NewRow[]): readonly (readonly NewRow[])[] {
  const sets: NewRow[][] = [];
  const taken = new Map<string, number>();
  for (const row of rows) {
    const set = taken.get(row.hash) ?? 0;
    taken.set(row.hash, set + 1);
    (sets[set] ??= []).push(row);
  }
  return sets;
}
