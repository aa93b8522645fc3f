// A user agent for tests and demonstrations. It does what a browser does between push service and service worker, shows
// nothing and writes nothing to disk.
import { createECDH, type ECDH, randomBytes, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { readParameters } from '../http/exchange.ts';
import { checkNames, type Names } from '../limits.ts';
import type { PushSubscriptionJson } from '../sender-side/sender-api.ts';
import { AutopushClient, type Frame } from './autopush-client.ts';

/** `createUserAgent` takes these options. */
export interface UserAgentOptions {
  readonly webSocketUrl: string;
  /** Certificate authorities to trust for `wss:` besides Node's own, as PEM. Use `PushService.ca`. */
  readonly ca?: readonly string[] | undefined;
  /** If false, messages are not acknowledged, so each reconnect delivers them again. */
  readonly acknowledges?: boolean;
}

/** A push message that the user agent has received. */
export interface ReceivedMessage {
  readonly endpoint: string;
  /** The push service's ID of this message. */
  readonly version: string;
  /** The decrypted payload; `undefined` for a push without payload. */
  readonly data: Uint8Array | undefined;
  text(): string;
  json(): unknown;
}

/**
 * A user agent without a browser, made by `createUserAgent`. The user agent subscribes, receives messages and decrypts
 * them.
 */
export interface UserAgent {
  /** The push service's ID of this user agent. If it changes, all subscriptions are lost. */
  readonly uaid: string;
  readonly endpoints: readonly string[];
  /**
   * @param applicationServerKey VAPID public key, base64url. Only the key's owner can then send.
   * @throws {Error} if the push service refuses; the message says why
   */
  subscribe(applicationServerKey?: string): Promise<PushSubscriptionJson>;
  /** Returns false if there is no such subscription. */
  unsubscribe(endpoint: string): Promise<boolean>;
  /** Yields each message once, even if it is delivered again. Throws if a message cannot be decrypted. */
  readonly messages: AsyncIterable<ReceivedMessage>;
  /**
   * Waits for one message.
   *
   * @param timeoutMs default: 10 000
   * @throws {Error} if none comes in time, the user agent is closed, or the message cannot be decrypted
   */
  nextMessage(timeoutMs?: number): Promise<ReceivedMessage>;
  /** Closes the connection and does not reconnect. */
  disconnect(): Promise<void>;
  /** Reconnects after `disconnect()`, with the same `uaid`. */
  connect(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Channel extends PushSubscriptionJson {
  readonly channelId: string;
  readonly privateKey: ECDH;
  readonly authSecret: Buffer;
}

const optionNames: Names<UserAgentOptions> = { webSocketUrl: true, ca: true, acknowledges: true };
const defaultWaitMs = 10_000;
const maxQueuedMessages = 1000;
const maxRememberedVersions = 10_000;

/**
 * Starts a user agent and connects it.
 *
 * @example
 * const userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
 * const { endpoint, keys } = await userAgent.subscribe(vapidKeys.publicKey);
 * @throws {RangeError} if an option is unknown
 * @throws {TypeError} if `ca` is not an array of strings
 * @throws {Error} if the push service cannot be reached or does not answer the hello
 */
export async function createUserAgent(options: UserAgentOptions): Promise<UserAgent> {
  checkNames('option', options, optionNames);
  const ca = checkAuthorities(options.ca);
  const channels = new Map<string, Channel>();
  const seenVersions = new Set<string>();
  const client = new AutopushClient({
    webSocketUrl: options.webSocketUrl,
    ca,
    onNotification: receive,
    onForgotten: () => channels.clear(),
  });
  const messages = new MessageQueue<ReceivedMessage>(() => {
    if (messages.size < maxQueuedMessages) client.resume();
  });

  function receive(frame: Frame): void {
    const channelID = String(frame['channelID']);
    const version = String(frame['version']);
    const code = take(channels.get(channelID), version, frame);
    if (options.acknowledges === false) return;
    client.send({ messageType: 'ack', updates: [{ channelID, version, code }] });
  }

  /** @returns 100: delivered; 101: could not be decrypted; 102: not delivered */
  function take(channel: Channel | undefined, version: string, { data, headers }: Frame): 100 | 101 | 102 {
    if (channel === undefined) return 102;
    if (seenVersions.has(version)) return 100;
    remember(version);
    try {
      const body = typeof data === 'string' ? Buffer.from(data, 'base64url') : undefined;
      const plaintext = body && decryptPushMessage(body, (headers ?? {}) as NotificationHeaders, channel);
      messages.push(toMessage(channel.endpoint, version, plaintext));
    } catch (error) {
      messages.push(new Error('a push message cannot be decrypted', { cause: error }));
      return 101;
    }
    if (messages.size >= maxQueuedMessages) client.pause();
    return 100;
  }

  function remember(version: string): void {
    seenVersions.add(version);
    const [oldest] = seenVersions;
    if (seenVersions.size > maxRememberedVersions && oldest !== undefined) seenVersions.delete(oldest);
  }

  await client.connect();

  const agent: UserAgent = {
    messages,
    get uaid() {
      return client.uaid;
    },
    get endpoints() {
      return [...channels.values()].map(({ endpoint }) => endpoint);
    },

    async subscribe(applicationServerKey) {
      const channelId = randomUUID();
      const privateKey = createECDH('prime256v1');
      const p256dh = privateKey.generateKeys('base64url');
      const authSecret = randomBytes(16);
      const answer = await client.request('register', { channelID: channelId, key: applicationServerKey });
      if (answer['status'] !== 200) {
        const reason = String(answer['reason'] ?? answer['status']);
        throw new Error(`the push service refuses to register: ${reason}`);
      }
      const endpoint = String(answer['pushEndpoint']);
      const auth = authSecret.toString('base64url');
      channels.set(channelId, { endpoint, p256dh, auth, channelId, privateKey, authSecret });
      return { endpoint, p256dh, auth };
    },

    async unsubscribe(endpoint) {
      const channel = [...channels.values()].find((candidate) => candidate.endpoint === endpoint);
      if (channel === undefined) return false;
      await client.request('unregister', { channelID: channel.channelId, code: 200 });
      return channels.delete(channel.channelId);
    },

    async nextMessage(timeoutMs = defaultWaitMs) {
      const result = await messages.next(timeoutMs);
      if (result.done === true) throw new Error('the user agent is closed');
      return result.value;
    },

    connect: () => client.connect(),
    disconnect: () => client.disconnect(),
    async close() {
      await client.disconnect();
      messages.close();
    },
    [Symbol.asyncDispose]: () => agent.close(),
  };
  return agent;
}

function checkAuthorities(ca: unknown = []): readonly string[] {
  if (typeof ca === 'string')
    throw new TypeError('"ca" must be an array of strings, not a string: put it in [ ]');
  if (!Array.isArray(ca)) throw new TypeError(`"ca" must be an array of strings, not ${typeof ca}`);
  const wrong = ca.findIndex((item) => typeof item !== 'string');
  if (wrong !== -1) throw new TypeError(`"ca[${wrong}]" must be a string, not ${typeof ca[wrong]}`);
  return ca;
}

function toMessage(endpoint: string, version: string, plaintext: Buffer | undefined): ReceivedMessage {
  const text = (): string => plaintext?.toString('utf8') ?? '';
  return { endpoint, version, data: plaintext, text, json: () => JSON.parse(text()) as unknown };
}

type Reader<Item> = PromiseWithResolvers<IteratorResult<Item, undefined>>;

class MessageQueue<Item> implements AsyncIterable<Item> {
  readonly #items: (Item | Error)[] = [];
  readonly #readers: Reader<Item>[] = [];
  readonly #onTaken: () => void;
  #isClosed = false;

  constructor(onTaken: () => void) {
    this.#onTaken = onTaken;
  }

  get size(): number {
    return this.#items.length;
  }

  push(item: Item | Error): void {
    const reader = this.#readers.shift();
    if (reader === undefined) this.#items.push(item);
    else if (Error.isError(item)) reader.reject(item);
    else reader.resolve({ done: false, value: item });
  }

  /** Ends the queue. Items that are already in it can still be read. */
  close(): void {
    this.#isClosed = true;
    for (const { resolve } of this.#readers.splice(0)) resolve({ done: true, value: undefined });
  }

  /** @throws {Error} if nothing comes within `timeoutMs`, or if an error was queued */
  async next(timeoutMs?: number): Promise<IteratorResult<Item, undefined>> {
    const item = this.#items.shift();
    if (item !== undefined) {
      this.#onTaken();
      if (Error.isError(item)) throw item;
      return { done: false, value: item };
    }
    if (this.#isClosed) return { done: true, value: undefined };
    const reader: Reader<Item> = Promise.withResolvers();
    this.#readers.push(reader);
    if (timeoutMs === undefined) return reader.promise;
    const timer = setTimeout(() => {
      this.#readers.splice(this.#readers.indexOf(reader), 1);
      reader.reject(new Error(`nothing came within ${timeoutMs} ms`));
    }, timeoutMs);
    return reader.promise.finally(() => clearTimeout(timer));
  }

  [Symbol.asyncIterator](): AsyncIterator<Item, undefined> {
    return { next: () => this.next() };
  }
}

// Decrypts with the independent package `http_ece`, because the same bug in both directions would not be noticed.

interface HttpEce {
  decrypt(body: Buffer, parameters: Readonly<Record<string, unknown>>): Buffer;
}

const { decrypt } = createRequire(import.meta.url)('http_ece') as HttpEce;

interface NotificationHeaders {
  readonly encoding?: string;
  readonly encryption?: string;
  readonly crypto_key?: string;
}

function decryptPushMessage(
  body: Buffer,
  headers: NotificationHeaders,
  keys: { readonly privateKey: ECDH; readonly authSecret: Buffer },
): Buffer {
  if (headers.encoding !== 'aesgcm') return decrypt(body, { version: 'aes128gcm', ...keys });
  const salt = readParameters(headers.encryption ?? '', /[;,]/).get('salt');
  const dh = readParameters(headers.crypto_key ?? '', /[;,]/).get('dh');
  return decrypt(body, { version: 'aesgcm', salt, dh, ...keys });
}
