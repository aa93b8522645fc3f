import type { EventCounts, PushServiceEvent } from './events.ts';
import type { Faults } from './faults.ts';
import type { Limits } from './limits.ts';
import type { PushSubscriptionJson, SinkTally } from './sender-side/sender-api.ts';
import type { UserAgentStatistics } from './browser-side/user-agents.ts';

/** Options of `startPushService`. */
export interface PushServiceOptions {
  /** Address to listen on. Default: `127.0.0.1`. */
  readonly host?: string;
  /** Default: 0, the system picks one. */
  readonly port?: number;
  /**
   * `true` makes a certificate for loopback, to be trusted through `PushService.ca`; or give key and certificate as
   * PEM.
   */
  readonly tls?: boolean | { readonly key: string; readonly cert: string };
  /** Origin of endpoints and of VAPID's `aud`, if it differs from `host` and `port`. */
  readonly origin?: string;
  readonly limits?: Partial<Limits>;
  /** False admits bodies that no user agent could decrypt. By default their aes128gcm header is checked. */
  readonly checksBodies?: boolean;
  /** Called at once with each event. */
  readonly onEvent?: ((event: PushServiceEvent) => void) | undefined;
  /** The clock, milliseconds since 1970. */
  readonly now?: () => number;
}

export interface SinkOptions {
  /** The only key that may send to them, base64url. */
  readonly vapidPublicKey?: string | undefined;
}

/** Counts since the start. */
export interface Statistics extends EventCounts, UserAgentStatistics {
  readonly sinks: number;
}

/** A running push service. Made by `startPushService`. */
export interface PushService {
  /** The start of every endpoint, such as `http://127.0.0.1:8090`. */
  readonly origin: string;
  /** For user agents: Firefox's `dom.push.serverURL`. */
  readonly webSocketUrl: string;
  /** For `curl` and other processes on this machine. */
  readonly controlUrl: string;
  readonly port: number;
  /** PEM certificate for clients to trust if the push service made one, else empty. */
  readonly ca: readonly string[];
  /** Injects faults: what goes wrong, for whom, how often. */
  readonly faults: Faults;
  /**
   * Makes subscriptions without a user agent, each with its own keys, to be read one by one: they count their messages
   * and forget them.
   *
   * @throws {RangeError} `count` is not a positive integer, or there would be more than `limits.maxSinks`
   * @throws {TypeError} `vapidPublicKey` is not a P-256 point
   */
  createSinks(count: number, options?: SinkOptions): Iterable<PushSubscriptionJson>;
  /** Messages that the sinks have counted, by batch. */
  tallySinks(): SinkTally[];
  clearSinks(): void;
  /** Ends a subscription as push services do by themselves: senders get 410, the user agent is not told. */
  expire(endpoint: string): boolean;
  /** Drops the user agents' connections; they reconnect with their `uaid`. */
  disconnectUserAgents(): void;
  statistics(): Statistics;
  /** Ends every connection and frees the port; undelivered messages are lost. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
