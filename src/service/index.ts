// `deskbell/service`: the public HTTP service, as a server of its own or as part of an application.
//
//   const { store, vapidKeys, sessionKey } = await openDataDirectory('deskbell-data'); // from 'deskbell'
//   app.register(createService({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey, pushOnly: true }));

export { createServer } from './create-server.ts';
export { createMiddleware, type ServiceMiddleware } from './create-middleware.ts';
export { createHandler, type ServiceHandler } from './create-handler.ts';
export { createService } from './create-service.ts';
export { createSessionCookie } from './demonstration/create-session-cookie.ts';
export type { SessionCookie, SessionCookieOptions } from './demonstration/create-session-cookie.ts';
export { openExampleUsers } from './demonstration/example-users.ts';
export type { ExampleUser, ExampleUsers, ExampleUsersOptions } from './demonstration/example-users.ts';
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
export { createActionLogging, type InAction } from './demonstration/mechanisms/action-logging.ts';
export { ActionRequest } from './demonstration/mechanisms/action-request.ts';
export type { ReadSession, SessionEntries } from './demonstration/mechanisms/action-request.ts';
export { enableFilters } from '../http/filter.ts';
export { createLoggingFilter } from './demonstration/mechanisms/logging-filter.ts';
export type { Filter, FilteredResponse, RequestHead } from '../http/filter.ts';
export {
  annotateClass,
  createSessionAuthenticator,
  enforceAuthenticators,
} from './demonstration/mechanisms/authenticator.ts';
export type { Authenticator, Authorize, Verdict } from './demonstration/mechanisms/authenticator.ts';
export { createLoggingActionCreator, useActionCreator } from './demonstration/mechanisms/action-creator.ts';
export type { ActionCreator, ActionResult } from './demonstration/mechanisms/action-creator.ts';
export type { LoggingMechanism, MechanismRecord, RecordLog } from './demonstration/mechanisms/record.ts';
