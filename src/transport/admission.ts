// Decides whether a request may be sent to a push service now (its circuit breaker), and how many may be in flight
// (pacing). Both adapt to earlier results.
//
// `Retry-After` is obeyed at once: nothing more is written (a *hold*). If the push service accepts a request that was
// written at the same time or later, the wait concerned only one subscription, and the hold ends. Otherwise the breaker
// opens for the requested time. A single 429 concerns its subscription; a second in a row, or any 503, concerns all.
import type { DeskbellError } from '../errors/deskbell-error.ts';
import { failureReason, type FailureReason, isFaultOfMachine, type Outcome } from '../protocol/outcome.ts';
import { answersRunMs, Breaker } from './breaker.ts';
import type { Clock } from './clock.ts';
import type { Exchange } from './exchange.ts';
import { Pacing } from './pacing.ts';
import { ProtocolErrorPauses } from './protocol-error-pauses.ts';
import type { Answer, Deferral, OriginSnapshot, Pace } from './transport.ts';

export interface AdmissionSettings extends Pick<Clock, 'monotonicNow'> {
  /** If false, failures of the push service never stop requests. */
  readonly hasBreaker: boolean;
}

/** The maximum headroom: as many messages as a worker encrypts at once. */
const maxHeadroom = 64;
/** While a caller has more to send, it calls `pace` at least this often. */
const askedEveryMs = 140;

/** If all attempts fail for this long, the failures are not a coincidence. */
const unreachableAfterMs = 15_000;

/** The average latency is that of about this many recent responses. */
const averageOver = 100;

/** How many round trips a hold lasts, unless a response ends the hold earlier. */
const holdRoundTrips = 2;
const minHoldMs = 50;

type AdmissionSnapshot = Omit<OriginSnapshot, 'origin' | 'connections' | 'inFlight' | 'queued'>;

export class Admission {
  readonly #origin: URL;
  readonly #settings: AdmissionSettings;
  readonly pacing = new Pacing();
  readonly breaker = new Breaker();
  readonly #httpFaults = new ProtocolErrorPauses();
  #answers = 0;
  #throttled = 0;
  #latencyMs = 0;
  #connectFault: DeskbellError | undefined;
  /** The times of the first and the last failure since the last response. */
  #failures: { readonly firstMs: number; readonly lastMs: number } | undefined;
  /** Set after the push service has asked us to wait, until it is clear whether only one subscription must wait. */
  #hold: { reason: string; writtenAtMs: number; untilMs: number } | undefined;
  #wasThrottled = false;
  #lastError: DeskbellError | undefined;

  constructor(origin: URL, settings: AdmissionSettings) {
    this.#origin = origin;
    this.#settings = settings;
  }

  /** Returns how many requests may be written now. */
  free(inFlight: number): number {
    return this.#hold === undefined ? this.pacing.free(inFlight, this.#settings.monotonicNow()) : 0;
  }

  /**
   * Returns how many more requests to hand over. A few may be queued in addition to those in flight, so that the next
   * request is ready when it may be written.
   */
  pace(inFlight: number, queued: number): Pace {
    const { limit, perMs } = this.pacing;
    const headroom = Math.min(maxHeadroom, Math.ceil(Math.max(limit / 4, perMs * askedEveryMs)));
    const room = Math.max(0, this.free(inFlight) + headroom - queued);
    if (room === 0) this.pacing.recordLimitReached();
    return { room, perMs };
  }

  /** If only pacing delays the next request: the time until the request may be written. */
  get paceMs(): number | undefined {
    return this.#hold === undefined ? this.pacing.waitMs : undefined;
  }

  /** How long to wait for a response that ends the hold; `undefined` if there is no hold. */
  get holdMs(): number | undefined {
    return this.#hold && Math.max(minHoldMs, holdRoundTrips * this.#latencyMs);
  }

