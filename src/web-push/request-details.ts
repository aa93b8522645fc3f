// Makes the request of one push message, with its body or with the encryption left to a batch.
import { createTokenCache, supportedContentEncodings } from './vapid.ts';
import { checkEncryptionArguments, encrypt } from './encrypt.ts';
import { ensure } from './errors.ts';
import { readOptions, type Defaults, type ReadOptions } from './request-options.ts';
import type {
  ContentEncoding,
  PushSubscription,
  RequestDetails,
  RequestOptions,
  TransportName,
} from './types.ts';

export interface Plaintext {
  readonly payload: string | Buffer;
  readonly keys: PushSubscription['keys'];
}

/** `RequestDetails` with the true type of its header fields. */
export interface BuiltRequest extends Omit<RequestDetails, 'headers'> {
  headers: Record<string, string | number>;
}

export interface PreparedRequest {
  /** If there is a `plaintext`, body and length are still missing. */
  readonly details: BuiltRequest;
  readonly plaintext: Plaintext | undefined;
  readonly transport: TransportName;
}

const getCachedVapidHeaders = createTokenCache();

/**
 * Checks everything and makes the header fields.
 *
 * @throws {Error} with the texts of the original, since applications compare them
 */
export function prepareRequest(
  subscription: PushSubscription,
  payload: string | Buffer | null | undefined,
  options: RequestOptions | undefined,
  defaults: Defaults,
): PreparedRequest {
  checkSubscription(subscription, Boolean(payload));
  const read = readOptions(options, defaults);
  const { contentEncoding, topic, proxy, agent, timeoutMs } = read;
  const details: BuiltRequest = {
    method: 'POST',
    headers: { TTL: read.ttlSeconds, ...read.headers },
    body: null,
    endpoint: subscription.endpoint,
  };
  const { headers } = details;
  const plaintext = payload ? { payload, keys: subscription.keys } : undefined;
  const isAesgcm = contentEncoding === supportedContentEncodings.AES_GCM;
  if (plaintext === undefined) headers['Content-Length'] = 0;
  else {
    headers['Content-Type'] = 'application/octet-stream';
    headers['Content-Encoding'] = contentEncoding;
    if (isAesgcm) encryptAesgcm(details, plaintext);
    else checkEncryptionArguments(plaintext.keys.p256dh, plaintext.keys.auth, plaintext.payload);
  }
  addAuthorization(details, read);
  headers['Urgency'] = read.urgency;
  if (topic !== undefined) headers['Topic'] = topic;
  if (proxy !== undefined) details.proxy = proxy;
  if (agent !== undefined) details.agent = agent;
  if (timeoutMs !== undefined) details.timeout = timeoutMs;
  return { details, plaintext: isAesgcm ? undefined : plaintext, transport: read.transport };
}

/** @throws {Error} the subscription's key is not a point on the curve */
export function completeRequest({ details, plaintext }: PreparedRequest): BuiltRequest {
  if (plaintext === undefined) return details;
  encryptBody(details, plaintext, supportedContentEncodings.AES_128_GCM);
  return details;
}

function encryptBody(details: BuiltRequest, { payload, keys }: Plaintext, encoding: ContentEncoding) {
  const encrypted = encrypt(keys.p256dh, keys.auth, payload, encoding);
  details.headers['Content-Length'] = encrypted.cipherText.length;
  details.body = encrypted.cipherText;
  return encrypted;
}

function checkSubscription(subscription: PushSubscription, hasPayload: boolean): void {
  ensure(subscription?.endpoint, 'You must pass in a subscription with at least an endpoint.');
  const isText = typeof subscription.endpoint === 'string';
  ensure(isText, 'The subscription endpoint must be a string with a valid URL.');
  ensure(
    !hasPayload || (subscription.keys?.p256dh && subscription.keys.auth),
    "To send a message with a payload, the subscription must have 'auth' and 'p256dh' keys.",
  );
}

/** `aesgcm` sends its parameters in header fields. */
function encryptAesgcm(details: BuiltRequest, plaintext: Plaintext): void {
  const { salt, localPublicKey } = encryptBody(details, plaintext, supportedContentEncodings.AES_GCM);
  details.headers['Encryption'] = `salt=${salt}`;
  details.headers['Crypto-Key'] = `dh=${localPublicKey.toString('base64url')}`;
}

/** Google's endpoints from before VAPID take an API key. */
function addAuthorization(
  { headers, endpoint }: BuiltRequest,
  { gcmAPIKey, vapidDetails, contentEncoding }: ReadOptions,
): void {
  if (endpoint.startsWith('https://android.googleapis.com/gcm/send')) {
    if (gcmAPIKey) headers['Authorization'] = `key=${gcmAPIKey}`;
    else {
      console.warn(
        'Attempt to send push notification to GCM endpoint, but no GCM key is defined. Please use setGCMApiKey() or ' +
          "add 'gcmAPIKey' as an option.",
      );
    }
  } else if (vapidDetails) {
    const vapidHeaders = getCachedVapidHeaders(audienceOf(endpoint), vapidDetails, contentEncoding);
    headers['Authorization'] = vapidHeaders.Authorization;
    const key = vapidHeaders['Crypto-Key'];
    if (key !== undefined) {
      headers['Crypto-Key'] = headers['Crypto-Key'] ? `${headers['Crypto-Key']};${key}` : key;
    }
  } else if (gcmAPIKey && endpoint.startsWith('https://fcm.googleapis.com/fcm/send')) {
    headers['Authorization'] = `key=${gcmAPIKey}`;
  }
}

/** The original also parses a text without a scheme, and finds neither scheme nor host. */
function audienceOf(endpoint: string): string {
  if (!/^[a-z][a-z\d+.-]*:/i.test(endpoint)) return 'null//null';
  const { protocol, host } = new URL(endpoint);
  return `${protocol}//${host}`;
}
