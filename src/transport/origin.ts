// One push service: its queue and its connections. admission.ts decides whether and how much it may send.
//
// A request is
//   QUEUED     while it waits for a connection with capacity and for pacing
//   IN FLIGHT  once it was given to a session. Then it gets a response, fails, or is handed back unprocessed
//              → QUEUED again (after a pause if it was refused), or deferred
//
// and ends with exactly one result:
//   response  any status
//   failure   no connection could be made (nothing was sent), or there was no response (in doubt)
//   deferred  the breaker was open or opened in the meantime, or the queue was full: nothing was processed
//
// Only one connection is opened until ALPN has selected the protocol. After that, there are as many as needed for the
// requests that should be in flight, up to a limit. An HTTP/2 connection carries at most a hundred
// requests; an HTTP/1.1 connection carries one.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { type PushResponse, readFailure, readResponse } from '../protocol/outcome.ts';
import { Admission, type AdmissionSettings } from './admission.ts';
import { unlistedLimits } from '../protocol/endpoint-policy.ts';
import type { ConnectSettings, Protocol } from './connect.ts';
import { toFault } from './connection-errors.ts';
import type { Timer } from './clock.ts';
import { settle, type Exchange, type Session, type SessionEvents, type SessionSettings } from './exchange.ts';
import { Fifo } from './fifo.ts';
import { maxStreams } from './http2/protocol.ts';
import type { OpenSession } from './open-session.ts';
import { maxLimit } from './pacing.ts';
import type { Answer, Deferral, OriginSnapshot, Pace } from './transport.ts';

export const maxQueued = 4096;
/**
 * Maximum number of connections per thread. With a round trip of 100 ms, thirty connections of a hundred streams carry
 * 30,000 requests a second, more than a thread sends. A connection is opened when pacing allows more requests than the
 * open connections carry. The few push services without HTTP/2 have fewer requests in flight.
 */
const maxHttp2Connections = maxLimit / maxStreams;
/** Maximum number of connections before the first SETTINGS arrive, because the push service may allow no streams. */
const maxGreetingConnections = 2;
const maxHttp1Connections = 32;
/** A request fails after this many refusals. A request that was handed back for another reason was not refused. */
const maxTimesRefused = 10;
/** The pause after the first refusal of a request. Each further refusal doubles it. */
const firstRefusalPauseMs = 20;
/** The pause after a failed connection attempt, if other connections are open. */
const reconnectAfterMs = 1000;
const queueFullRetryMs = 250;

export interface OriginSettings extends ConnectSettings, SessionSettings, AdmissionSettings {
  /** Returns numbers from 0 up to but excluding 1, like `Math.random`. */
  readonly random: () => number;
  /** Returns milliseconds since 1970, for a `Retry-After` that is a date. */
  readonly now: () => number;
  readonly open: OpenSession;
}

export class Origin implements SessionEvents {
  readonly #url: URL;
  readonly #settings: OriginSettings;
  readonly #isUnlisted: boolean;
  readonly #queue = new Fifo<Exchange>();
  /** Requests that the push service handed back. They are sent before the queue. */
  readonly #handedBack = new Fifo<Exchange>();
  /** Requests that the push service refused. After a pause, they move to `#handedBack`. */
  readonly #refused = new Fifo<Exchange>();
  readonly #sessions = new Set<Session>();
  readonly admission: Admission;
  readonly #aborted = new AbortController();
  readonly #whenIdle: (() => void)[] = [];
  #protocol: Protocol | undefined;
  #inFlight = 0;
  #connecting = 0;
  /** The timer after a failed connection attempt. While it runs, no further connection is opened. */
  #connectPause: Timer | undefined;
  /** The timer after a refused request. While it runs, refused requests are not sent again. */
  #refusalPause: Timer | undefined;
  /** The timer that delays the next request, if requests are spread over time. */
  #pace: Timer | undefined;
  /**
   * The timer that ends a hold. When the push service asks to wait, a hold delays new requests until responses to
   * requests in flight show whether only one subscription must wait.
   */
  #hold: Timer | undefined;
  #isPumpDue = false;
  #lastAccepted: Answer | undefined;

