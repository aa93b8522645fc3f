// `deskbell/web-push`: replaces the npm package `web-push`, with the same functions, options, results and errors.
// docs/migrating-from-web-push.md lists the differences.
//
//   import webPush from 'deskbell/web-push';
//
//   webPush.setVapidDetails('mailto:you@example.org', publicKey, privateKey);
//   await webPush.sendNotification(subscription, 'Backups are done', { TTL: 3600 });
import { completeRequest, encrypt, prepareRequest } from './request-details.ts';
import {
  ensure,
  type PushSubscription,
  type RequestDetails,
  type RequestOptions,
  type SendResult,
  type VapidDetails,
  WebPushError,
} from './types.ts';
import { createPushClient, type PushClient } from './push-client.ts';
import {
  checkVapidDetails,
  generateVAPIDKeys,
  getVapidHeaders,
  supportedContentEncodings,
  supportedUrgency,
} from './vapid.ts';
import type * as types from './types.ts';

let gcmAPIKey: string | null | undefined;
let vapidDetails: VapidDetails | null | undefined;
let isGuarded = false;
let client: PushClient | undefined;

const defaults = () => ({ gcmAPIKey, vapidDetails, transport: process.env['DESKBELL_WEB_PUSH_TRANSPORT'] });

/**
 * Sets the API key for endpoints of Google Cloud Messaging, which has been shut down.
 *
 * @param apiKey `null` removes it
 * @throws {Error} if it is neither a string nor `null`
 */
export function setGCMAPIKey(apiKey: string | null): void {
  const isKey = typeof apiKey === 'string' && apiKey !== '';
  ensure(apiKey === null || isKey, 'The GCM API Key should be a non-empty string or null.');
  gcmAPIKey = apiKey;
}

/**
 * Sets the default key pair and contact.
 *
 * @param subject `mailto:` or `https:` URI; `null` as the only argument removes the key pair and the contact
 * @throws {Error} saying which part is wrong
 */
export function setVapidDetails(subject: string, publicKey: string, privateKey: string): void;
export function setVapidDetails(none: null): void;
export function setVapidDetails(...details: [null] | [string, string, string]): void {
  if (details.length === 1 && details[0] === null) {
    vapidDetails = null;
    return;
  }
  const [subject, publicKey, privateKey] = details as [string, string, string];
  checkVapidDetails({ subject, publicKey, privateKey });
  vapidDetails = { subject, publicKey, privateKey };
}

/**
 * Refuses endpoints whose host has an address that is not public. The guard is off by default, because `web-push`
 * has no such guard. Turn the guard on if endpoints come from strangers, who could otherwise direct requests into
 * your network.
 */
export function setAddressGuard(isOn: boolean): void {
  isGuarded = isOn;
}

/**
 * Returns the request that `sendNotification` would send.
 *
 * @throws {Error} saying what is wrong with the subscription, the payload or an option
 */
export function generateRequestDetails(
  subscription: PushSubscription,
  payload?: null,
  options?: RequestOptions,
): RequestDetails & { body: null };
export function generateRequestDetails(
  subscription: PushSubscription,
  payload: string | Buffer,
  options?: RequestOptions,
): RequestDetails & { body: Buffer };
export function generateRequestDetails(
  subscription: PushSubscription,
  payload?: string | Buffer | null,
  options?: RequestOptions,
): RequestDetails;
export function generateRequestDetails(
  subscription: PushSubscription,
  payload?: string | Buffer | null,
  options?: RequestOptions,
): RequestDetails {
  return completeRequest(prepareRequest(subscription, payload, options, defaults())) as RequestDetails;
}

/**
 * Sends one message.
 *
 * @example
 * webPush.setVapidDetails('mailto:you@example.org', publicKey, privateKey);
 * await webPush.sendNotification(subscription, JSON.stringify({ title: 'Hello', message: 'Backups are done' }));
 * @throws {WebPushError} if the push service responds with a status outside 200 to 299
 * @throws {Error} if the input is wrong (the message says what), or Node's error for a connection, TLS or a time-out
 */
export async function sendNotification(
  subscription: PushSubscription,
  payload?: string | Buffer | null,
  options?: RequestOptions,
): Promise<SendResult> {
  const prepared = prepareRequest(subscription, payload, options, defaults());
  client ??= createPushClient();
  return client.send(prepared, isGuarded);
}

const webPush = {
  WebPushError,
  encrypt,
  generateRequestDetails,
  generateVAPIDKeys,
  getVapidHeaders,
  sendNotification,
  setAddressGuard,
  setGCMAPIKey,
  setVapidDetails,
  supportedContentEncodings,
  supportedUrgency,
};

// The namespace must declare each type again, because it cannot export names of another module.
/* oxlint-disable no-shadow */
declare namespace webPush {
  export type ContentEncoding = types.ContentEncoding;
  export type EncryptionResult = types.EncryptionResult;
  export type Headers = types.Headers;
  export type HttpsProxyAgentOptions = types.HttpsProxyAgentOptions;
  export type PushSubscription = types.PushSubscription;
  export type RequestDetails = types.RequestDetails;
  export type RequestOptions = types.RequestOptions;
  export type SendResult = types.SendResult;
  export type TransportName = types.TransportName;
  export type Urgency = types.Urgency;
  export type VapidDetails = types.VapidDetails;
  export type VapidKeys = types.VapidKeys;
  export type WebPushError = types.WebPushError;
}
/* oxlint-enable no-shadow */

// `require` returns this object, so tests can replace its members, as with `web-push`.
export default webPush;
export {
  encrypt,
  generateVAPIDKeys,
  getVapidHeaders,
  supportedContentEncodings,
  supportedUrgency,
  WebPushError,
};
export type * from './types.ts';
