// What the local push service offers. Types only.
import type { EventCounts, PushServiceEvent } from './events.ts';
import type { Faults } from './faults/fault-plan.ts';
import type { Limits } from './limits.ts';
import type { PushSubscriptionJson, SinkTally } from './sender-side/sinks.ts';
import type { UserAgentStatistics } from './browser-side/user-agents.ts';

/** Of `startPushService`. */
export interface PushServiceOptions {
  /** Address to listen on, by default `127.0.0.1`. */
  readonly host?: string;
  /** By default 0: the system picks one. */
  readonly port?: number;
  /** `true` makes a certificate for loopback, to be trusted through `PushService.ca`; or key and certificate as PEM. */
  readonly tls?: boolean | { readonly key: string; readonly cert: string };
  /** Origin that endpoints begin with and that VAPID's `aud` must name, where it is not `host` and `port`. */
  readonly origin?: string;
  readonly limits?: Partial<Limits>;
  /** False admits bodies that no user agent could decrypt; by default their aes128gcm header is checked. */
  readonly checksBodies?: boolean;
  /** Called with each event, at once. */
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
  /** What every endpoint begins with, such as `http://127.0.0.1:8090`. */
  readonly origin: string;
  /** For user agents: Firefox takes it as `dom.push.serverURL`. */
  readonly webSocketUrl: string;
  /** For `curl` and other processes on this machine. */
  readonly controlUrl: string;
  readonly port: number;
  /** PEM: the certificate that a client needs to trust where the push service made one; else empty. */
  readonly ca: readonly string[];
  /** Injects faults: what goes wrong, for whom, how often. */
  readonly faults: Faults;
  /**
   * Makes subscriptions without a user agent, each with keys of its own, to be read one by one: they count what
   * they are sent and forget it.
   *
   * @throws {RangeError} `count` is not a positive integer, or there would be more than `limits.maxSinks`
   * @throws {TypeError} `vapidPublicKey` is not a P-256 point
   */
  createSinks(count: number, options?: SinkOptions): Iterable<PushSubscriptionJson>;
  /** What the sinks have counted, by batch. */
  tallySinks(): SinkTally[];
  clearSinks(): void;
  /** Ends a subscription as a push service does on its own: senders get 410, the user agent is not told. */
  expire(endpoint: string): boolean;
  /** Drops the user agents' connections; they reconnect with their `uaid`. */
  disconnectUserAgents(): void;
  statistics(): Statistics;
  /** Ends every connection and frees the port; what waited for delivery is lost. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
