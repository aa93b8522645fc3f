// People: users and tags of subscriptions, and the removal of all data of a person.
import { checkNewUser, checkTagCount, checkTags } from '../audience/user-and-tags.ts';
import { normalizeEndpoint } from '../protocol/endpoint.ts';
import { assignOwner, assignTags, findById, findOwn } from './owners.ts';
import type { PortableDatabase } from './portable-sql.ts';
import { removePerson, type RemovedPerson } from './remove-person.ts';
import { createSampler, type ReadWindows, type SubscriptionSample } from './subscription-sample.ts';

/** A property that is left out does not change. */
export interface OwnerChange {
  /** `null`: nobody's. */
  readonly user?: string | null | undefined;
  /** All its tags from then on. */
  readonly tags?: readonly string[] | undefined;
}

type TagChange = Parameters<PeopleStore['changeTags']>[1];

/** Users and tags of subscriptions. */
export interface PeopleStore {
  /**
   * Changes user and tags of a subscription.
   *
   * @returns false if there is no such subscription
   * @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE; nothing is changed
   */
  assign(id: number, change: OwnerChange): Promise<boolean>;
  /** Clears user and tags if `auth` is the row's own. Scheme, host and port may be spelled in any way. */
  signOut(endpoint: string, auth: Uint8Array): Promise<boolean>;
  /**
   * Adds tags to a subscription, or takes them away.
   *
   * @returns false if there is no such subscription
   * @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE, also where it would have too many; nothing is changed
   */
  changeTags(
    id: number,
    change: { readonly add?: readonly string[]; readonly remove?: readonly string[] },
  ): Promise<boolean>;
  /** Tags that subscriptions have, in the order of their names, with how many have each. */
  countTags(): Promise<readonly { readonly tag: string; readonly subscriptions: number }[]>;
  /**
   * About so many subscriptions from all of them at random, or all if there are no more. Reads about three times as many rows,
   * however many there are.
   *
   * @param random as `Math.random`, which is the default
   */
  sample(rows: number, random?: () => number): Promise<SubscriptionSample>;
  /** Deletes all that the store knows of a person. SQLite overwrites it in the database file. */
  remove(user: string): Promise<RemovedPerson>;
}

export function createPeople(database: PortableDatabase, readWindows: ReadWindows): PeopleStore {
  const { table } = database.tags;
  return {
    assign: async (id, change) => {
      const { user, tags } = checkOwnerChange(change);
      return database.transaction(function* () {
        const row = yield* findById(database, id);
        if (row === undefined) return false;
        const changed = (user === undefined ? row.user_name : user) ?? undefined;
        yield* assignOwner(database, id, { user: changed, tags: tags ?? row.tags });
        return true;
      });
    },
    signOut: async (endpoint, auth) => {
      const { column, valueOf } = database.endpoint;
      // anybody may ask for any endpoint: one that is not there costs no transaction
      const known = await database.read(`select id from deskbell.subscriptions where ${column} = :endpoint`, {
        endpoint: valueOf(normalizeEndpoint(endpoint)),
      });
      if (known.length === 0) return false;
      return database.transaction(function* () {
        const row = yield* findOwn(database, { endpoint, auth });
        if (row !== undefined) yield* assignOwner(database, row.id, {});
        return row !== undefined;
      });
    },
    changeTags: async (id, change) => {
      const { add, remove } = checkTagChange(change);
      return database.transaction(function* () {
        const row = yield* findById(database, id);
        if (row === undefined) return false;
        const kept = row.tags.filter((tag) => !remove.includes(tag));
        const tags = [...new Set([...kept, ...add])];
        checkTagCount(id, tags.length);
        yield* assignTags(database, id, tags);
        return true;
      });
    },
    countTags: async () => {
      const rows = await database.read<{ readonly tag: string; readonly subscriptions: number }>(
        `select tag, count(*) as subscriptions from ${table} group by tag order by tag collate ${database.byBytes}`,
      );
      return rows.map((row) => ({ ...row }));
    },
    sample: createSampler(database, readWindows),
    remove: (user) => removePerson(database, user),
  };
}

/** @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE */
const checkOwnerChange = ({ user, tags }: OwnerChange): OwnerChange => ({
  user: user == null ? user : checkNewUser(user, '/user'),
  tags: tags && checkTags(tags, '/tags'),
});

/** @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE */
const checkTagChange = ({ add = [], remove = [] }: TagChange): Required<TagChange> => ({
  add: checkTags(add, '/add'),
  remove: checkTags(remove, '/remove'),
});
