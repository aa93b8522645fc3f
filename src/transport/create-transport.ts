// Creates the transport. Each origin has its own queue, connections and pacing, so a slow origin delays no other.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { readFailure } from '../protocol/outcome.ts';
import { systemClock, type Clock } from './clock.ts';
import { checkOptions } from '../errors/check-options.ts';
import { checkRequest, defaultCloseGraceMs, defaultTimeouts, transportChecks } from './check-options.ts';
import { type ConnectSettings, readConnectSettings } from './connect.ts';
import { settle, type Exchange } from './exchange.ts';
import { openSession, type OpenSession } from './open-session.ts';
import { Origin, type OriginSettings } from './origin.ts';
import { firstPerMs, latencyFloor } from './pacing.ts';
import type { Pace, PushRequest, Sending, TransportOptions, TransportResult } from './transport.ts';

/** The pace for a push service that has not been used yet. */
const firstPace: Pace = { room: latencyFloor, perMs: firstPerMs };
const maxOrigins = 1000;
/** When idle origins are forgotten, this many origins are kept. The margin avoids a search at every new origin. */
const maxOriginsKept = 900;

/** Rules for callers inside the package. Applications cannot change them. */
export interface TransportRules {
  /** If false, any address is allowed, because the application is responsible for its endpoints. Default: true. */
  readonly guardsAddresses?: boolean;
  /** If false, earlier responses and failures never delay a request. Default: true. */
  readonly hasBreaker?: boolean;
  /** Replaces the network, for tests. */
  readonly open?: OpenSession;
}

export type Transport = ReturnType<typeof createTransport>;

/**
 * Creates a transport. It connects when there is something to send.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION, naming the option
 */
export function createTransport(
  options: TransportOptions = {},
  { guardsAddresses = true, hasBreaker = true, open = openSession }: TransportRules = {},
) {
  checkOptions(options, transportChecks);
  const settings: OriginSettings = {
    ...readConnectSettings(options),
    ...(!guardsAddresses && { isNamedOrigin: () => true }),
    hasBreaker,
    open,
    responseTimeoutMs: options.responseTimeoutMs ?? defaultTimeouts.responseTimeoutMs,
    idleTimeoutMs: options.idleTimeoutMs ?? defaultTimeouts.idleTimeoutMs,
    monotonicNow: options.monotonicNow ?? systemClock.monotonicNow,
    now: options.now ?? Date.now,
    random: options.random ?? Math.random,
  };
  const origins = new Map<string, Origin>();
  let isClosed = false;

  const openOrigin = (origin: string): Origin | DeskbellError => {
    const url = checkOrigin(origin, settings);
    if (url instanceof DeskbellError) return url;
    if (origins.size >= maxOrigins) forgetIdle(origins);
    const opened = new Origin(url, settings);
    origins.set(origin, opened);
    return opened;
  };

  return {
    /**
     * Sends one request. `done` is called exactly once, after `send` has returned. Requests of the same tick are batched.
     *
     * @param timeoutMs limits the whole request, from waiting to the response. Default: only each step has a limit
     */
    send(request: PushRequest, done: (result: TransportResult) => void, timeoutMs?: number): Sending {
      const exchange: Exchange = { request, done, timesRefused: 0, writtenAtMs: 0, isSettled: false };
      const fault = isClosed
        ? new DeskbellError('ERR_CLOSED', 'The transport is closed.')
        : checkRequest(request);
      const origin = fault ?? origins.get(request.origin) ?? openOrigin(request.origin);
      if (origin instanceof DeskbellError) fail(exchange, origin);
      else {
        if (timeoutMs !== undefined) expireAfter(timeoutMs, exchange, origin, settings);
        origin.send(exchange);
      }
      return exchange;
    },

    /** @param name the origin, as `URL.origin` returns it */
    pace: (name: string): Pace => origins.get(name)?.pace ?? firstPace,

    /** @returns why nothing may be sent to the push service now; `undefined` if a request may be sent */
    deferral: (name: string) => origins.get(name)?.admission.deferral(),

    /** Returns the push services that have asked to wait (`Retry-After`) since the last call, with the remaining time. */
    takeWaits(): ReadonlyMap<string, number> {
      const waits = new Map<string, number>();
      for (const [name, origin] of origins) {
        const waitMs = origin.admission.takeWait();
        if (waitMs > 0) waits.set(name, waitMs);
      }
      return waits;
    },

    /** Pauses sending to a push service for `waitMs`, because the push service has asked another sender to wait. */
    pause(name: string, waitMs: number): void {
      const origin = origins.get(name) ?? openOrigin(name);
      if (!(origin instanceof DeskbellError)) origin.pause(waitMs);
    },

    /** True if this machine apparently has no network, and no push service is connected. */
    isCutOff(): boolean {
      let isCutOff = false;
      for (const origin of origins.values()) {
        if (origin.isConnected) return false;
        isCutOff ||= origin.admission.isCutOff;
      }
      return isCutOff;
    },

    /** Returns the state of each push service in use. */
    snapshot: () => [...origins.values()].map((origin) => origin.snapshot()),

    /** Hands back waiting requests as deferred. Requests in flight still get their responses. */
    withdraw(): void {
      for (const origin of origins.values()) origin.withdraw();
    },

    /** Waits at most `graceMs` for requests in flight, then closes every connection. */
    async close(graceMs = defaultCloseGraceMs): Promise<void> {
      isClosed = true;
      const { promise: grace, resolve: endGrace } = Promise.withResolvers<void>();
      const timer = settings.startTimer(endGrace, graceMs, true);
      const all = [...origins.values()];
      await Promise.race([grace, Promise.all(all.map((origin) => origin.idle()))]);
      timer.cancel();
      const error = new DeskbellError('ERR_CLOSED', 'The transport was closed before an answer came.');
      for (const origin of all) origin.destroy(error);
    },
  };
}

/**
 * Forgets idle origins, because strangers can name any number of hosts under the known domains. If possible, keeps
 * origins that have asked to wait, above all those with the longest wait.
 */
function forgetIdle(origins: Map<string, Origin>): void {
  const idle = [...origins]
    .filter(([, origin]) => origin.isIdle)
    .map(([name, { admission }]) => ({ name, waitMs: admission.deferral()?.afterMs ?? 0 }))
    .sort((a, b) => a.waitMs - b.waitMs);
  for (const { name, waitMs } of idle) {
    if (waitMs > 0 && origins.size <= maxOriginsKept) return;
    origins.delete(name);
  }
}

function expireAfter(timeoutMs: number, exchange: Exchange, origin: Origin, { startTimer }: Clock): void {
  const expire = (): void => {
    const message = `The message was not answered within its time (${Math.round(timeoutMs)} ms).`;
    origin.expire(exchange, new DeskbellError('ERR_TIMEOUT', message));
  };
  exchange.timeout = startTimer(expire, timeoutMs, true);
}

function fail(exchange: Exchange, error: DeskbellError): void {
  const outcome = readFailure(error, false, false);
  queueMicrotask(() => settle(exchange, { kind: 'failure', error, outcome }));
}

function checkOrigin(origin: string, { isNamedOrigin }: ConnectSettings): URL | DeskbellError {
  const url = URL.parse(origin);
  if (url === null || url.origin !== origin) {
    return new DeskbellError('ERR_ENDPOINT_INVALID', 'The origin is not one as URL.origin gives it.');
  }
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isNamedOrigin(origin))) return url;
  return new DeskbellError(
    'ERR_ENDPOINT_HOST_REFUSED',
    `${origin} is not https. If this push service is yours, add its origin to "pushServices".`,
  );
}
