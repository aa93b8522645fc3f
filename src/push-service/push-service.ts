// The types of the local push service, for programs that start one.
import type { EventCounts, PushServiceEvent } from './events.ts';
import type { Faults } from './faults.ts';
import type { Limits } from './limits.ts';
import type { PushSubscriptionJson, SinkTally } from './sender-side/sender-api.ts';
import type { UserAgentStatistics } from './browser-side/user-agents.ts';

/** `startPushService` takes these options. */
export interface PushServiceOptions {
  /** Address to listen on. Default: `127.0.0.1`. */
  readonly host?: string;
  /** Default: 0, which lets the system choose a port. */
  readonly port?: number;
  /**
   * `true` makes a certificate for loopback, which clients can trust through `PushService.ca`. Alternatively, give your
   * own key and certificate as PEM.
   */
  readonly tls?: boolean | { readonly key: string; readonly cert: string };
  /** Origin in endpoints and in VAPID's `aud`, if it differs from `host` and `port`. */
  readonly origin?: string;
  readonly limits?: Partial<Limits>;
  /** If false, bodies that no user agent could decrypt are accepted. By default, the aes128gcm header is checked. */
  readonly checksBodies?: boolean;
  /** Called synchronously for each event. */
  readonly onEvent?: ((event: PushServiceEvent) => void) | undefined;
  /** Returns milliseconds since 1970. */
  readonly now?: () => number;
}

export interface SinkOptions {
  /** Only the owner of this VAPID key, in base64url, may send to these subscriptions. */
  readonly vapidPublicKey?: string | undefined;
}

/** Counts of events since the push service started. */
export interface Statistics extends EventCounts, UserAgentStatistics {
  readonly sinks: number;
}

/** A running push service, as `startPushService` returns it. */
export interface PushService {
  /** The first part of every endpoint, such as `http://127.0.0.1:8090`. */
  readonly origin: string;
  /** The URL for user agents. Firefox needs it as `dom.push.serverURL`. */
  readonly webSocketUrl: string;
  /** The URL of the control resource, for `curl` and other processes on this machine. */
  readonly controlUrl: string;
  readonly port: number;
  /** The PEM certificate that clients should trust. Empty if the push service did not create a certificate. */
  readonly ca: readonly string[];
  /** Injects faults: what fails, for whom, and how many times. */
  readonly faults: Faults;
  /**
   * Makes sinks: subscriptions without a user agent, which count their messages and forget them. Each sink has its own
   * keys. Sinks are made one by one as the iterable is read.
   *
   * @throws {RangeError} if `count` is not a positive integer, or there would be more than `limits.maxSinks`
   * @throws {TypeError} if `vapidPublicKey` is not a P-256 point
   */
  createSinks(count: number, options?: SinkOptions): Iterable<PushSubscriptionJson>;
  /** Returns how many messages the sinks have counted, by batch. */
  tallySinks(): SinkTally[];
  clearSinks(): void;
  /** Ends a subscription on the push service's side. Senders get a 410, but the user agent gets no message. */
  expire(endpoint: string): boolean;
  /** Drops the user agents' connections. They reconnect with their `uaid`. */
  disconnectUserAgents(): void;
  statistics(): Statistics;
  /** Ends every connection and frees the port. Undelivered messages are lost. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
