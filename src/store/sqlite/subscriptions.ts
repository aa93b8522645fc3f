// Subscriptions in SQLite.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { normalizeEndpoint, splitEndpoint } from '../../protocol/endpoint.ts';
import { isSameSecret } from '../../protocol/bytes.ts';
import { checkUserAndTags, type AudienceExpression } from '../../audience/user-and-tags.ts';
import { consumeInvitation, notInvited } from '../invitations.ts';
import { removeSubscription } from '../losses.ts';
import {
  checkRight,
  checkVapidPublicKey,
  createLimitCheck,
  type FormerSubscription,
  maxRowsOfKey,
  type Registration,
  type SearchableSubscriptions,
  type StoredSubscription,
  type SubscriptionLimit,
  type SubscriptionRow,
  toSubscription,
} from '../subscriptions.ts';
import { createRangeSearch } from './audience-filter.ts';
import type { SqliteDatabase } from './database.ts';
import { assignOwner, findOwn, moveFromFormer, removeById, removeOwn } from '../people.ts';
import type { PortableDatabase } from '../portable-sql.ts';
import { runWork } from './portable-database.ts';

/** Number of candidates read together when rows are listed by an expression. */
const matchingBatchRows = 1000;

interface RowWithTags extends SubscriptionRow {
  /** JSON */
  readonly tags: string;
}

type PutRow = Pick<
  SubscriptionRow,
  'id' | 'created_at_ms' | 'updated_at_ms' | 'language' | 'time_zone' | 'channels'
>;

interface Takeover {
  /** The former subscription. Its rights pass to the new subscription. */
  readonly owned?: Pick<SubscriptionRow, 'id'> | undefined;
  readonly sameBrowser?: KeyRow | undefined;
}

type KeyRow = Pick<SubscriptionRow, 'id' | 'endpoint' | 'p256dh' | 'auth' | 'user_name'>;

const toStored = (row: RowWithTags): StoredSubscription =>
  toSubscription(row, JSON.parse(row.tags) as string[]);

