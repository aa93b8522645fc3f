// Reads all subscriptions of a store page by page.
import type { StoredSubscription, SubscriptionStore } from '../store/subscriptions.ts';

const rowsPerPage = 1000;

/** Pages in id order, including rows that are added meanwhile. Throws the reason of `stop`. */
export async function* subscriptionPages(
  subscriptions: SubscriptionStore,
  stop: AbortSignal,
): AsyncGenerator<readonly StoredSubscription[]> {
  let afterId = 0;
  for (;;) {
    stop.throwIfAborted();
    const page = await subscriptions.page({ afterId, limit: rowsPerPage });
    const last = page.at(-1);
    if (!last) return;
    yield page;
    afterId = last.id;
  }
}
