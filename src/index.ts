// `deskbell`: the sender and the service for code that embeds them. The protocol alone is `deskbell/protocol`.
//
//   const { store, vapidKeys, sessionKey } = await openDataDirectory('deskbell-data');
//
//   // Browsers subscribe: a Fastify plugin, or a server of its own.
//   app.register(createService({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey }));
//
//   // Notifications go out.
//   const sender = createSender({ vapid: { ...vapidKeys, subject: 'mailto:you@your.domain' } });
//   const { outcome } = await sender.send(subscription, { title: 'Ding dong', message: 'Tea is ready' });
//
//   // To everyone: stored first, tried again where push services are busy, delivered by a thread per core.
//   const broadcaster = createSender({ store, vapid: { ...vapidKeys, subject: 'mailto:you@your.domain' } });
//   const run = await broadcaster.broadcast('all', { title: 'Ding dong', message: 'Tea is ready' });
//   const { counts } = await run.finished;

export { createSender } from './delivery/sender.ts';
export type { Sender, SenderOptions, SenderVapid, SendResult, SubscriptionInput } from './delivery/sender.ts';
export type { Audience } from './delivery/audience.ts';
export type { BroadcastOptions } from './delivery/create-broadcast.ts';
export type { BroadcastRun } from './delivery/deliverer.ts';
export type { Progress } from './delivery/progress.ts';
export type { RetryPolicy } from './delivery/retry-policy.ts';
export type {
  Alarm,
  AttemptRecord,
  Broadcast,
  BroadcastState,
  BroadcastStore,
  OriginCounts,
  Settlement,
} from './store/broadcast-store.ts';
export type { Message } from './protocol/payload.ts';
export type { Outcome, RejectionReason, RetryReason } from './protocol/outcome.ts';
export type { PushOptions, Urgency } from './protocol/request.ts';
export type { PushResponse, ResolvedAddress, TransportOptions } from './transport/transport.ts';

export { createServer } from './service/create-server.ts';
export { createService } from './service/create-service.ts';
export { createSessionCookie } from './service/demonstration/session-cookie.ts';
export type { SessionCookie, SessionCookieOptions } from './service/demonstration/session-cookie.ts';
export type { DemoActionName, OnSubscribe, ServerOptions, ServiceOptions } from './service/options.ts';

// The four logging mechanisms, for applications of your own (see examples/).
export { createLog } from './service/http/log.ts';
export type { Log, LogOptions, OpenLog } from './service/http/log.ts';
export { createActionLogging } from './service/demonstration/mechanisms/action-logging.ts';
export type { InAction } from './service/demonstration/mechanisms/action-logging.ts';
export { ActionRequest } from './service/demonstration/mechanisms/action-request.ts';
export type { ReadSession, SessionEntries } from './service/demonstration/mechanisms/action-request.ts';
export { createLoggingFilter, enableFilters } from './service/demonstration/mechanisms/filter.ts';
export type { Filter, FilteredResponse, RequestHead } from './service/demonstration/mechanisms/filter.ts';
export {
  annotateClass,
  createSessionAuthenticator,
  obeyAuthenticators,
} from './service/demonstration/mechanisms/authenticator.ts';
export type { Authenticator, Authorize, Verdict } from './service/demonstration/mechanisms/authenticator.ts';
export {
  createLoggingActionCreator,
  useActionCreator,
} from './service/demonstration/mechanisms/action-creator.ts';
export type { ActionCreator, ActionResult } from './service/demonstration/mechanisms/action-creator.ts';
export type {
  LoggingMechanism,
  MechanismRecord,
  RecordLog,
} from './service/demonstration/mechanisms/record.ts';

export { openDataDirectory } from './store/data-directory.ts';
export type { DataDirectory } from './store/data-directory.ts';
export { openSqliteStore } from './store/sqlite/open-sqlite-store.ts';
export type { SqliteStoreOptions } from './store/sqlite/open-sqlite-store.ts';
export type { Store, StoredSubscription, SubscriptionStore, User, UserStore } from './store/store.ts';

export { generateVapidKeys } from './protocol/vapid.ts';
export type { VapidKeys } from './protocol/vapid.ts';
export type { Subscription } from './protocol/subscription.ts';

export { DeskbellError } from './errors/deskbell-error.ts';
export type { FieldError } from './errors/deskbell-error.ts';
export type { ErrorCode } from './errors/catalogue.ts';
