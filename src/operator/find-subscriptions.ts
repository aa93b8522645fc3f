// Finds subscriptions by person, tags and push service: in the order of ids, a bounded number of rows looked at each time.
import { setImmediate } from 'node:timers/promises';
import type { AudienceExpression } from '../audience/user-and-tags.ts';
import type { StoredSubscription, SubscriptionStore } from '../store/subscriptions.ts';

export interface SubscriptionFilter {
  /** As `checkExpression` gives it. */
  readonly matching?: AudienceExpression | undefined;
  /** Origin. */
  readonly pushService?: string | undefined;
}

export interface FoundSubscriptions {
  readonly subscriptions: readonly StoredSubscription[];
  /** Where to go on (`afterId`); absent where no further row is left. */
  readonly nextAfterId?: number | undefined;
}

type Range = { readonly afterId: number; readonly limit: number };
type ReadPage = (range: Range) => Promise<readonly StoredSubscription[]>;
type Pages = Pick<SubscriptionStore, 'page' | 'pageOfPushService'>;

/** Rows that one call looks at, at most: some milliseconds. */
const searchBatchSize = 10_000;
/** Mostly the first batch is enough. */
const firstBatchSize = 100;
const readBatchSize = 1000;

/** @param range `limit`: how many to find at most */
export async function findSubscriptions(
  store: Pages,
  { matching, pushService }: SubscriptionFilter,
  { afterId = 0, limit }: { readonly afterId?: number | undefined; readonly limit: number },
): Promise<FoundSubscriptions> {
  const ofMatching: ReadPage = (range) => store.page({ ...range, matching });
  if (pushService === undefined) return readOne(ofMatching, { afterId, limit });
  if (!URL.canParse(pushService)) return { subscriptions: [] };
  const ofPushService: ReadPage = (range) => store.pageOfPushService(pushService, range);
  if (matching === undefined) return readOne(ofPushService, { afterId, limit });
  return readBoth(
    [
      { read: ofMatching, fits: ({ endpoint }) => endpoint.startsWith(`${pushService}/`) },
      { read: ofPushService, fits: (row) => fitsExpression(row, matching) },
    ],
    { afterId, limit },
  );
}

async function readOne(read: ReadPage, { afterId, limit }: Range): Promise<FoundSubscriptions> {
  const rows = await read({ afterId, limit: limit + 1 });
  const subscriptions = rows.slice(0, limit);
  return rows.length > limit
    ? { subscriptions, nextAfterId: subscriptions.at(-1)?.id ?? afterId }
    : { subscriptions };
}

interface Source {
  readonly read: ReadPage;
  /** Whether a row is in the other source, too. */
  readonly fits: (row: StoredSubscription) => boolean;
}

/** Rows that are in both sources. Of the first rows of each, those that reach further are the rarer ones: they are gone through. */
async function readBoth(
  sources: readonly [Source, Source],
  { limit, ...range }: Range,
): Promise<FoundSubscriptions> {
  let { afterId } = range;
  let batchSize = firstBatchSize;
  const [one, other] = await Promise.all(
    sources.map(async (source) => ({ source, rows: await source.read({ afterId, limit: batchSize }) })),
  );
  const rarer = reachOf(one!.rows, batchSize) >= reachOf(other!.rows, batchSize) ? one! : other!;
  const { read, fits } = rarer.source;
  const subscriptions: StoredSubscription[] = [];
  for (let { rows } = rarer, searched = 0; ; rows = await read({ afterId, limit: batchSize })) {
    for (const row of rows) {
      if (subscriptions.length === limit) return { subscriptions, nextAfterId: afterId };
      afterId = row.id;
      if (fits(row)) subscriptions.push(row);
    }
    if (rows.length < batchSize) return { subscriptions };
    searched += rows.length;
    if (searched >= searchBatchSize) return { subscriptions, nextAfterId: afterId };
    batchSize = readBatchSize;
    // Reading takes the thread; others get their turn in between.
    await setImmediate();
  }
}

/** How far a batch reaches, in ids: without an end where it has all rows that are left. */
const reachOf = (rows: readonly StoredSubscription[], batchSize: number): number =>
  rows.length < batchSize ? Number.POSITIVE_INFINITY : rows.at(-1)!.id;

function fitsExpression(
  row: StoredSubscription,
  { user, tags: { all = [], any = [], none = [] } = {} }: AudienceExpression,
): boolean {
  const has = (tag: string): boolean => row.tags.includes(tag);
  return (
    (user === undefined || row.user === user) &&
    all.every(has) &&
    (any.length === 0 || any.some(has)) &&
    !none.some(has)
  );
}
