// Encrypts with the same package as `web-push`, `http_ece`: both content encodings, any length, and an `auth` longer
// than 16 bytes. push-client.ts uses this for messages that its batch refuses. The texts of errors are those of
// `web-push`, because applications compare them.
import { createECDH, randomBytes } from 'node:crypto';
import { Agent } from 'node:https';
import { createRequire } from 'node:module';
import { inspect } from 'node:util';
import { curve, pointBytes } from '../protocol/p256.ts';
import { defaultTtlSeconds, maxTopicCharacters, urgencies } from '../protocol/request.ts';
import { authBytes } from '../protocol/subscription.ts';
import {
  type ContentEncoding,
  type EncryptionResult,
  ensure,
  type Headers,
  type HttpsProxyAgentOptions,
  type PushSubscription,
  type RequestDetails,
  type RequestOptions,
  type TransportName,
  type VapidDetails,
} from './types.ts';
import { createTokenCache, isBase64url, supportedContentEncodings } from './vapid.ts';

/** `http_ece` comes without types. */
interface HttpEce {
  encrypt(plaintext: Buffer, parameters: Readonly<Record<string, unknown>>): Buffer;
}

const httpEce = createRequire(import.meta.url)('http_ece') as HttpEce;

/**
 * Encrypts one message.
 *
 * @param userPublicKey `p256dh`, base64url
 * @param userAuth `auth`, base64url
 * @returns for `aesgcm`, send the public key and the salt in header fields; for `aes128gcm`, `cipherText` includes them
 * @throws {Error}
 * @see RFC 8291 §3, §4
 */
export function encrypt(
  userPublicKey: string,
  userAuth: string,
  payload: string | Buffer,
  contentEncoding: ContentEncoding,
): EncryptionResult {
  checkEncryptionArguments(userPublicKey, userAuth, payload);
  const ecdh = createECDH(curve);
  const localPublicKey = ecdh.generateKeys();
  const salt = randomBytes(16).toString('base64url');
  const cipherText = httpEce.encrypt(Buffer.from(payload as string), {
    version: contentEncoding,
    dh: userPublicKey,
    privateKey: ecdh,
    salt,
    authSecret: userAuth,
  });
  return { localPublicKey, salt, cipherText };
}

function checkEncryptionArguments(userPublicKey: unknown, userAuth: unknown, payload: unknown): void {
  ensure(userPublicKey, 'No user public key provided for encryption.');
  ensure(typeof userPublicKey === 'string', 'The subscription p256dh value must be a string.');
  ensure(
    Buffer.from(userPublicKey, 'base64url').length === pointBytes,
    `The subscription p256dh value should be ${pointBytes} bytes long.`,
  );
  ensure(userAuth, 'No user auth provided for encryption.');
  ensure(typeof userAuth === 'string', 'The subscription auth key must be a string.');
  ensure(
    Buffer.from(userAuth, 'base64url').length >= authBytes,
    `The subscription auth key should be at least ${authBytes} bytes long`,
  );
  const isPayload = typeof payload === 'string' || Buffer.isBuffer(payload);
  ensure(isPayload, 'Payload must be either a string or a Node Buffer.');
}

// Builds the request for one push message. If the message is encrypted later, in a batch, the request has no body yet.
// The same options are accepted, refused or ignored as in `web-push`. The error texts are also the same, because
// applications compare these texts.

interface Defaults {
  readonly gcmAPIKey: string | null | undefined;
  readonly vapidDetails: VapidDetails | null | undefined;
  /** The environment variable DESKBELL_WEB_PUSH_TRANSPORT. */
  readonly transport: string | undefined;
}

type ReadOptions = ReturnType<typeof readOptions>;

const names = [
  'headers',
  'gcmAPIKey',
  'vapidDetails',
  'TTL',
  'contentEncoding',
  'urgency',
  'topic',
  'proxy',
  'agent',
  'timeout',
];

function readOptions(options: RequestOptions | undefined, defaults: Defaults) {
  const given: RequestOptions = options || {};
  for (const name of Object.keys(given)) {
    const valid = names.join("', '");
    ensure(
      names.includes(name) || name === 'transport',
      `'${name}' is an invalid option. The valid options are ['${valid}'].`,
    );
  }
  // If there are two faults, the order of the checks in `web-push` decides which one is reported.
  const headers = readHeaders(given);
  const ttlSeconds = readTtl(given.TTL);
  const contentEncoding = given.contentEncoding || supportedContentEncodings.AES_128_GCM;
  const isEncoding = Object.values(supportedContentEncodings).includes(contentEncoding);
  ensure(isEncoding, 'Unsupported content encoding specified.');
  const urgency = given.urgency || 'normal';
  ensure(urgencies.includes(urgency), 'Unsupported urgency specified.');
  const topic = readTopic(given.topic);
  const proxy = readProxy(given.proxy);
  return {
    headers,
    gcmAPIKey: given.gcmAPIKey || defaults.gcmAPIKey,
    // With `null` or '', the message is sent without VAPID.
    vapidDetails: given.vapidDetails === undefined ? defaults.vapidDetails : given.vapidDetails,
    ttlSeconds,
    contentEncoding,
    urgency,
    topic,
    proxy,
    agent: readAgent(given.agent, proxy !== undefined),
    transport: readTransport(given.transport, defaults.transport),
    timeoutMs: typeof given.timeout === 'number' && given.timeout ? given.timeout : undefined,
  };
}

