// All subscriptions of a store, page by page, until done or told to stop.
import type { StoredSubscription, SubscriptionStore } from '../store/store.ts';

const rowsPerPage = 1000;

/** Pages in id order; rows that arrive meanwhile are in the last ones. Throws the reason to stop. */
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