  /** Call this if no response has ended the hold in time. @returns true if sending must stop now */
  endHold(): boolean {
    const hold = this.#hold;
    this.#hold = undefined;
    const nowMs = this.#settings.monotonicNow();
    return hold !== undefined && this.breaker.obey(hold.reason, nowMs, hold.untilMs - nowMs);
  }

  /** True if the last connection attempt failed because of a problem on this machine. */
  get isCutOff(): boolean {
    return this.#connectFault !== undefined && isFaultOfMachine(this.#connectFault);
  }

  snapshot(): AdmissionSnapshot {
    const nowMs = this.#settings.monotonicNow();
    const isOpen = !this.breaker.isClosed && this.breaker.isOpen(nowMs);
    const breaker = this.breaker.isClosed ? 'closed' : isOpen ? 'open' : 'half-open';
    return {
      maxInFlight: this.pacing.limit,
      latencyMs: this.#answers === 0 ? undefined : Math.round(this.#latencyMs * 10) / 10,
      answers: this.#answers,
      throttled: this.#throttled,
      breaker,
      breakerReason: breaker === 'closed' ? undefined : this.breaker.reason,
      unreachableMs: this.#unreachableMs(nowMs),
      obstacle: this.#obstacle(nowMs),
    };
  }

  /** @returns why the request may not be sent; `undefined` if it was admitted */
  admit(exchange: object): Deferral | undefined {
    if (this.breaker.isClosed) return undefined;
    const deferral = this.deferral();
    if (deferral === undefined) this.breaker.admitProbe(exchange);
    return deferral;
  }

