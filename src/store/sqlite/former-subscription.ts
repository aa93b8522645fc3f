// What moves from a former subscription to the one that takes its place: language, time zone and choices, each unless that one
// has its own; user and tags, unless that one has any.
import type { FormerSubscription } from '../subscriptions.ts';
import type { SqliteDatabase } from './database.ts';
import type { SubscriptionOwners } from './user-and-tags.ts';

/** @returns what moves them to the row with this id, inside a transaction; without the owner, user and tags stay */
export function createFormerSubscriptions(
  database: SqliteDatabase,
  { findOwn, tagsOf, assign }: SubscriptionOwners,
): (id: number, former: FormerSubscription, withOwner: boolean) => void {
  const findUser = database.prepare<{ id: number }, { user_name: string | null }>(
    'select user_name from subscriptions where id = :id',
  );
  const moveFacts = database.prepare<{ id: number; formerId: number }>(`
    update subscriptions set
      language = coalesce(subscriptions.language, f.language),
      time_zone = coalesce(subscriptions.time_zone, f.time_zone),
      channels = coalesce(subscriptions.channels, f.channels)
    from subscriptions f where f.id = :formerId and subscriptions.id = :id
  `);

  return (id, { endpoint, auth }, withOwner) => {
    const former = findOwn(endpoint, auth);
    if (former === undefined || former.id === id) return;
    moveFacts.run({ id, formerId: former.id });
    const hasOwner = typeof findUser.first({ id })?.user_name === 'string' || tagsOf(id).length > 0;
    if (hasOwner || !withOwner) return;
    assign(id, { user: former.user_name ?? undefined, tags: tagsOf(former.id) });
    assign(former.id, {});
  };
}
