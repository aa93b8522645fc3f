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

/** Rows that one call looks at, at most: some milliseconds. */
const searchBatchSize = 10_000;
const readBatchSize = 1000;

/** @param range `limit`: how many to find at most */
export async function findSubscriptions(
  store: Pick<SubscriptionStore, 'page'>,
  { matching, pushService }: SubscriptionFilter,
  range: { readonly afterId?: number | undefined; readonly limit: number },
): Promise<FoundSubscriptions> {
  const subscriptions: StoredSubscription[] = [];
  let { afterId = 0 } = range;
  const prefix = pushService === undefined ? undefined : `${pushService}/`;
  const readCount = pushService === undefined ? range.limit + 1 : readBatchSize;
  for (let searched = 0; searched < searchBatchSize; searched += readCount) {
    const rows = await store.page({ afterId, limit: readCount, matching });
    for (const row of rows) {
      if (subscriptions.length === range.limit) return { subscriptions, nextAfterId: afterId };
      afterId = row.id;
      // Endpoints are stored with their origin in its normal form.
      if (prefix === undefined || row.endpoint.startsWith(prefix)) subscriptions.push(row);
    }
    if (rows.length < readCount) return { subscriptions };
    // Reading takes the thread; others get their turn in between.
    await setImmediate();
  }
  return { subscriptions, nextAfterId: afterId };
}
