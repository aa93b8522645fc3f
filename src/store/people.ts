// People: users and tags of subscriptions, and removing all data of a person.
import { checkNewUser, checkTagCount, checkTags, type UserAndTags } from '../audience/user-and-tags.ts';
import { normalizeEndpoint } from '../protocol/endpoint.ts';
import { passInvitationOn } from './invitations.ts';
import { removeSubscription } from './losses.ts';
import { isSameSecret } from '../protocol/bytes.ts';
import { type PortableDatabase, type PortableValue, run, type Work } from './portable-sql.ts';
import { type RemovedPerson, removePerson } from './remove-person.ts';
import { createSampler, type SubscriptionSample } from './subscription-sample.ts';
import type { FormerSubscription } from './subscriptions.ts';

// Statements for transactions: they set a subscription's user and tags, and move data from a former subscription.
export interface OwnedRow {
  readonly id: number;
  readonly endpoint: string;
  readonly auth: Uint8Array;
  readonly user_name: string | null;
  readonly language: string | null;
  readonly time_zone: string | null;
  readonly channels: string | null;
  readonly tags: readonly string[];
}

/** Finds the subscription that has this endpoint and this `auth`. */
export function* findOwn(
  database: PortableDatabase,
  { endpoint, auth }: FormerSubscription,
): Work<OwnedRow | undefined> {
  const row = yield* findByEndpoint(database, endpoint);
  return row !== undefined && isSameSecret(row.auth, auth) ? row : undefined;
}

/**
 * True if the subscription has this endpoint and this `auth`. Anybody may ask about any endpoint. So the check locks
 * nothing, and takes as long for a wrong `auth` as for an unknown endpoint.
 */
export async function isOwn(
  database: PortableDatabase,
  { endpoint, auth }: FormerSubscription,
): Promise<boolean> {
  const { column, valueOf } = database.endpoint;
  const [row] = await database.read<{ readonly auth: Uint8Array }>(
    `select auth from deskbell.subscriptions where ${column} = :endpoint`,
    { endpoint: valueOf(normalizeEndpoint(endpoint)) },
  );
  return row !== undefined && isSameSecret(row.auth, auth);
}

/** Removes a subscription for an operator. @returns false if there is no such subscription */
export function* removeById(database: PortableDatabase, id: number, by: string | undefined): Work<boolean> {
  const row = yield* find(database, 'id = :id', { id });
  if (row !== undefined) yield* removeSubscription(database, row, 'removed', by);
  return row !== undefined;
}

/** Removes a subscription for its browser. @returns false if `auth` is not right */
export function* removeOwn(database: PortableDatabase, own: FormerSubscription): Work<boolean> {
  const row = yield* findOwn(database, own);
  if (row !== undefined) yield* removeSubscription(database, row, 'unsubscribed');
  return row !== undefined;
}

function findByEndpoint(database: PortableDatabase, endpoint: string): Work<OwnedRow | undefined> {
  const { column, valueOf } = database.endpoint;
  return find(database, `${column} = :endpoint`, { endpoint: valueOf(normalizeEndpoint(endpoint)) });
}

/** Finds a subscription and locks it until the transaction ends. */
function* find(
  { tags, readJson, forUpdate }: PortableDatabase,
  condition: string,
  values: Readonly<Record<string, PortableValue>>,
): Work<OwnedRow | undefined> {
  const [row] = yield* run<Omit<OwnedRow, 'tags'> & { readonly tags: unknown }>(
    `select id, endpoint, auth, user_name, language, time_zone, channels, ${tags.ofRow} as tags
     from deskbell.subscriptions s where ${condition} ${forUpdate}`,
    values,
  );
  return row && { ...row, tags: readJson<readonly string[]>(row.tags) };
}

/** Replaces user and tags. */
export function* assignOwner(
  database: PortableDatabase,
  id: number,
  { user, tags = [] }: UserAndTags,
): Work<void> {
  yield* run('update deskbell.subscriptions set user_name = :user where id = :id', { id, user });
  yield* assignTags(database, id, tags);
}

function* assignTags(database: PortableDatabase, id: number, tags: readonly string[]): Work<void> {
  for (const [sql, values] of database.tags.set(id, JSON.stringify(tags))) yield* run(sql, values);
}

/**
 * Moves data of a former subscription to its successor. Language, time zone and choices move unless the successor has
 * its own. User and tags move unless the successor has any.
 *
 * @param withOwner if false, user and tags do not move
 */
