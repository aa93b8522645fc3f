// What moves from a former subscription to the one that takes its place: user and tags, unless that one has any.
import type { FormerSubscription } from '../subscriptions.ts';
import type { SqliteDatabase } from './database.ts';
import type { SubscriptionOwners } from './user-and-tags.ts';

/** @returns what moves them to the row with this id, inside a transaction */
export function createFormerSubscriptions(
  database: SqliteDatabase,
  { findOwn, tagsOf, assign }: SubscriptionOwners,
): (id: number, former: FormerSubscription) => void {
  const findUser = database.prepare<{ id: number }, { user: string | null }>(
    'select user from subscriptions where id = :id',
  );

  return (id, { endpoint, auth }) => {
    const former = findOwn(endpoint, auth);
    if (former === undefined || former.id === id) return;
    const hasOwner = typeof findUser.first({ id })?.user === 'string' || tagsOf(id).length > 0;
    if (hasOwner) return;
    assign(id, { user: former.user ?? undefined, tags: tagsOf(former.id) });
    assign(former.id, {});
  };
}
