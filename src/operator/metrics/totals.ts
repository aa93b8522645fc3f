// What the database says: the same whichever process is asked.
import { readAlarms } from '../../delivery/alarms/read-alarms.ts';
import type { ReadWarnings } from '../../delivery/installation-warnings.ts';
import type { Store } from '../../store/store.ts';

export type Totals = Awaited<ReturnType<typeof readTotals>>;

export async function readTotals(store: Store, readWarnings: ReadWarnings) {
  const [outcomes, backlog, subscriptions, pushServices, heldDeletions, senders, alarms, webhook] =
    await Promise.all([
      store.statistics.outcomeTotals(),
      store.statistics.backlog(),
      store.subscriptions.count(),
      store.ledger.pushServices(),
      store.heldDeletions.list(),
      store.senders.list(),
      readAlarms(store, readWarnings),
      store.webhooks.backlog(),
    ]);
  return {
    outcomes,
    backlog,
    subscriptions,
    pushServices,
    heldDeletions,
    senders,
    alarms,
    webhook,
    nowMs: store.now(),
  };
}