export function* moveFromFormer(
  database: PortableDatabase,
  endpoint: string,
  given: FormerSubscription,
  withOwner: boolean,
): Work<void> {
  const former = yield* findOwn(database, given);
  const row = yield* findByEndpoint(database, endpoint);
  if (former === undefined || row === undefined || former.id === row.id) return;
  yield passInvitationOn(given.endpoint, endpoint);
  const { id } = row;
  const { language, time_zone: timeZone, channels } = former;
  yield* run(
    `update deskbell.subscriptions set language = coalesce(language, :language),
       time_zone = coalesce(time_zone, :timeZone), channels = coalesce(channels, :channels)
     where id = :id`,
    { id, language, timeZone, channels },
  );
  if (!withOwner || hasOwner(row) || !hasOwner(former)) return;
  yield* assignOwner(database, id, { user: former.user_name ?? undefined, tags: former.tags });
  yield* assignOwner(database, former.id, {});
}

const hasOwner = ({ user_name, tags }: OwnedRow): boolean => user_name !== null || tags.length > 0;

/** How to change a subscription's user and tags. A member that is omitted does not change. */
export interface OwnerChange {
  /** `null` removes the user. */
  readonly user?: string | null | undefined;
  /** Replaces all tags. */
  readonly tags?: readonly string[] | undefined;
}

/** Changes the users and tags of subscriptions, and removes people. */
export interface PeopleStore {
  /**
   * Changes a subscription's user and tags.
   *
   * @returns false if there is no such subscription
   * @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE. If it throws, nothing has changed
   */
  assign(id: number, change: OwnerChange): Promise<boolean>;
  /** Clears the subscription's user and tags if `auth` is right. Scheme, host and port may have any spelling. */
  signOut(endpoint: string, auth: Uint8Array): Promise<boolean>;
  /**
   * Adds tags to a subscription, and removes tags from it.
   *
   * @returns false if there is no such subscription
   * @throws {DeskbellError} ERR_FIELD_VALUE (also if the subscription would have too many tags), ERR_FIELD_TYPE. If it
   *   throws, nothing has changed
   */
  changeTags(
    id: number,
    change: { readonly add?: readonly string[]; readonly remove?: readonly string[] },
  ): Promise<boolean>;
  /** Returns the tags in use, ordered by name, and the number of subscriptions with each tag. */
  countTags(): Promise<readonly { readonly tag: string; readonly subscriptions: number }[]>;
  /**
   * Returns about `rows` random subscriptions, or all if there are fewer. Reads about three times as many rows, even if
   * the store has many more.
   *
   * @param random default: `Math.random`
   */
  sample(rows: number, random?: () => number): Promise<SubscriptionSample>;
  /** Deletes all data of a person. SQLite overwrites the data in the database file. */
  remove(user: string, by?: string): Promise<RemovedPerson>;
}

export function createPeople(database: PortableDatabase): PeopleStore {
  const { table } = database.tags;

  /** @returns false if there is no such subscription */
  const change = (id: number, work: (row: OwnedRow) => Work<void>): Promise<boolean> =>
    database.transaction(function* () {
      const row = yield* find(database, 'id = :id', { id });
      if (row !== undefined) yield* work(row);
      return row !== undefined;
    });

  return {
    assign: async (id, given) => {
      const user = given.user == null ? given.user : checkNewUser(given.user, '/user');
      const tags = given.tags && checkTags(given.tags, '/tags');
      return change(id, (row) => {
        const changed = (user === undefined ? row.user_name : user) ?? undefined;
        return assignOwner(database, id, { user: changed, tags: tags ?? row.tags });
      });
    },
    signOut: async (endpoint, auth) => {
      if (!(await isOwn(database, { endpoint, auth }))) return false;
      return database.transaction(function* () {
        const row = yield* findOwn(database, { endpoint, auth });
        if (row !== undefined) yield* assignOwner(database, row.id, {});
        return row !== undefined;
      });
    },
    changeTags: async (id, given) => {
      const add = checkTags(given.add ?? [], '/add');
      const remove = checkTags(given.remove ?? [], '/remove');
      return change(id, (row) => {
        const kept = row.tags.filter((tag) => !remove.includes(tag));
        const tags = [...new Set([...kept, ...add])];
        checkTagCount(id, tags.length);
        return assignTags(database, id, tags);
      });
    },
    countTags: () =>
      database.read(
        `select tag, count(*) as subscriptions from ${table} group by tag order by tag collate ${database.byBytes}`,
      ),
    sample: createSampler(database),
    remove: (user, by) => removePerson(database, user, by),
  };
}
