// The interface of the store, divided by role; the database behind it is not visible.
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

/** What another thread needs to open the same store, with `openStoreAt`. It can be posted to a thread. */
export interface StoreAddress {
  readonly database: 'sqlite' | 'postgres';
  readonly options: object;
}

/** A database of Deskbell, in SQLite or PostgreSQL. Each member is one role of it. */
export interface Store {
  /**
   * The store's time, milliseconds since 1970. With PostgreSQL it is the server's, the same on all machines, without a round trip.
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
  /** Absent if each process counts the requests of its clients for itself. */
  readonly clientRequests?: ClientRequests | undefined;
  readonly address: StoreAddress;
  /** Throws where the database cannot be read or written now. */
  check(): Promise<void>;
  close(): Promise<void>;
}

// Whether an option is a store: a data directory has one, and what opens either gives a promise of it.

export const isStore = hasMethods('a store, such as that of a data directory', ['now', 'check', 'close']);
