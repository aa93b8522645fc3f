// `deskbell/client`: subscribes this browser, and gives the page each push message as it arrives. It also keeps the
// service's copy of the subscription up to date. The service worker shows notifications.
export { createClient } from './client.ts';
export type { Client, ClientOptions, ClientState, SubscribeOptions, SyncResult } from './client.ts';
export type { Channel, Choices } from './service-api.ts';
export type { HistoryEntry } from './database.ts';
export { ClientError, type FailureReason } from './client-error.ts';
export type { ServiceWorkerHooks } from './service-worker-hooks.ts';
export type { PushMessage, PushMessageAction } from './push-message.ts';
