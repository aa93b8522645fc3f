// User and tags of single subscriptions in SQLite.
import { normalizeEndpoint } from '../../protocol/endpoint.ts';
import type { UserAndTags } from '../../audience/user-and-tags.ts';
import { isSameSecret } from '../../protocol/same-secret.ts';
import type { SqliteDatabase } from './database.ts';

interface OwnedRow {
  readonly id: number;
  readonly auth: Uint8Array;
  readonly user_name: string | null;
}

/** Everything here is to be called inside a transaction, `tagsOf` anywhere. */
export interface SubscriptionOwners {
  /** In the order of their names. */
  tagsOf(id: number): readonly string[];
  /** @param endpoint in its normal form */
  find(endpoint: string): OwnedRow | undefined;
  /** The row of an endpoint, where `auth` is its own. */
  findOwn(endpoint: string, auth: Uint8Array): OwnedRow | undefined;
  /** Replaces user and tags. @returns false where there is no such subscription */
  assign(id: number, userAndTags: UserAndTags): boolean;
  addTag(id: number, tag: string): void;
  removeTag(id: number, tag: string): void;
}

export function createSubscriptionOwners(database: SqliteDatabase): SubscriptionOwners {
  const tagsOfRow = database.prepare<{ id: number }, { tag: string }>(
    'select tag from subscription_tags where subscription_id = :id order by tag',
  );
  const setUser = database.prepare<{ id: number; user: string | null }>(
    'update subscriptions set user_name = :user where id = :id',
  );
  const dropTags = database.prepare<{ id: number }>(
    'delete from subscription_tags where subscription_id = :id',
  );
  const addTag = database.prepare<{ id: number; tag: string }>(`
    insert into subscription_tags (tag, subscription_id) values (:tag, :id) on conflict do nothing
  `);
  const dropTag = database.prepare<{ id: number; tag: string }>(
    'delete from subscription_tags where tag = :tag and subscription_id = :id',
  );
  const findByEndpoint = database.prepare<{ endpoint: string }, OwnedRow>(
    'select id, user_name, auth from subscriptions where endpoint = :endpoint',
  );

  const tagsOf = (id: number): readonly string[] => tagsOfRow.all({ id }).map(({ tag }) => tag);

  const find = (endpoint: string): OwnedRow | undefined => findByEndpoint.first({ endpoint });

  const findOwn = (endpoint: string, auth: Uint8Array): OwnedRow | undefined => {
    const row = find(normalizeEndpoint(endpoint));
    return row !== undefined && isSameSecret(row.auth, auth) ? row : undefined;
  };

  const assign = (id: number, { user, tags = [] }: UserAndTags): boolean => {
    if (setUser.run({ id, user: user ?? null }) === 0) return false;
    dropTags.run({ id });
    for (const tag of tags) addTag.run({ id, tag });
    return true;
  };

  return {
    tagsOf,
    find,
    findOwn,
    assign,
    addTag: (id, tag) => {
      addTag.run({ id, tag });
    },
    removeTag: (id, tag) => {
      dropTag.run({ id, tag });
    },
  };
}
