// `deskbell`: sends messages, and opens the data directory that a sender shares with a service. It loads neither the
// service nor its packages.
//
//   const { store, vapidKeys } = await openDataDirectory('deskbell-data');
//
//   // One notification to one subscription.
//   const sender = createSender({ store, vapid: { ...vapidKeys, subject: 'mailto:you@example.org' } });
//   const { outcome } = await sender.send(subscription, { title: 'Hello', message: 'Backups are done' });
//
//   // To everyone: stored first, retried, delivered by a thread per core.
//   const run = await sender.broadcast('all', { title: 'Hello', message: 'Backups are done' });
//   const { counts } = await run.finished;

export { createSender } from './delivery/sender.ts';
export type {
  GivenReader,
  Sender,
  SenderOptions,
  SenderVapid,
  SendOptions,
  SendResult,
  SubscriptionInput,
} from './delivery/sender.ts';
export type { Audience } from './delivery/broadcast/audience.ts';
export type { BroadcastOptions } from './delivery/broadcast/create-broadcast.ts';
export type { RecurringAudience, ScheduleOptions } from './delivery/schedule/create-schedule.ts';
export type { BroadcastRun } from './delivery/sender-interface.ts';
export type { Progress } from './delivery/broadcast/progress.ts';
export type { RetryPolicy } from './delivery/settings/retry-policy.ts';
export type {
  Alarm,
  AskedAudience,
  Broadcast,
  BroadcastCreator,
  BroadcastState,
  BroadcastStore,
  ListKind,
  OriginCounts,
  OutcomeAudience,
  OutcomeGroup,
  Settlement,
} from './store/broadcasts.ts';
export type {
  AnswerCount,
  AttemptOutcome,
  AttemptRecord,
  AttemptStore,
  RowOutcome,
  RowState,
  RowWait,
} from './store/attempts.ts';
export type { Message, MessageAction, MessageTexts } from './protocol/message/message.ts';
export type { Outcome, PushResponse, RetryReason } from './protocol/outcome.ts';
export type { RejectionReason } from './protocol/refusal-reason.ts';
export type { PushOptions, Urgency } from './protocol/request.ts';
export type { ResolvedAddress, TransportOptions } from './transport/transport.ts';

export { openDataDirectory, openPostgresStore, openSqliteStore } from './open.ts';
export type { DataDirectory, DataDirectoryKeys, DataDirectoryOptions } from './cli/data/data-directory.ts';
export type { PostgresStoreOptions } from './store/postgres/open-store.ts';
export type { SqliteStoreOptions } from './store/sqlite/open-store.ts';
export type { GoneHook } from './delivery/reports/gone-hook.ts';
export type { ReceiptCounts, ReceiptEvent, ReceiptStore } from './store/receipts.ts';
export type { EndedSubscription, EndedSubscriptions } from './store/held-deletions.ts';
export type { Channel, Choices } from './audience/channels.ts';
export type { Person, PersonChange } from './audience/person.ts';
export type { PersonData } from './audience/reader-facts.ts';
export type { AudienceExpression, TagExpression, UserAndTags } from './audience/user-and-tags.ts';
export type { PeopleStore } from './store/people.ts';
export type { RemovedPerson } from './store/remove-person.ts';
export type { ChannelStore, Reader, ReaderFacts, ReaderStore } from './store/readers.ts';
export type { Schedule, ScheduleStore } from './store/schedules.ts';
export type { Store } from './store/store.ts';
export type {
  FormerSubscription,
  NewSubscription,
  Registration,
  StoredSubscription,
  SubscriptionStore,
} from './store/subscriptions.ts';

export { generateVapidKeys, type VapidKeys } from './protocol/vapid.ts';
export type { Subscription } from './protocol/subscription.ts';

export { DeskbellError, type FieldError } from './errors/deskbell-error.ts';
export type { ErrorCode } from './errors/catalogue.ts';
