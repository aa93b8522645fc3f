// The interface of the transport: takes a push request, reports its result.
import type { DeskbellError } from '../errors/deskbell-error.ts';
import type { PushServices } from '../protocol/endpoint-policy.ts';
import type { FailureReason, Outcome, PushResponse } from '../protocol/outcome.ts';
import type { AddressSettings } from './address-settings.ts';
import type { Clock } from './clock.ts';

/**
 * Header fields of a push request, names in lower case. Messages with equal fields share the object: its encoding is cached by identity.
 */
export type PushHeaders = Readonly<Record<string, string>>;

/** One POST to a push service (RFC 8030 §5). */
export interface PushRequest {
  /** In the form of `URL.origin`: without the scheme's default port. */
  readonly origin: string;
  /** Path and query exactly as in the endpoint. */
  readonly path: string;
  readonly headers: PushHeaders;
  /** aes128gcm body, or empty for a push without payload. */
  readonly body: Uint8Array;
}

/** The answer of a push service, and its meaning as `outcome`. */
export interface Answer {
  readonly kind: 'response';
  readonly response: PushResponse;
  readonly outcome: Outcome;
}

/** The result of one request. Faults are values: nothing throws. */
export type TransportResult =
  | Answer
  /** `inDoubt`: the request may have reached the push service, so a repeat may show the message twice. */
  | { readonly kind: 'failure'; readonly error: DeskbellError; readonly inDoubt: boolean }
  /** The origin must not be contacted now (breaker open, told to wait, queue full) or the request was withdrawn: nothing was sent. */
  | {
      readonly kind: 'deferred';
      readonly retryAfterMs: number;
      readonly reason: string;
      /** Set if waiting alone may not fix it: what keeps everything from being sent there. Operators should know. */
      readonly obstacle: FailureReason | undefined;
    };

/** Why nothing may be sent to a push service, and for how long. */
export interface Deferral {
  readonly waitMs: number;
  readonly reason: string;
  readonly obstacle: FailureReason | undefined;
}

/** The state of a push service in a transport. */
export interface OriginSnapshot {
  readonly origin: string;
  /** Open connections. */
  readonly connections: number;
  readonly inFlight: number;
  readonly queued: number;
  /** How many requests may be in flight now. */
  readonly maxInFlight: number;
  /** Moving average; absent before the first answer. */
  readonly latencyMs: number | undefined;
  readonly answers: number;
  /** Answers that asked for fewer requests. */
  readonly throttled: number;
  readonly breaker: 'closed' | 'open' | 'half-open';
  /** Why the breaker is not closed. */
  readonly breakerReason: string | undefined;
  /** How long every attempt has failed without an answer, if that is too long for an accident. */
  readonly unreachableMs: number | undefined;
  readonly obstacle: FailureReason | undefined;
}

export interface Sending {
  /** When it was written to a connection, by the monotonic clock; 0 if it was not. */
  readonly writtenAtMs: number;
}

/** How fast a push service accepts requests. */
export interface Pace {
  /** How many more can be given to the transport without waiting there for long. */
  readonly room: number;
  /** Requests per millisecond, estimated from the answers. */
  readonly perMs: number;
}

export interface Transport {
  /**
   * Sends one request; `done` is called exactly once, never before `send` returns. Requests of one tick are written together.
   *
   * @param timeoutMs for everything: waiting, connecting, and the answer. Without it only the single steps are limited
   */
  send(request: PushRequest, done: (result: TransportResult) => void, timeoutMs?: number): Sending;
  /** @param origin as `URL.origin` gives it */
  pace(origin: string): Pace;
  /** @returns why nothing may be sent to the push service now; `undefined` if something may */
  deferral(origin: string): Deferral | undefined;
  /** The push services that have asked to wait (`Retry-After`) since the last call, and for how long from now. */
  takeWaits(): ReadonlyMap<string, number>;
  /** Sends nothing to a push service for this long, because it has asked another sender to wait. */
  pause(origin: string, waitMs: number): void;
  /** Apparently nothing can be reached from here: this machine has no network, and no push service is connected. */
  isCutOff(): boolean;
  /** The state of each push service in use. */
  snapshot(): readonly OriginSnapshot[];
  /** Hands back what waits for its turn, as deferred; what is in flight is still answered. */
  withdraw(): void;
  /** Waits at most `graceMs` (default 10 000) for requests in flight, then closes every connection. */
  close(graceMs?: number): Promise<void>;
}

/** An IP address of a push service's host. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** How connections to push services are made: hosts, trust, proxy, time limits. */
export interface TransportOptions extends AddressSettings {
  /**
   * Origins that the operator added, e.g. `http://127.0.0.1:8090`: admitted over http and on any address. `public`, alone or among them,
   * admits any public host over https.
   */
  readonly pushServices?: PushServices;
  /** Certificates of authorities to trust besides Node's, PEM. */
  readonly ca?: readonly string[];
  /** Proxy URL for https and http origins; `undefined` for none. The environment is not read here. */
  readonly proxy?: string | undefined;
  /** Hosts, or domains with all hosts under them, that are reached without the proxy; `*` for all. Loopback always is. */
  readonly noProxy?: readonly string[] | undefined;
  readonly connectTimeoutMs?: number;
  readonly responseTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  /** A monotonic clock in milliseconds: time limits, pacing and circuit breakers. */
  readonly monotonicNow?: Clock['monotonicNow'];
  readonly startTimer?: Clock['startTimer'];
  /** Milliseconds since 1970: `Retry-After` dates, tokens. A sender with a store uses the store's time. */
  readonly now?: () => number;
  /** Returns numbers from 0 to below 1, which spread retries. */
  readonly random?: () => number;
  /** Replaces the system's resolver (tests inject DNS answers with it). */
  readonly resolve?: (hostname: string) => Promise<readonly ResolvedAddress[]>;
  /** Connects to another address than the origin's own (tests use it for fixed hosts); skips the guard. */
  readonly connectOverride?: (origin: string) => { readonly host: string; readonly port: number } | undefined;
}