export function createSqliteSubscriptions(
  database: SqliteDatabase,
  portable: PortableDatabase,
  subscriptionLimit: SubscriptionLimit | undefined,
): SearchableSubscriptions {
  const findOwned = (own: FormerSubscription) => runWork(database, findOwn(portable, own));
  const searchRange = createRangeSearch(database);
  const checkLimit = subscriptionLimit && createLimitCheck(subscriptionLimit);

  const vapidKeyId = (publicKey: string): number => {
    const values = { publicKey };
    const known =
      database.first<{ id: number }>('select id from vapid_keys where public_key = :publicKey', values) ??
      database.first<{ id: number }>(
        'insert into vapid_keys (public_key) values (:publicKey) returning id',
        values,
      );
    return known!.id;
  };

  const countAll = (): number =>
    database.first<{ count: number }>(
      'select coalesce(sum(subscriptions), 0) as count from subscription_counts',
    )!.count;

  const findById = (id: number): StoredSubscription | undefined => {
    const row = database.first<RowWithTags>(selectById, { id });
    return row && toStored(row);
  };

  const findRight = (endpoint: string) =>
    database.first<Pick<SubscriptionRow, 'auth' | 'user_name'>>(
      'select auth, user_name from subscriptions where endpoint = :endpoint',
      { endpoint },
    );

  /**
   * @param visitMs when the browser last registered the subscription; 0 for a new row of an import
   * @param takeover rows that the new row replaces; they are deleted in the same transaction
   */
  const write = (
    { subscription, vapidPublicKey, assign, former, createdAtMs, language, timeZone, channels }: Registration,
    endpoint: string,
    visitMs: number,
    { owned, sameBrowser }: Takeover = {},
  ): PutRow => {
    const { p256dh, auth } = subscription;
    checkVapidPublicKey(vapidPublicKey);
    const isReplacing = owned !== undefined || sameBrowser !== undefined;
    if (checkLimit !== undefined && !isReplacing && findRight(endpoint) === undefined)
      checkLimit(countAll(), 1);
    const nowMs = database.now();
    const row = database.first<PutRow>(upsert, {
      endpoint,
      p256dh,
      auth,
      vapidKeyId: vapidKeyId(vapidPublicKey),
      createdAtMs: Math.min(createdAtMs ?? nowMs, nowMs),
      visitMs,
      language: language ?? null,
      timeZone: timeZone ?? null,
      channels: channels === undefined ? null : JSON.stringify(channels),
    });
    if (row === undefined) throw new Error('The subscription was not stored.');
    if (assign !== undefined) runWork(database, assignOwner(portable, row.id, checkUserAndTags(assign)));
    for (const each of [sameBrowser, former].filter((given) => given !== undefined))
      runWork(database, moveFromFormer(portable, endpoint, each, assign === undefined));
    return row;
  };

  const put = (
    registration: Registration,
    endpoint = normalizeEndpoint(registration.subscription.endpoint),
    takeover: Takeover = {},
  ): StoredSubscription => {
    const { subscription, vapidPublicKey, assign, former } = registration;
    const { p256dh, auth } = subscription;
    const row = write(registration, endpoint, database.now(), takeover);
    const isNew = row.created_at_ms === row.updated_at_ms;
    const isPlain =
      isNew && assign === undefined && former === undefined && takeover.sameBrowser === undefined;
    return isPlain
      ? toSubscription({ ...row, endpoint, p256dh, auth, public_key: vapidPublicKey, user_name: null }, [])
      : findById(row.id)!;
  };

  const register = (registration: Registration): StoredSubscription => {
    const endpoint = normalizeEndpoint(registration.subscription.endpoint);
    const row = findRight(endpoint);
    if (row !== undefined) checkRight({ auth: row.auth, user: row.user_name ?? undefined }, registration);
    const { invitation, former, replacesFormer = false } = registration;
    const owned = replacesFormer && former ? findOwned(former) : undefined;
    if (replacesFormer && row === undefined && owned === undefined) throw notInvited();
    if (invitation !== undefined) runWork(database, consumeInvitation(invitation, endpoint, database.now()));
    const sameBrowser = row === undefined ? findSameBrowser(registration, endpoint) : undefined;
    const stored = put(registration, endpoint, { owned, sameBrowser });
    for (const replaced of [owned, sameBrowser])
      if (replaced !== undefined && replaced.id !== stored.id)
        runWork(database, removeSubscription(portable, replaced, 'replaced'));
    return stored;
  };

  /** Finds the row of the browser that registers a new endpoint, as `SubscriptionStore.register` describes it. */
  const findSameBrowser = ({ subscription, assign }: Registration, endpoint: string): KeyRow | undefined => {
    const { p256dh, auth } = subscription;
    const { origin } = splitEndpoint(endpoint);
    const rows = database.all<KeyRow>(selectByKey, { p256dh }).filter((row) => {
      const hasSameKeys = Buffer.compare(row.p256dh, p256dh) === 0 && isSameSecret(row.auth, auth);
      return hasSameKeys && splitEndpoint(row.endpoint).origin === origin;
    });
    const [row] = rows;
    const isOfUser = row?.user_name === null || row?.user_name === assign?.user;
    return rows.length === 1 && isOfUser ? row : undefined;
  };

  /** Yields ids that match the expression. Each event-loop turn searches one range, so that nothing waits long. */
  const matchingRanges = async function* (
    expression: AudienceExpression,
    start = 0,
    throughId = Number.MAX_SAFE_INTEGER,
  ): AsyncGenerator<readonly number[]> {
    for (let afterId: number | undefined = start; afterId !== undefined && afterId < throughId;) {
      const startId: number = afterId;
      if (startId > start) await nextTurn();
      const range = await database.read(() => searchRange(expression, startId, matchingBatchRows));
      yield range.ids.filter((id) => id <= throughId);
      afterId = range.throughId;
    }
  };

  const countMatching = async (expression: AudienceExpression): Promise<number> => {
    let count = 0;
    for await (const ids of matchingRanges(expression)) count += ids.length;
    return count;
  };

  const readRows = (ids: readonly number[], limit = ids.length): readonly StoredSubscription[] => {
    const rows: StoredSubscription[] = [];
    for (const id of ids) {
      if (rows.length === limit) break;
      const row = findById(id);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  };

  return {
    put: (subscription, vapidPublicKey, { assign } = {}) =>
      database.write(() => put({ subscription, vapidPublicKey, assign })),

    putAll: (rows) =>
      database.write(() => {
        const written = rows.map((row) => write(row, normalizeEndpoint(row.subscription.endpoint), 0));
        return written.filter(({ updated_at_ms }) => updated_at_ms === 0).length;
      }),

    register: (registration) => database.write(() => register(registration)),

    findById: (id) => database.read(() => findById(id)),

    findByEndpoint: (endpoint) =>
      database.read(() => {
        const row = database.first<RowWithTags>(selectByEndpoint, {
          endpoint: normalizeEndpoint(endpoint),
        });
        return row && toStored(row);
      }),

    removeById: (id, by) => database.write(() => runWork(database, removeById(portable, id, by))),

    removeByEndpoint: (endpoint, auth) =>
      database.write(() => runWork(database, removeOwn(portable, { endpoint, auth }))),

    count: (expression) => (expression === undefined ? database.read(countAll) : countMatching(expression)),

    page: async ({ afterId, throughId = Number.MAX_SAFE_INTEGER, limit, matching: expression }) => {
      if (expression === undefined)
        return database.read(() =>
          database.all<RowWithTags>(selectPage, { afterId, throughId, limit }).map(toStored),
        );
      const found: StoredSubscription[] = [];
      // read rows together with their ids: if a row were removed in between, the page would be short and look like the
      // last
      for await (const ids of matchingRanges(expression, afterId, throughId)) {
        found.push(...(await database.read(() => readRows(ids, limit - found.length))));
        if (found.length >= limit) break;
      }
      return found;
    },

    pageOfPushService: (origin, range) =>
      database.read(() => {
        const ids = database.all<{ id: number }>(selectOfPushService, { prefix: `${origin}/`, ...range });
        return readRows(ids.map(({ id }) => id));
      }),
  };
}

const upsert = `
  insert into subscriptions
    (endpoint, p256dh, auth, vapid_key_id, created_at_ms, updated_at_ms, language, time_zone, channels)
  values (:endpoint, :p256dh, :auth, :vapidKeyId, :createdAtMs, :visitMs, :language, :timeZone, :channels)
  on conflict (endpoint) do update set
    p256dh = excluded.p256dh,
    auth = excluded.auth,
    vapid_key_id = excluded.vapid_key_id,
    -- grows with every change of the row, even within one millisecond
    updated_at_ms = max(excluded.updated_at_ms, subscriptions.updated_at_ms + 1),
    language = coalesce(excluded.language, subscriptions.language),
    time_zone = coalesce(excluded.time_zone, subscriptions.time_zone),
    -- its own choices hold
    channels = iif(excluded.channels is null, subscriptions.channels,
                   json_patch(excluded.channels, coalesce(subscriptions.channels, '{}')))
  returning id, created_at_ms, updated_at_ms, language, time_zone, channels`;

const selectRows = `
  select s.id, s.endpoint, s.p256dh, s.auth, v.public_key, s.created_at_ms, s.updated_at_ms,
    s.user_name, s.language, s.time_zone, s.channels,
    (select json_group_array(tag) from (
      select tag from subscription_tags where subscription_id = s.id order by tag)) as tags
  from subscriptions s join vapid_keys v on v.id = s.vapid_key_id`;
const selectById = `${selectRows} where s.id = :id`;
const selectByEndpoint = `${selectRows} where s.endpoint = :endpoint`;
const selectPage = `${selectRows} where s.id > :afterId and s.id <= :throughId order by s.id limit :limit`;

const selectByKey = `
  select id, endpoint, p256dh, auth, user_name from subscriptions
  where substr(p256dh, 2, 8) = substr(:p256dh, 2, 8) limit ${maxRowsOfKey}`;

// must use the same expression as the index `subscriptions_by_push_service`, so that SQLite uses this index
const selectOfPushService = `
  select id from subscriptions
  where substr(endpoint, 1, instr(substr(endpoint, 9), '/') + 8) = :prefix and id > :afterId
  order by id limit :limit`;
