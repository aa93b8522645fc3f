// Reads subscriptions of a store page by page.
import type { AudienceExpression } from '../../audience/user-and-tags.ts';
import type { StoredSubscription, SubscriptionStore } from '../../store/subscriptions.ts';

const rowsPerPage = 1000;

/**
 * Pages in id order, including rows that are added meanwhile. Throws the reason of `stop`.
 *
 * @param matching as `checkExpression` gives it; by default all
 */
export async function* subscriptionPages(
  subscriptions: SubscriptionStore,
  stop: AbortSignal,
  matching?: AudienceExpression,
): AsyncGenerator<readonly StoredSubscription[]> {
  let afterId = 0;
  for (;;) {
    stop.throwIfAborted();
    const page = await subscriptions.page({ afterId, limit: rowsPerPage, matching });
    const last = page.at(-1);
    if (!last) return;
    yield page;
    afterId = last.id;
  }
}