  constructor(url: URL, settings: OriginSettings) {
    this.#url = url;
    this.#settings = settings;
    this.#isUnlisted = settings.isUnlisted(url.origin);
    this.admission = new Admission(url, settings);
  }

  get #queued(): number {
    return this.#queue.length + this.#handedBack.length + this.#refused.length;
  }

  get pace(): Pace {
    return this.admission.pace(this.#inFlight, this.#queued);
  }

  /** True if the origin may be forgotten, because it has no requests and no connections. */
  get isIdle(): boolean {
    return this.#queued + this.#inFlight + this.#connecting + this.#sessions.size === 0;
  }

  get isConnected(): boolean {
    return this.#sessions.size > 0;
  }

  /** Number of sessions that accept requests now or will soon. */
  get #openSessions(): number {
    let open = 0;
    for (const session of this.#sessions) open += session.isOpen ? 1 : 0;
    return open;
  }

  send(exchange: Exchange): void {
    if (this.#queue.length >= maxQueued) {
      const detail = `${this.#url.host} has ${maxQueued} messages waiting already.`;
      this.#defer(exchange, { kind: 'deferred', afterMs: queueFullRetryMs, detail });
      return;
    }
    const deferral = this.admission.admit(exchange);
    if (deferral !== undefined) this.#defer(exchange, deferral);
    else {
      this.#queue.push(exchange);
      this.#pumpSoon();
    }
  }

  snapshot(): OriginSnapshot {
    return {
      origin: this.#url.origin,
      connections: this.#openSessions,
      inFlight: this.#inFlight,
      queued: this.#queued,
      ...this.admission.snapshot(),
    };
  }

  /** Ends a request that has timed out. A queued request was not sent; a request in flight may have arrived. */
  expire(exchange: Exchange, error: DeskbellError): void {
    const wasQueued = [this.#queue, this.#handedBack, this.#refused].some((queue) => queue.remove(exchange));
    if (wasQueued) this.admission.breaker.recordUnsent(exchange);
    this.#settleFailed(exchange, error, !wasQueued);
  }

  pause(waitMs: number): void {
    this.admission.pause(waitMs);
    this.#deferQueued();
  }

  /** Hands back all queued requests, to be sent later. */
  withdraw(): void {
    const deferral = { kind: 'deferred', afterMs: 0, detail: 'Sending was stopped.' } as const;
    this.#endQueued((exchange) => this.#defer(exchange, deferral));
  }

  /** Resolves when nothing is queued or in flight. */
  async idle(): Promise<void> {
    if (this.#queued + this.#inFlight === 0) return;
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /** Ends everything at once. Queued requests fail as not sent; requests in flight fail as in doubt. */
  destroy(error: DeskbellError): void {
    this.#aborted.abort(error);
    this.#connectPause?.cancel();
    this.#refusalPause?.cancel();
    this.#pace?.cancel();
    this.#hold?.cancel();
    this.#failQueued(error);
    for (const session of this.#sessions) session.destroy(error);
  }

  answered(exchange: Exchange, response: PushResponse, latencyMs: number): void {
    this.#inFlight -= 1;
    const answer = this.#readAnswer(response);
    if (this.admission.recordAnswer(exchange, answer, latencyMs)) this.#deferQueued();
    this.#lookAtHold();
    this.#settle(exchange, answer);
    if (this.#queued > 0) this.#pumpSoon();
  }

  failed(exchange: Exchange, error: DeskbellError, inDoubt: boolean): void {
    this.#inFlight -= 1;
    this.#fail(exchange, error, inDoubt);
    this.#lookAtHold();
    this.#pumpSoon();
  }

  handedBack(exchange: Exchange, refusal: string | undefined): void {
    this.#inFlight -= 1;
    if (exchange.isSettled) {
      this.admission.breaker.recordUnsent(exchange);
      this.#reportIdle();
    } else if (refusal === undefined) this.#queueAgain(exchange, this.#handedBack);
    else this.#takeRefused(exchange, `${this.#url.host} refuses requests (${refusal}).`);
    this.#lookAtHold();
    this.#pumpSoon();
  }

  changed(): void {
    this.#pumpSoon();
  }

  closed(session: Session, reason: DeskbellError): void {
    this.#sessions.delete(session);
    if (this.admission.recordHttpFault(reason)) this.#deferQueued();
    // the session was opened for waiting requests but accepted none, so opening another would not help
    if (!session.wasUsed && this.#queued > 0) this.#connectionFailed(reason);
    this.#pumpSoon();
  }

  /** Reads a response. Sessions return the same object for equal responses, so the last accepted answer is reused. */
  #readAnswer(response: PushResponse): Answer {
    if (this.#lastAccepted?.response === response) return this.#lastAccepted;
    const context = { nowMs: this.#settings.now(), isUnlisted: this.#isUnlisted };
    const outcome = readResponse(this.#url.origin, response, context);
    const answer: Answer = { kind: 'response', response, outcome };
    // keep only accepted responses: the meaning of others may depend on the current time
    if (outcome.kind === 'accepted') this.#lastAccepted = answer;
    return answer;
  }

  /** Queues a request again, unless sending must stop. */
  #queueAgain(exchange: Exchange, queue: Fifo<Exchange>): void {
    exchange.writtenAtMs = 0;
    this.admission.breaker.recordUnsent(exchange);
    const deferral = this.admission.admit(exchange);
    if (deferral === undefined) queue.push(exchange);
    else this.#defer(exchange, deferral);
  }

  #takeRefused(exchange: Exchange, reason: string): void {
    const error = new DeskbellError('ERR_CONNECTION', reason);
    exchange.timesRefused += 1;
    if (exchange.timesRefused >= maxTimesRefused) this.#fail(exchange, error, false);
    else {
      this.#pauseAfterRefusal(exchange, error);
      this.#queueAgain(exchange, this.#refused);
    }
  }

  /**
   * Handles a refused request: the push service is overloaded, or its SETTINGS allow fewer streams than were already
   * sent. Refused requests are sent again after a pause, unless the breaker opens. Other requests do not wait.
   */
  #pauseAfterRefusal(exchange: Exchange, error: DeskbellError): void {
    if (this.admission.recordRefusedStream(exchange, error)) this.#deferQueued();
    const resume = (): void => {
      this.#refusalPause = undefined;
      for (let left = this.#refused.length; left > 0; left -= 1)
        this.#handedBack.push(this.#refused.shift()!);
      this.#pumpSoon();
    };
    const pauseMs = firstRefusalPauseMs * 2 ** (exchange.timesRefused - 1);
    this.#refusalPause ??= this.#settings.startTimer(resume, pauseMs, true);
  }

  #fail(exchange: Exchange, error: DeskbellError, inDoubt: boolean): void {
    if (this.admission.recordFailure(exchange, error)) this.#deferQueued();
    this.#settleFailed(exchange, error, inDoubt);
  }

  /** Calls `#pump` after the current tick, so that all requests of the tick are written together. */
  #pumpSoon(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    let free = Math.min(this.admission.free(this.#inFlight), this.#queued - this.#refused.length);
    for (const session of this.#sessions) {
      const added = Math.min(session.freeCapacity, free);
      free -= added;
      this.admission.pacing.spend(added);
      for (let left = added; left > 0 && this.#queued > this.#refused.length; left -= 1)
        this.#add(this.#next(), session);
      session.flush();
    }
    if (this.#queued === this.#refused.length) return;
    if (this.admission.free(this.#inFlight) === 0) {
      this.admission.pacing.recordLimitReached();
      this.#pumpInPace();
    }
    this.#openConnections();
  }

  /** Gives a request to a session. A session that unexpectedly throws is closed, and the process continues. */
  #add(exchange: Exchange, session: Session): void {
    this.#inFlight += 1;
    try {
      session.add(exchange);
    } catch (thrown) {
      const fault = toFault(this.#url.host, thrown);
      session.destroy(fault);
      if (!exchange.isSettled) this.failed(exchange, fault, false);
    }
  }

  /** Sets a timer if only pacing delays the queue, because then no response will restart the queue. */
  #pumpInPace(): void {
    const { paceMs } = this.admission;
    if (paceMs === undefined) return;
    const resume = (): void => {
      this.#pace = undefined;
      this.#pump();
    };
    this.#pace ??= this.#settings.startTimer(resume, paceMs, true);
  }

  /**
   * Ends a hold after `holdMs`, or at once if no request is in flight whose response could end the hold. After that,
   * all requests wait as long as the push service asked.
   */
  #lookAtHold(): void {
    const { holdMs } = this.admission;
    if (holdMs === undefined) {
      this.#hold?.cancel();
      this.#hold = undefined;
    } else if (this.#inFlight === 0) this.#endHold();
    else this.#hold ??= this.#settings.startTimer(() => this.#endHold(), holdMs, true);
  }

  #endHold(): void {
    this.#hold?.cancel();
    this.#hold = undefined;
    if (this.admission.endHold()) this.#deferQueued();
  }

  #next(): Exchange {
    const exchange = this.#handedBack.shift() ?? this.#queue.shift();
    if (exchange === undefined) throw new Error('More requests were taken than are queued.');
    return exchange;
  }

  #openConnections(): void {
    if (this.#aborted.signal.aborted || this.#connectPause !== undefined) return;
    const wanted = Math.min(this.#inFlight + this.#queued, this.admission.pacing.limitAhead);
    const [session] = this.#sessions;
    const capacity = session?.capacity ?? (this.#protocol === 'http/1.1' ? 1 : maxStreams);
    // if the push service allows no streams, more connections would not help
    const sessions = capacity === 0 ? 0 : Math.min(Math.ceil(wanted / capacity), this.#maxConnections);
    for (let open = this.#openSessions + this.#connecting; open < sessions; open += 1)
      void this.#openConnection();
  }

  get #maxConnections(): number {
    if (this.#protocol === undefined) return 1;
    if (this.#isUnlisted) return unlistedLimits.connections;
    if (this.#protocol === 'http/1.1') return maxHttp1Connections;
    const [session] = this.#sessions;
    return session !== undefined && session.capacity === undefined
      ? maxGreetingConnections
      : maxHttp2Connections;
  }

  async #openConnection(): Promise<void> {
    this.#connecting += 1;
    try {
      const settings = this.#settings;
      const session = await settings.open(this.#url, settings, this, this.#aborted.signal);
      this.#protocol = session.protocol;
      this.#sessions.add(session);
      this.admission.recordConnection();
    } catch (thrown) {
      this.#connectionFailed(toFault(this.#url.host, thrown));
    } finally {
      this.#connecting -= 1;
      this.#pumpSoon();
    }
  }

  /** Fails the waiting requests, unless another connection can serve them. */
  #connectionFailed(error: DeskbellError): void {
    if (this.#openSessions > 0) {
      const resume = (): void => {
        this.#connectPause = undefined;
        this.#pumpSoon();
      };
      this.#connectPause ??= this.#settings.startTimer(resume, reconnectAfterMs, true);
      return;
    }
    // the private address of an unlisted host does not mean that the push service is down
    if (error.code !== 'ERR_ADDRESS_BLOCKED' || !this.#isUnlisted) this.admission.recordConnectFailure(error);
    this.#failQueued(error);
  }

  #failQueued(error: DeskbellError): void {
    this.#endQueued((exchange) => this.#settleFailed(exchange, error, false));
  }

  #deferQueued(): void {
    const deferral = this.admission.deferral();
    if (deferral === undefined) return;
    this.#endQueued((exchange) => this.#defer(exchange, deferral));
  }

  #endQueued(end: (exchange: Exchange) => void): void {
    while (this.#queued > 0) {
      const exchange = this.#refused.shift() ?? this.#next();
      this.admission.breaker.recordUnsent(exchange);
      end(exchange);
    }
  }

  /** Adds up to a fifth at random, so that deferred requests are not all retried at once. */
  #defer(exchange: Exchange, deferral: Deferral): void {
    const afterMs = Math.ceil(deferral.afterMs * (1 + this.#settings.random() / 5));
    queueMicrotask(() => this.#settle(exchange, { ...deferral, afterMs }));
  }

  #settleFailed(exchange: Exchange, error: DeskbellError, isInDoubt: boolean): void {
    const outcome = readFailure(error, isInDoubt, this.#isUnlisted);
    this.#settle(exchange, { kind: 'failure', error, outcome });
  }

  #settle(exchange: Exchange, result: Parameters<Exchange['done']>[0]): void {
    settle(exchange, result);
    this.#reportIdle();
  }

  #reportIdle(): void {
    if (this.#queued + this.#inFlight > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}
