// A user agent for tests and demonstrations: what a browser does between its push service and its service worker.
// It shows nothing and keeps nothing on disk.
//
// States: CONNECTED (hello was answered) ⇄ AWAY (connection lost, tries again by itself; or `disconnect()`ed, waits
// for `connect()`) → CLOSED. What comes while it is away waits at the push service.
import { createECDH, type ECDH, randomBytes, randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { decryptPushMessage, type NotificationHeaders } from './decryption.ts';
import { MessageQueue } from './message-queue.ts';
import type { PushSubscriptionJson } from './sinks.ts';

export interface UserAgentOptions {
  /** `PushService.webSocketUrl`. */
  readonly webSocketUrl: string;
  /** Authorities to trust for `wss:`, PEM: `PushService.ca`. */
  readonly ca?: string;
  /** False leaves every message unacknowledged, so that it comes again after each reconnect. */
  readonly acknowledges?: boolean;
}

export interface ReceivedMessage {
  readonly endpoint: string;
  /** The push service's name for this message. */
  readonly version: string;
  /** Decrypted; `undefined` for a push without payload. */
  readonly data: Uint8Array | undefined;
  /** The payload as UTF-8, `''` without one. */
  text(): string;
  /** @throws {SyntaxError} the payload is not JSON */
  json(): unknown;
}

export interface UserAgent {
  /** The push service's name for this user agent; another one means that all subscriptions were lost. */
  readonly uaid: string;
  /** Endpoints of the subscriptions that it has. */
  readonly endpoints: readonly string[];
  /**
   * @param applicationServerKey VAPID public key, base64url: only its owner may then send
   * @throws {Error} the push service refuses; the message says why
   */
  subscribe(applicationServerKey?: string): Promise<PushSubscriptionJson>;
  /** False where there is no such subscription. */
  unsubscribe(endpoint: string): Promise<boolean>;
  /** Each message once, however often it is delivered. What cannot be decrypted is thrown at the reader. */
  readonly messages: AsyncIterable<ReceivedMessage>;
  /**
   * Waits for one message, for tests that expect one.
   *
   * @param timeoutMs by default 10 000
   * @throws {Error} none came in time, the user agent was closed, or the message cannot be decrypted
   */
  nextMessage(timeoutMs?: number): Promise<ReceivedMessage>;
  /** Drops the connection and stays away. */
  disconnect(): Promise<void>;
  /** Comes back after `disconnect()`, with its `uaid`. */
  connect(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a user agent and connects it.
 *
 * @throws {Error} the push service cannot be reached or does not answer the hello
 */
export async function createUserAgent(options: UserAgentOptions): Promise<UserAgent> {
  const agent = new AutopushUserAgent(options);
  await agent.connect();
  return agent;
}

interface Channel extends PushSubscriptionJson {
  readonly channelId: string;
  readonly privateKey: ECDH;
  readonly authSecret: Buffer;
}

type Frame = Readonly<Record<string, unknown>>;

const maxQueuedMessages = 1000;
const maxRememberedVersions = 10_000;
const requestTimeoutMs = 10_000;
const firstReconnectDelayMs = 100;
const maxReconnectDelayMs = 5_000;

class AutopushUserAgent implements UserAgent {
  readonly messages: MessageQueue<ReceivedMessage>;
  readonly #options: UserAgentOptions;
  readonly #channels = new Map<string, Channel>();
  /** Answers that are waited for, by messageType and channelID. */
  readonly #expected = new Map<string, (frame: Frame) => void>();
  readonly #seenVersions = new Set<string>();
  #socket: WebSocket | undefined;
  #uaid = '';
  #opening: Promise<void> | undefined;
  #staysConnected = false;
  #reconnectDelayMs = firstReconnectDelayMs;
  #reconnectTimer: NodeJS.Timeout | undefined;

  constructor(options: UserAgentOptions) {
    this.#options = options;
    this.messages = new MessageQueue(() => {
      if (this.messages.size < maxQueuedMessages) this.#socket?.resume();
    });
  }

  get uaid(): string {
    return this.#uaid;
  }

  get endpoints(): readonly string[] {
    return [...this.#channels.values()].map(({ endpoint }) => endpoint);
  }

  async connect(): Promise<void> {
    clearTimeout(this.#reconnectTimer);
    await this.#open();
    this.#staysConnected = true;
  }

  async subscribe(applicationServerKey?: string): Promise<PushSubscriptionJson> {
    const channelId = randomUUID();
    const privateKey = createECDH('prime256v1');
    const p256dh = privateKey.generateKeys('base64url');
    const authSecret = randomBytes(16);
    const key = applicationServerKey === undefined ? {} : { key: applicationServerKey };
    const answer = await this.#request('register', channelId, key);
    if (answer['status'] !== 200) {
      throw new Error(
        `the push service refuses to register: ${String(answer['reason'] ?? answer['status'])}`,
      );
    }
    const endpoint = String(answer['pushEndpoint']);
    const auth = authSecret.toString('base64url');
    this.#channels.set(channelId, { endpoint, p256dh, auth, channelId, privateKey, authSecret });
    return { endpoint, p256dh, auth };
  }

  async unsubscribe(endpoint: string): Promise<boolean> {
    const channel = [...this.#channels.values()].find((candidate) => candidate.endpoint === endpoint);
    if (channel === undefined) return false;
    await this.#request('unregister', channel.channelId, { code: 200 });
    return this.#channels.delete(channel.channelId);
  }

  async nextMessage(timeoutMs = 10_000): Promise<ReceivedMessage> {
    const result = await this.messages.next(timeoutMs);
    if (result.done === true) throw new Error('the user agent is closed');
    return result.value;
  }

  async disconnect(): Promise<void> {
    this.#staysConnected = false;
    clearTimeout(this.#reconnectTimer);
    const socket = this.#socket;
    if (socket === undefined) return;
    const isClosed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume(); // a paused socket would not see the other side's close
    socket.close(1000);
    await isClosed;
  }

  async close(): Promise<void> {
    await this.disconnect();
    this.messages.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Connects and says hello, once: whoever asks meanwhile waits for the same connection. */
  async #open(): Promise<void> {
    if (this.#socket?.readyState === WebSocket.OPEN) return;
    this.#opening ??= this.#openSocket().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
  }

  async #openSocket(): Promise<void> {
    const { webSocketUrl, ca } = this.#options;
    const socket = new WebSocket(webSocketUrl, 'push-notification', ca === undefined ? {} : { ca });
    this.#socket = socket;
    socket.on('message', (data) => this.#receive(JSON.parse(String(data)) as Frame));
    socket.on('close', () => {
      this.#socket = undefined;
      this.#reconnectLater();
    });
    try {
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
      socket.on('error', () => socket.terminate());
      const uaid = this.#uaid === '' ? {} : { uaid: this.#uaid };
      const hello = await this.#request('hello', '', { use_webpush: true, broadcasts: {}, ...uaid });
      this.#greet(String(hello['uaid']));
    } catch (error) {
      socket.terminate();
      throw new Error(`the push service at ${webSocketUrl} cannot be used`, { cause: error });
    }
  }

  #reconnectLater(): void {
    if (!this.#staysConnected) return;
    clearTimeout(this.#reconnectTimer);
    this.#reconnectTimer = setTimeout(() => {
      this.#open().catch(() => this.#reconnectLater());
    }, this.#reconnectDelayMs);
    this.#reconnectDelayMs = Math.min(this.#reconnectDelayMs * 2, maxReconnectDelayMs);
  }

  #send(frame: Frame): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  async #request(messageType: string, channelID: string, further: Frame): Promise<Frame> {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) throw new Error('the user agent is not connected');
    const name = `${messageType} ${channelID}`;
    const { promise, resolve, reject } = Promise.withResolvers<Frame>();
    const fail = (): void => reject(new Error(`no answer to ${messageType}: the connection was closed`));
    const timer = setTimeout(() => reject(new Error(`no answer to ${messageType}`)), requestTimeoutMs);
    socket.once('close', fail);
    this.#expected.set(name, resolve);
    try {
      this.#send({ messageType, ...(channelID === '' ? {} : { channelID }), ...further });
      return await promise;
    } finally {
      clearTimeout(timer);
      socket.off('close', fail);
      this.#expected.delete(name);
    }
  }

  #greet(uaid: string): void {
    // the push service does not know us any more: what was subscribed is lost, as in a browser
    if (uaid !== this.#uaid) this.#channels.clear();
    this.#uaid = uaid;
    this.#reconnectDelayMs = firstReconnectDelayMs;
  }

  #receive(frame: Frame): void {
    const { messageType } = frame;
    if (messageType === 'notification') this.#receiveNotification(frame);
    else this.#expected.get(`${String(messageType)} ${String(frame['channelID'] ?? '')}`)?.(frame);
  }

  #receiveNotification(frame: Frame): void {
    const channelID = String(frame['channelID']);
    const version = String(frame['version']);
    const code = this.#take(this.#channels.get(channelID), version, frame);
    if (this.#options.acknowledges === false) return;
    this.#send({ messageType: 'ack', updates: [{ channelID, version, code }] });
  }

  /** @returns 100 delivered, 101 not decrypted, 102 not delivered */
  #take(channel: Channel | undefined, version: string, { data, headers }: Frame): 100 | 101 | 102 {
    if (channel === undefined) return 102;
    if (this.#seenVersions.has(version)) return 100;
    this.#remember(version);
    try {
      const body = typeof data === 'string' ? Buffer.from(data, 'base64url') : undefined;
      const plaintext = body && decryptPushMessage(body, (headers ?? {}) as NotificationHeaders, channel);
      this.messages.push(toMessage(channel.endpoint, version, plaintext));
    } catch (error) {
      this.messages.push(new Error('a push message cannot be decrypted', { cause: error }));
      return 101;
    }
    if (this.messages.size >= maxQueuedMessages) this.#socket?.pause();
    return 100;
  }

  #remember(version: string): void {
    this.#seenVersions.add(version);
    const [oldest] = this.#seenVersions;
    if (this.#seenVersions.size > maxRememberedVersions && oldest !== undefined) {
      this.#seenVersions.delete(oldest);
    }
  }
}

function toMessage(endpoint: string, version: string, plaintext: Buffer | undefined): ReceivedMessage {
  const text = (): string => plaintext?.toString('utf8') ?? '';
  return { endpoint, version, data: plaintext, text, json: () => JSON.parse(text()) as unknown };
}
