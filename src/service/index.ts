// `deskbell/service`: the public HTTP service, as a separate server or as part of an application.
//
//   const { store, vapidKeys, sessionKey } = await openDataDirectory('deskbell-data'); // from 'deskbell'
//   app.register(createService({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey, pushOnly: true }));

export { createServer, createService } from './create-service.ts';
export { createHandler, createMiddleware } from './create-handler.ts';
export type { ServiceHandler, ServiceMiddleware } from './create-handler.ts';
export { createSessionCookie } from './demonstration/session.ts';
export type { SessionCookie, SessionCookieOptions } from './demonstration/session.ts';
export { openExampleUsers } from './demonstration/users.ts';
export type { ExampleUser, ExampleUsers, ExampleUsersOptions } from './demonstration/users.ts';
export { createSubscriberToken } from './push/subscriber-token.ts';
export type { SubscriberTokenOptions, SubscriberTokens } from './push/subscriber-token.ts';
export type {
  DemoActionName,
  HandlerOptions,
  MiddlewareOptions,
  OfferedSubscription,
  SubscribeHook,
  SubscriptionHook,
  ServerOptions,
  ServiceOptions,
} from './options.ts';

// The four logging mechanisms, for your own applications (see examples/).
export { createLog, type Log, type LogOptions, type OpenLog } from '../http/log.ts';
export { createActionLogging, type InAction } from './demonstration/logging-mechanisms.ts';
export { ActionRequest } from './demonstration/logging-mechanisms.ts';
export type { ReadSession, SessionEntries } from './demonstration/logging-mechanisms.ts';
export { enableFilters } from '../http/filter.ts';
export { createLoggingFilter } from './demonstration/logging-mechanisms.ts';
export type { Filter, FilteredResponse, RequestHead } from '../http/filter.ts';
export {
  annotateClass,
  createSessionAuthenticator,
  enforceAuthenticators,
} from './demonstration/authenticator.ts';
export type { Authenticator, Authorize, Verdict } from './demonstration/authenticator.ts';
export { createLoggingActionCreator, useActionCreator } from './demonstration/logging-mechanisms.ts';
export type { ActionCreator, ActionResult } from './demonstration/logging-mechanisms.ts';
export type { LoggingMechanism, MechanismRecord, RecordLog } from './demonstration/logging-mechanisms.ts';
