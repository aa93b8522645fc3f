// The types of the transport, which sends push requests and reports their results.
import type { DeskbellError } from '../errors/deskbell-error.ts';
import type { PushServices } from '../protocol/endpoint-policy.ts';
import type { FailureReason, Outcome, PushResponse } from '../protocol/outcome.ts';
import type { AddressSettings } from './address-settings.ts';
import type { Clock } from './clock.ts';

/**
 * Header fields of a push request, with names in lower case. Messages with equal fields share one object, whose
 * encoding is cached.
 */
export type PushHeaders = Readonly<Record<string, string>>;

/** One POST to a push service (RFC 8030 §5). */
export interface PushRequest {
  /** In the form of `URL.origin`: without the scheme's default port. */
  readonly origin: string;
  /** Path and query, exactly as in the endpoint. */
  readonly path: string;
  readonly headers: PushHeaders;
  /** aes128gcm body; empty for a push without payload. */
  readonly body: Uint8Array;
}

/** A push service's response, and its meaning as `outcome`. */
export interface Answer {
  readonly kind: 'response';
  readonly response: PushResponse;
  readonly outcome: Outcome;
}

/** The request got no response, because of the network, TLS, a time limit or the address. */
export interface Failure {
  readonly kind: 'failure';
  readonly error: DeskbellError;
  /** What the error means for the message. */
  readonly outcome: Outcome;
  readonly response?: undefined;
}

/**
 * Nothing was sent, because the request was withdrawn or the push service must not be contacted now (breaker open, told
 * to wait, queue full).
 */
export interface Deferral {
  readonly kind: 'deferred';
  /** For how long nothing may be sent. */
  readonly afterMs: number;
  readonly detail: string;
  /** Set if a problem that operators should know about prevents all sending to the push service. */
  readonly obstacle?: FailureReason | undefined;
}

/** The result of one request. Errors are returned as values and never thrown. */
export type TransportResult = Answer | Failure | Deferral;

/** The state of a push service in a transport. */
export interface OriginSnapshot {
  readonly origin: string;
  readonly connections: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly maxInFlight: number;
  /** Moving average of the latency. Absent before the first response. */
  readonly latencyMs: number | undefined;
  readonly answers: number;
  /** Number of responses that asked for fewer requests. */
  readonly throttled: number;
  readonly breaker: 'closed' | 'open' | 'half-open';
  /** Why the breaker is not closed. */
  readonly breakerReason: string | undefined;
  /** For how long all attempts have failed without a response; `undefined` while the failures may be chance. */
  readonly unreachableMs: number | undefined;
  readonly obstacle: FailureReason | undefined;
}

export interface Sending {
  /** The monotonic time at which the request was written to a connection; 0 if it was not written. */
  readonly writtenAtMs: number;
}

/** How many requests a push service accepts at present, and how fast. */
export interface Pace {
  /** How many more requests the transport can take without making them wait long. */
  readonly room: number;
  /** The rate in requests per millisecond, estimated from the responses. */
  readonly perMs: number;
}

/** An IP address of a push service's host. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/**
 * Options for connecting to push services: allowed hosts, trusted authorities, a proxy and time limits.
 */
export interface TransportOptions extends AddressSettings {
  /**
   * Origins that the operator added, such as `http://127.0.0.1:8090`. They may use http and any address. `public`,
   * alone or in the list, allows any public host over https.
   */
  readonly pushServices?: PushServices;
  /** Certificate authorities to trust besides Node's own, as PEM. */
  readonly ca?: readonly string[];
  /** Proxy URL for https and http origins. `undefined`: no proxy. The transport does not read the environment. */
  readonly proxy?: string | undefined;
  /** Hosts to reach without the proxy. A domain includes its hosts; `*` means all. Loopback never uses the proxy. */
  readonly noProxy?: readonly string[] | undefined;
  readonly connectTimeoutMs?: number;
  readonly responseTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  /** A monotonic clock in milliseconds, for time limits, pacing and circuit breakers. */
  readonly monotonicNow?: Clock['monotonicNow'];
  readonly startTimer?: Clock['startTimer'];
  /** Milliseconds since 1970, for `Retry-After` dates and tokens. A sender with a store uses the store's time. */
  readonly now?: () => number;
  /** Returns numbers from 0 up to but excluding 1, to spread retries. */
  readonly random?: () => number;
  /** Replaces the system's resolver. Tests use it to inject DNS answers. */
  readonly resolve?: (hostname: string) => Promise<readonly ResolvedAddress[]>;
  /** For tests: returns a host to connect to instead of the origin's. The address guard does not check it. */
  readonly connectOverride?: (origin: string) => { readonly host: string; readonly port: number } | undefined;
}
