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
const maxBatchSize = 1000;

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

/** @param sources each with the condition of the other: of two batches, the one that reaches further is the rarer one's */
async function readBoth(
  sources: readonly { readonly read: ReadPage; readonly fits: (row: StoredSubscription) => boolean }[],
  { limit, ...range }: Range,
): Promise<FoundSubscriptions> {
  const subscriptions: StoredSubscription[] = [];
  let { afterId } = range;
  let batchSize = firstBatchSize;
  for (let searched = 0; searched < searchBatchSize; searched += batchSize) {
    batchSize = Math.min(searched + firstBatchSize, maxBatchSize);
    const batches = [];
    for (const { read, fits } of sources) {
      const rows = await read({ afterId, limit: batchSize });
      const throughId = rows.length < batchSize ? Number.POSITIVE_INFINITY : rows.at(-1)!.id;
      batches.push({ rows, fits, throughId });
      // Reading takes the thread; others get their turn in between.
      await setImmediate();
    }
    const { rows, fits, throughId } = batches.reduce((one, other) =>
      other.throughId > one.throughId ? other : one,
    );
    for (const row of rows) {
      if (subscriptions.length === limit) return { subscriptions, nextAfterId: afterId };
      afterId = row.id;
      if (fits(row)) subscriptions.push(row);
    }
    if (throughId === Number.POSITIVE_INFINITY) return { subscriptions };
  }
  return { subscriptions, nextAfterId: afterId };
}

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
