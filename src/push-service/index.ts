// `deskbell/push-service`: provides a push service for development, tests and CI, and a user agent for this push
// service.
export { startPushService } from './start-push-service.ts';
export type { PushService, PushServiceOptions, Statistics } from './push-service.ts';
export type { Fault, FaultKind, FaultScope } from './faults.ts';
export type { Faults, InjectedFault } from './faults.ts';
export type { Limits } from './limits.ts';
export type { PushServiceEvent } from './events.ts';
export type { PushSubscriptionJson, SinkTally } from './sender-side/sender-api.ts';
export { createUserAgent } from './browser-side/user-agent.ts';
export type { ReceivedMessage, UserAgent, UserAgentOptions } from './browser-side/user-agent.ts';
