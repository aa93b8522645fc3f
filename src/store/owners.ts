// User and tags of a subscription, and what a new subscription takes over from a former one. Parts of transactions.
import type { UserAndTags } from '../audience/user-and-tags.ts';
import { normalizeEndpoint } from '../protocol/endpoint.ts';
import { isSameSecret } from '../protocol/same-secret.ts';
import { run, type PortableDatabase, type PortableValue, type Work } from './portable-sql.ts';
import type { FormerSubscription } from './subscriptions.ts';

export interface OwnedRow {
  readonly id: number;
  readonly auth: Uint8Array;
  readonly user_name: string | null;
  readonly language: string | null;
  readonly time_zone: string | null;
  readonly channels: string | null;
  readonly tags: readonly string[];
}

/** The subscription, which nobody else changes until the transaction ends. */
export const findById = (database: PortableDatabase, id: number): Work<OwnedRow | undefined> =>
  find(database, 'id = :id', { id });

/** The subscription with an endpoint, if `auth` is its own. */
export function* findOwn(
  database: PortableDatabase,
  { endpoint, auth }: FormerSubscription,
): Work<OwnedRow | undefined> {
  const row = yield* findByEndpoint(database, endpoint);
  return row !== undefined && isSameSecret(row.auth, auth) ? row : undefined;
}

function findByEndpoint(database: PortableDatabase, endpoint: string): Work<OwnedRow | undefined> {
  const { column, valueOf } = database.endpoint;
  return find(database, `${column} = :endpoint`, { endpoint: valueOf(normalizeEndpoint(endpoint)) });
}

function* find(
  { tags, readJson, forUpdate }: PortableDatabase,
  condition: string,
  values: Readonly<Record<string, PortableValue>>,
): Work<OwnedRow | undefined> {
  const [row] = yield* run<Omit<OwnedRow, 'tags'> & { readonly tags: unknown }>(
    `select id, auth, user_name, language, time_zone, channels, ${tags.ofRow} as tags
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
  yield* run('update deskbell.subscriptions set user_name = :user where id = :id', {
    id,
    user: user ?? null,
  });
  yield* assignTags(database, id, tags);
}

export function* assignTags(database: PortableDatabase, id: number, tags: readonly string[]): Work<void> {
  for (const [sql, values] of database.tags.set(id, JSON.stringify(tags))) yield* run(sql, values);
}

/**
 * Moves what a former subscription has to the one that takes its place: language, time zone and choices, each unless that one has its
 * own; user and tags, unless that one has any.
 *
 * @param withOwner false: user and tags stay
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
