// The interface of the transport: takes a push request, reports its result. Types only.
import type { DeskbellError } from '../errors/deskbell-error.ts';
import type { PushServices } from '../protocol/endpoint-policy.ts';
import type { FailureReason, Outcome } from '../protocol/outcome.ts';
import type { PushResponse } from '../protocol/push-response.ts';
import type { AddressSettings } from './address-settings.ts';
import type { Clock } from './clock.ts';

/** Header fields of a push request, names in lower case. Messages that share them share the object itself: its
 *  encoding is cached by identity. */
export type PushHeaders = Readonly<Record<string, string>>;

/** One POST to a push service (RFC 8030 §5). */
export interface PushRequest {
  /** As `URL.origin` gives it, with a port that is not the scheme's default. */
  readonly origin: string;
  /** Path and query exactly as in the endpoint. */
  readonly path: string;
  readonly headers: PushHeaders;
  /** aes128gcm body, or empty for a push without payload. */
  readonly body: Uint8Array;
}

/** A push service has answered: `outcome` is what that means. */
export interface Answer {
  readonly kind: 'response';
  readonly response: PushResponse;
  readonly outcome: Outcome;
}

/** What came of one request. Faults are values: nothing throws. */
export type TransportResult =
  | Answer
  /** `inDoubt`: the request may have reached the push service, so that a repeat may show the message twice. */
  | { readonly kind: 'failure'; readonly error: DeskbellError; readonly inDoubt: boolean }
  /** The origin is not to be written to now (breaker open, told to wait, its queue is full) or the request was withdrawn:
   *  nothing was sent. */
  | {
      readonly kind: 'deferred';
      readonly retryAfterMs: number;
      readonly reason: string;
      /** What keeps everything from being sent there, if waiting may not mend it: an operator should be told. */
      readonly obstacle: FailureReason | undefined;
    };

/** Why nothing may be sent to a push service, and for how long. */
export interface Deferral {
  readonly waitMs: number;
  readonly reason: string;
  /** As in `TransportResult`. */
  readonly obstacle: FailureReason | undefined;
}

/** A push service as it is to a transport at one moment. */
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
  /** How long every try has failed without an answer, if that is long enough not to be an accident. */
  readonly unreachableMs: number | undefined;
  readonly obstacle: FailureReason | undefined;
}

/** A request that was given to a transport. */
export interface Sending {
  /** When it was written to a connection, by the monotonic clock; 0 while it is not. */
  readonly writtenAtMs: number;
}

/** How fast a push service takes requests. */
export interface Pace {
  /** How many more may be given to the transport that do not wait there for long. */
  readonly room: number;
  /** Requests a millisecond, as far as the answers show. */
  readonly perMs: number;
}

export interface Transport {
  /**
   * Sends one request; `done` is called exactly once, never before `send` returns. Requests handed in during one tick
   * are written together.
   *
   * @param timeoutMs for all of it: waiting, connecting, and the answer. Without it only the single steps are bounded
   */
  send(request: PushRequest, done: (result: TransportResult) => void, timeoutMs?: number): Sending;
  /** @param origin as `URL.origin` gives it */
  pace(origin: string): Pace;
  /** @returns why nothing may be sent to the push service now; `undefined` if something may */
  deferral(origin: string): Deferral | undefined;
  /** The push services that have asked to wait (`Retry-After`), and how long from now, since this was called before. */
  takeWaits(): ReadonlyMap<string, number>;
  /** Sends a push service nothing for this long, because it has asked another sender to wait. */
  pause(origin: string, waitMs: number): void;
  /** As far as is known, nothing can be reached from here: this machine has no network, and no push service is connected to. */
  isCutOff(): boolean;
  /** What is known of each push service that it has to do with. */
  snapshot(): readonly OriginSnapshot[];
  /** Hands back, as deferred, what waits for its turn: what is in flight is still answered. */
  withdraw(): void;
  /** Waits for what is in flight, at most `graceMs` (default 10 000), then closes every connection. */
  close(graceMs?: number): Promise<void>;
}

/** An IP address of a push service's host. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** How connections to push services are made: hosts, trust, proxy, time-outs. */
export interface TransportOptions extends AddressSettings {
  /** Origins that the operator added, e.g. `http://127.0.0.1:8090`: admitted over http and on any address. `public`, alone or among
   *  them, admits any public host over https. */
  readonly pushServices?: PushServices;
  /** Certificates of authorities to trust besides those that Node trusts, PEM. */
  readonly ca?: readonly string[];
  /** Proxy URL for https and http origins; `undefined` for none. Read from the environment at the edge only. */
  readonly proxy?: string | undefined;
  /** Hosts, or domains with all hosts under them, that are reached without the proxy; `*` for all. Loopback is always. */
  readonly noProxy?: readonly string[] | undefined;
  readonly connectTimeoutMs?: number;
  readonly responseTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  /** Milliseconds that never go backwards: time-outs, pacing and circuit breakers. */
  readonly monotonicNow?: Clock['monotonicNow'];
  readonly startTimer?: Clock['startTimer'];
  /** Milliseconds since 1970: `Retry-After` dates, tokens. A sender with a store takes the store's time. */
  readonly now?: () => number;
  /** From 0 to below 1: spreads retries. */
  readonly random?: () => number;
  /** Replaces the system's resolver (tests inject DNS answers with it). */
  readonly resolve?: (hostname: string) => Promise<readonly ResolvedAddress[]>;
  /** Connects to another place than the origin's own (tests stand in for a fixed host with it); skips the guard. */
  readonly connectOverride?: (origin: string) => { readonly host: string; readonly port: number } | undefined;
}
