// The store as everyone else sees it: one interface by role, any database behind it. Types only.
import type { BroadcastStore } from './broadcasts.ts';
import type { EndedSubscriptions } from './ended-subscriptions.ts';
import type { HeldDeletions } from './held-deletions.ts';
import type { Ledger } from './ledger.ts';
import type { SubscriptionStore } from './subscriptions.ts';
import type { WorkSource } from './work-source.ts';

/** How another thread of this program opens the same store: the module at `moduleUrl` exports
 *  `openStore(options): Promise<Store>`. Can be posted to a thread. */
export interface StoreAddress {
  readonly moduleUrl: string;
  readonly options: unknown;
}

export interface Store {
  readonly subscriptions: SubscriptionStore;
  readonly broadcasts: BroadcastStore;
  readonly work: WorkSource;
  readonly ledger: Ledger;
  readonly heldDeletions: HeldDeletions;
  readonly ended: EndedSubscriptions;
  readonly address: StoreAddress;
  /** Throws where the database cannot be read or written now. */
  check(): Promise<void>;
  close(): Promise<void>;
}
