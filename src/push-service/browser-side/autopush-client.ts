// The user agent's side of the autopush protocol: one WebSocket, which is opened again when it is lost.
//
// States: CONNECTED (hello was answered) ⇄ DISCONNECTED (reconnects; after `disconnect()` only with `connect()`).
import type { ClientRequest, IncomingMessage } from 'node:http';
import { getCACertificates } from 'node:tls';
import { WebSocket } from 'ws';

export type Frame = Readonly<Record<string, unknown>>;

export interface AutopushClientOptions {
  readonly webSocketUrl: string;
  /** Certificate authorities to trust besides Node's own, as PEM. */
  readonly ca: readonly string[];
  readonly onNotification: (frame: Frame) => void;
  /** Called when the push service no longer knows this user agent. Its subscriptions are then lost. */
  readonly onForgotten: () => void;
}

const subprotocol = 'push-notification';
const requestTimeoutMs = 10_000;
const firstReconnectDelayMs = 100;
const maxReconnectDelayMs = 5_000;

export class AutopushClient {
  readonly #options: AutopushClientOptions;
  readonly #expected = new Map<string, (frame: Frame) => void>();
  uaid = '';
  #socket: WebSocket | undefined;
  #opening: Promise<void> | undefined;
  #reconnects = false;
  #reconnectDelayMs = firstReconnectDelayMs;
  #reconnectTimer: NodeJS.Timeout | undefined;

  constructor(options: AutopushClientOptions) {
    this.#options = options;
  }

  /** @throws {Error} if the push service cannot be reached or does not answer the hello */
  async connect(): Promise<void> {
    clearTimeout(this.#reconnectTimer);
    await this.#open();
    this.#reconnects = true;
  }

  async disconnect(): Promise<void> {
    this.#reconnects = false;
    clearTimeout(this.#reconnectTimer);
    const socket = this.#socket;
    if (socket === undefined) return;
    const isClosed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume(); // a paused socket would not see the other side's close
    socket.close(1000);
    await isClosed;
  }

  send(frame: Frame): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  /**
   * Sends a frame and waits for the response.
   *
   * @throws {Error} if the client is not connected, the connection is lost, or there is no response in time
   */
  async request(messageType: string, further: Frame): Promise<Frame> {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) throw new Error('the user agent is not connected');
    const frame = { messageType, ...further };
    const name = nameOf(frame);
    const { promise, resolve, reject } = Promise.withResolvers<Frame>();
    const fail = (): void => reject(new Error(`no answer to ${messageType}: the connection was closed`));
    const timer = setTimeout(() => reject(new Error(`no answer to ${messageType}`)), requestTimeoutMs);
    socket.once('close', fail);
    this.#expected.set(name, resolve);
    try {
      this.send(frame);
      return await promise;
    } finally {
      clearTimeout(timer);
      socket.off('close', fail);
      this.#expected.delete(name);
    }
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** Connects. Concurrent calls share one attempt. */
  async #open(): Promise<void> {
    if (this.#opening === undefined && this.#socket?.readyState === WebSocket.OPEN) return;
    this.#opening ??= this.#openSocket().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
  }

  async #openSocket(): Promise<void> {
    const { webSocketUrl, ca } = this.#options;
    const trusted = ca.length === 0 ? undefined : [...getCACertificates('default'), ...ca];
    const socket = new WebSocket(webSocketUrl, { ca: trusted, finishRequest: offerSubprotocol });
    this.#socket = socket;
    socket.on('message', (data) => this.#receive(JSON.parse(String(data)) as Frame));
    socket.on('close', () => {
      if (this.#socket !== socket) return; // a newer connection has replaced it
      this.#socket = undefined;
      this.#reconnectLater();
    });
    try {
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
      socket.on('error', () => socket.terminate());
      const known = this.uaid === '' ? {} : { uaid: this.uaid };
      const { uaid } = await this.request('hello', { use_webpush: true, broadcasts: {}, ...known });
      if (uaid !== this.uaid) this.#options.onForgotten();
      this.uaid = String(uaid);
      this.#reconnectDelayMs = firstReconnectDelayMs;
    } catch (cause) {
      socket.terminate();
      // the error has no message if several addresses refused the connection
      const { message, code } = cause as NodeJS.ErrnoException;
      throw new Error(`the push service at ${webSocketUrl} cannot be used (${message || code})`, { cause });
    }
  }

  #reconnectLater(): void {
    if (!this.#reconnects) return;
    clearTimeout(this.#reconnectTimer);
    this.#reconnectTimer = setTimeout(() => {
      this.#open().catch(() => this.#reconnectLater());
    }, this.#reconnectDelayMs);
    this.#reconnectDelayMs = Math.min(this.#reconnectDelayMs * 2, maxReconnectDelayMs);
  }

  #receive(frame: Frame): void {
    if (frame['messageType'] === 'notification') this.#options.onNotification(frame);
    else this.#expected.get(nameOf(frame))?.(frame);
  }
}

/**
 * Offers the autopush subprotocol. Mozilla's autopush-rs selects no subprotocol. Like Firefox, we keep the connection,
 * which `ws` would end if it had made the offer.
 */
function offerSubprotocol(request: ClientRequest): void {
  request.setHeader('sec-websocket-protocol', subprotocol);
  request.prependOnceListener('upgrade', ({ headers }: IncomingMessage) => {
    if (headers['sec-websocket-protocol'] === subprotocol) delete headers['sec-websocket-protocol'];
  });
  request.end();
}

function nameOf({ messageType, channelID }: Frame): string {
  return `${String(messageType)} ${String(channelID)}`;
}
