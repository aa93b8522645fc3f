// The interface of the store, divided into roles. It hides the database.
import { hasMethods } from '../errors/check-options.ts';
import type { AlarmStore } from './alarms.ts';
import type { AttemptStore } from './attempts.ts';
import type { BellStore } from './bells.ts';
import type { BroadcastStore } from './broadcasts.ts';
import type { ClientRequests } from './client-requests.ts';
import type { EndedSubscriptions, HeldDeletions } from './held-deletions.ts';
import type { Invitations } from './invitations.ts';
import type { Leases } from './leases.ts';
import type { Ledger } from './ledger.ts';
import type { Losses } from './losses.ts';
import type { MessageRequests } from './message-requests.ts';
import type { AuditStore, OperatorStore } from './operators.ts';
import type { PeopleStore } from './people.ts';
import type { RateShares } from './push-services.ts';
import type { ChannelStore, ReaderStore } from './readers.ts';
import type { ReceiptStore } from './receipts.ts';
import type { Retention } from './retention.ts';
import type { ScheduleStore } from './schedules.ts';
import type { SenderReports, Sending } from './sending.ts';
import type { Statistics } from './statistics.ts';
import type { SubscriptionStore } from './subscriptions.ts';
import type { UnlistedPushServices } from './unlisted-push-services.ts';
import type { VapidKeyStore } from './vapid-keys.ts';
import type { Endpoints } from './endpoints.ts';
import type { VisitStore } from './visits.ts';
import type { WebhookOutbox } from './webhook-outbox.ts';

/** What another thread needs to open the same store with `openStoreAt`. It can be posted to a thread. */
export interface StoreAddress {
  readonly database: 'sqlite' | 'postgres';
  readonly options: object;
}

/** A Deskbell database, in SQLite or PostgreSQL. Each property is the store for one kind of data. */
export interface Store {
  /**
   * The store's time in milliseconds since 1970. With PostgreSQL, it is the server's time, the same on all machines and
   * known without a round trip.
   */
  readonly now: () => number;
  readonly subscriptions: SubscriptionStore;
  readonly people: PeopleStore;
  readonly channels: ChannelStore;
  readonly readers: ReaderStore;
  readonly broadcasts: BroadcastStore;
  readonly attempts: AttemptStore;
  readonly alarms: AlarmStore;
  readonly schedules: ScheduleStore;
  readonly bells: BellStore;
  readonly sending: Sending;
  readonly leases: Leases;
  readonly ledger: Ledger;
  readonly rates: RateShares;
  readonly heldDeletions: HeldDeletions;
  readonly ended: EndedSubscriptions;
  readonly losses: Losses;
  readonly vapidKeys: VapidKeyStore;
  readonly unlisted: UnlistedPushServices;
  readonly statistics: Statistics;
  readonly receipts: ReceiptStore;
  readonly invitations: Invitations;
  readonly messageRequests: MessageRequests;
  readonly operators: OperatorStore;
  readonly audit: AuditStore;
  readonly senders: SenderReports;
  readonly retention: Retention;
  readonly visits: VisitStore;
  readonly endpoints: Endpoints;
  readonly webhooks: WebhookOutbox;
  /** If absent, each process counts the requests of its own clients. */
  readonly clientRequests?: ClientRequests | undefined;
  readonly address: StoreAddress;
  /** Throws if the database cannot be read or written now. */
  check(): Promise<void>;
  close(): Promise<void>;
}

// Checks whether an option is a store. The functions that open a store or a data directory return promises, so
// passing their result without `await` is a likely mistake.

export const isStore = hasMethods('a store, such as that of a data directory', ['now', 'check', 'close']);
