// What the database says: the same whichever process is asked.
import type { Store } from '../../store/store.ts';

export type Totals = Awaited<ReturnType<typeof readTotals>>;

export async function readTotals(store: Store) {
  const [outcomes, backlog, subscriptions, pushServices, heldDeletions, senders] = await Promise.all([
    store.statistics.outcomeTotals(),
    store.statistics.backlog(),
    store.subscriptions.count(),
    store.ledger.pushServices(),
    store.heldDeletions.list(),
    store.senders.list(),
  ]);
  return { outcomes, backlog, subscriptions, pushServices, heldDeletions, senders };
}