  /** @returns why nothing may be sent; `undefined` if a request may be sent */
  deferral(): Deferral | undefined {
    if (!this.#settings.hasBreaker || this.breaker.isClosed) return undefined;
    const nowMs = this.#settings.monotonicNow();
    const afterMs = this.breaker.waitMs(nowMs);
    if (afterMs === 0) return undefined;
    return { kind: 'deferred', afterMs, detail: this.breaker.reason, obstacle: this.#obstacle(nowMs) };
  }

  /** Returns the remaining wait that the push service asked for. Each wait is returned once; after that, 0. */
  takeWait(): number {
    return this.breaker.isClosed ? 0 : this.breaker.takeWait(this.#settings.monotonicNow());
  }

  /** Pauses for as long as the push service asked another sender to wait. */
  pause(waitMs: number): void {
    const reason = `${this.#origin.host} has asked another sender to wait.`;
    this.breaker.pause(reason, this.#settings.monotonicNow() + waitMs);
  }

  /** @returns true if sending must stop now */
  recordAnswer(exchange: object, { response, outcome }: Answer, latencyMs: number): boolean {
    const nowMs = this.#settings.monotonicNow();
    this.#failures = this.#connectFault = undefined;
    this.#httpFaults.recordAnswer();
    this.#latencyMs =
      this.#answers === 0 ? latencyMs : this.#latencyMs + (latencyMs - this.#latencyMs) / averageOver;
    this.#answers += 1;
    if (response.status < 300 || !concernsOrigin(outcome)) {
      if (outcome.kind === 'accepted') this.#recordAccepted(latencyMs, nowMs);
      else this.pacing.recordOther(latencyMs, nowMs);
      this.breaker.recordSuccess(exchange);
      return false;
    }
    const reason = `${this.#origin.host} answers with status ${response.status}.`;
    if (outcome.slowsOrigin) {
      this.#throttled += 1;
      const isForAll = response.status === 503 || outcome.afterMs === undefined || this.#wasThrottled;
      if (isForAll) this.pacing.recordRefused(latencyMs, nowMs);
      else this.pacing.recordOther(latencyMs, nowMs);
      if (isForAll && outcome.afterMs !== undefined)
        this.#holdFor(reason, outcome.afterMs, nowMs - latencyMs, nowMs);
      this.#wasThrottled = true;
    } else this.pacing.recordOther(latencyMs, nowMs);
    return this.breaker.recordFailure(exchange, reason, nowMs, answersRunMs, outcome.afterMs);
  }

  #recordAccepted(latencyMs: number, nowMs: number): void {
    this.pacing.recordAccepted(latencyMs, nowMs);
    this.#wasThrottled = false;
    if (this.#hold !== undefined && nowMs - latencyMs >= this.#hold.writtenAtMs) this.#hold = undefined;
  }

  #holdFor(reason: string, afterMs: number, writtenAtMs: number, nowMs: number): void {
    if (!this.#settings.hasBreaker || !this.breaker.isClosed) return;
    const untilMs = Math.max(this.#hold?.untilMs ?? 0, nowMs + afterMs);
    this.#hold = { reason, writtenAtMs: Math.max(this.#hold?.writtenAtMs ?? 0, writtenAtMs), untilMs };
  }

  /**
   * Records that the push service refused a request without responding. The request may be sent again.
   *
   * @returns true if sending must stop now
   */
  recordRefusedStream(
    exchange: Pick<Exchange, 'writtenAtMs' | 'timesRefused'>,
    error: DeskbellError,
  ): boolean {
    const nowMs = this.#settings.monotonicNow();
    // only the first refusal of a request says something about the rate
    if (exchange.timesRefused <= 1) this.pacing.recordRefused(nowMs - exchange.writtenAtMs, nowMs);
    this.#recordNoAnswer();
    return this.breaker.recordFailure(exchange, error.message, nowMs, answersRunMs);
  }

  /** Records that there was no response. @returns true if sending must stop now */
  recordFailure(exchange: object, error: DeskbellError): boolean {
    // a lost connection fails all of its requests with one error, which counts once; a failed probe always counts
    if (error === this.#lastError && !this.breaker.isProbe(exchange)) return false;
    this.#lastError = error;
    this.#recordNoAnswer();
    const isStopped = this.breaker.recordFailure(exchange, error.message, this.#settings.monotonicNow());
    return this.recordHttpFault(error) || isStopped;
  }

  /** Records the error that ended a connection. @returns true if sending must stop because of too many HTTP faults */
  recordHttpFault(error: DeskbellError): boolean {
    const nowMs = this.#settings.monotonicNow();
    const pauseMs = this.#httpFaults.record(error, nowMs);
    return pauseMs > 0 && this.breaker.open(error.message, nowMs, pauseMs);
  }

  /** Records that a connection attempt failed while no connection was open. */
  recordConnectFailure(error: DeskbellError): void {
    this.#connectFault = error;
    this.#recordNoAnswer();
    this.breaker.openForConnection(error.message, this.#settings.monotonicNow());
  }

  recordConnection(): void {
    this.#connectFault = undefined;
  }

  /** Returns a problem that operators should know. Failures to connect are often brief, so only lasting ones count. */
  #obstacle(nowMs: number): FailureReason | undefined {
    if (this.#httpFaults.areTooMany(nowMs)) return 'protocol-error';
    const reason = this.#connectFault && failureReason(this.#connectFault);
    return reason === 'connection' && this.#unreachableMs(nowMs) === undefined ? undefined : reason;
  }

  #recordNoAnswer(): void {
    const nowMs = this.#settings.monotonicNow();
    this.#failures = { firstMs: this.#failures?.firstMs ?? nowMs, lastMs: nowMs };
  }

  #unreachableMs(nowMs: number): number | undefined {
    const { firstMs, lastMs } = this.#failures ?? { firstMs: 0, lastMs: 0 };
    return lastMs - firstMs < unreachableAfterMs ? undefined : Math.round(nowMs - firstMs);
  }
}

/** True if the problem concerns the whole push service, and not just one message or subscription. */
function concernsOrigin(outcome: Outcome): outcome is Extract<Outcome, { kind: 'retry' }> {
  if (outcome.kind !== 'retry' || outcome.reason === 'not-handled' || outcome.isGoneAtLast) return false;
  return outcome.reason !== 'throttled' || outcome.slowsOrigin;
}
