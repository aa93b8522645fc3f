// Finds subscriptions by person, tags and push service: in the order of ids, a bounded number of rows looked at each time.
import { setImmediate } from 'node:timers/promises';
import type { AudienceExpression } from '../audience/user-and-tags.ts';
import type {
  SearchedSubscriptions,
  StoredSubscription,
  SubscriptionSearch,
  SubscriptionStore,
} from '../store/subscriptions.ts';
import { readPage, type ListPage } from './list-page.ts';

export interface SubscriptionFilter {
  /** As `checkExpression` gives it. */
  readonly matching?: AudienceExpression | undefined;
  /** Its origin, in any form of it. */
  readonly pushService?: string | undefined;
}

type Found = ListPage<StoredSubscription>;
type Range = { readonly afterId: number; readonly limit: number };
type Pages = Pick<SubscriptionStore, 'page' | 'pageOfPushService' | 'search'>;

/** Rows that one call looks at, at most: some milliseconds. */
const searchedRowsAtOnce = 10_000;
/** Mostly the first batch is enough. */
const firstBatchSize = 100;
const rowsPerRead = 1000;

/** @param range `limit`: how many to find at most @returns `next`: the next `afterId` */
export async function findSubscriptions(
  store: Pages,
  { matching, pushService: given }: SubscriptionFilter,
  { afterId = 0, limit }: { readonly afterId?: number | undefined; readonly limit: number },
): Promise<Found> {
  if (given === undefined) return readPage(limit, (count) => store.page({ afterId, limit: count, matching }));
  const pushService = URL.parse(given)?.origin ?? 'null';
  // no URL, or one that has no origin
  if (pushService === 'null') return { items: [] };
  return matching === undefined
    ? readPage(limit, (count) => store.pageOfPushService(pushService, { afterId, limit: count }))
    : searchBoth(store, { matching, pushService }, { afterId, limit });
}

/** Of the first rows that each of both leads to, those that reach further are the rarer ones: they are gone through. */
async function searchBoth(
  store: Pages,
  filter: Required<SubscriptionFilter>,
  { limit, ...range }: Range,
): Promise<Found> {
  let { afterId } = range;
  const search = (by: SubscriptionSearch['by'], rows: number) =>
    store.search({ ...(filter as Pick<SubscriptionSearch, keyof SubscriptionFilter>), by, afterId, rows });
  const first = await Promise.all([
    search('matching', firstBatchSize),
    search('pushService', firstBatchSize),
  ]);
  const [ofMatching, ofPushService] = first.map((searched) => reachOf(searched, firstBatchSize));
  const by = ofMatching! >= ofPushService! ? 'matching' : 'pushService';
  const items: StoredSubscription[] = [];
  let searched = first[by === 'matching' ? 0 : 1];
  let searchedRows = 0;
  for (let batchSize = firstBatchSize; ; batchSize = rowsPerRead) {
    if (searchedRows > 0) searched = await search(by, batchSize);
    for (const row of searched.found) {
      if (items.length === limit) return { items, next: afterId };
      afterId = row.id;
      items.push(row);
    }
    afterId = searched.throughId;
    if (searched.rows < batchSize) return { items };
    searchedRows += searched.rows;
    if (searchedRows >= searchedRowsAtOnce) return { items, next: afterId };
    // Reading takes the thread; others get their turn in between.
    await setImmediate();
  }
}

/** How far a batch reaches, in ids: without an end where it has all rows that are left. */
const reachOf = ({ rows, throughId }: SearchedSubscriptions, batchSize: number): number =>
  rows < batchSize ? Number.POSITIVE_INFINITY : throughId;