function readHeaders(options: RequestOptions): Headers {
  const headers = options.headers || {};
  const twice = Object.keys(headers).filter(
    (name) => (options as Readonly<Record<string, unknown>>)[name] !== undefined,
  );
  ensure(
    twice.length === 0,
    `Duplicated headers defined [${twice.join(',')}]. Please either define the header in thetop level options OR in ` +
      "the 'headers' key.",
  );
  return headers;
}

function readTtl(ttl: unknown): number {
  if (ttl === undefined) return defaultTtlSeconds;
  const seconds = Number(ttl);
  ensure(!(seconds < 0), 'TTL should be a number and should be at least 0');
  return seconds;
}

function readTopic(topic: string | undefined): string | undefined {
  if (!topic) return undefined;
  const alphabet = 'URL or filename-safe Base64 characters set';
  ensure(isBase64url(topic), `Unsupported characters set use the ${alphabet}`);
  const isLong = topic.length > maxTopicCharacters;
  ensure(!isLong, `use maximum of ${maxTopicCharacters} characters from the ${alphabet}`);
  return topic;
}

function readProxy(
  proxy: string | HttpsProxyAgentOptions | undefined,
): string | HttpsProxyAgentOptions | undefined {
  if (!proxy) return undefined;
  if (typeof proxy === 'string' || typeof proxy.host === 'string') return proxy;
  console.warn(
    'Attempt to use proxy option, but invalid type it should be a string or proxy options object.',
  );
  return undefined;
}

function readAgent(agent: Agent | undefined, hasProxy: boolean): Agent | undefined {
  if (!agent) return undefined;
  if (!(agent instanceof Agent)) {
    console.warn('Wrong type for the agent option, it should be an instance of https.Agent.');
    return undefined;
  }
  if (hasProxy) console.warn('Agent option will be ignored because proxy option is defined.');
  return agent;
}

function readTransport(option: unknown, variable: string | undefined): TransportName {
  const isOption = option !== undefined;
  const transport = isOption ? option : variable || 'deskbell';
  const name = isOption ? 'transport' : 'DESKBELL_WEB_PUSH_TRANSPORT';
  const isTransport = transport === 'deskbell' || transport === 'node';
  ensure(isTransport, `${name} is ${inspect(transport)}; it must be 'node' or 'deskbell'.`);
  return transport;
}

export interface Plaintext {
  readonly payload: string | Buffer;
  readonly keys: PushSubscription['keys'];
}

/** `RequestDetails` with header values that may be numbers. */
export interface BuiltRequest extends Omit<RequestDetails, 'headers'> {
  headers: Record<string, string | number>;
}

export interface PreparedRequest {
  /** If there is a `plaintext`, the body and its length are still missing. */
  readonly details: BuiltRequest;
  readonly plaintext: Plaintext | undefined;
  readonly transport: TransportName;
}

const getCachedVapidHeaders = createTokenCache();

/**
 * Checks all arguments and makes the header fields.
 *
 * @throws {Error} with the texts of `web-push`, because applications compare them
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

/** @throws {Error} if the subscription's key is not a point on the curve */
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

/** `aesgcm` sends its parameters in header fields, not in the body. */
function encryptAesgcm(details: BuiltRequest, plaintext: Plaintext): void {
  const { salt, localPublicKey } = encryptBody(details, plaintext, supportedContentEncodings.AES_GCM);
  details.headers['Encryption'] = `salt=${salt}`;
  details.headers['Crypto-Key'] = `dh=${localPublicKey.toString('base64url')}`;
}

/** Google's endpoints from before VAPID need an API key instead of a token. */
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

/** `web-push` also parses text without a scheme, and then finds neither scheme nor host. */
function audienceOf(endpoint: string): string {
  if (!/^[a-z][a-z\d+.-]*:/i.test(endpoint)) return 'null//null';
  const { protocol, host } = new URL(endpoint);
  return `${protocol}//${host}`;
}
