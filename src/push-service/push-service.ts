// The local push service: what it offers, and how its parts are put together.
import { WebSocketServer } from 'ws';
import { checkOrigin, createAddresses, originOf, tokenOf } from './addresses.ts';
import { parseApplicationServerKey } from './application-server-key.ts';
import { serveUserAgent } from './browser-side/autopush.ts';
import { makeCertificate } from './http/certificate.ts';
import { serveControl } from './control.ts';
import { createEventLog, type EventCounts, type PushServiceEvent } from './events.ts';
import { Exchange } from './http/exchange.ts';
import { createFaults, type Faults } from './faults/faults.ts';
import { type Limits, withDefaultLimits } from './limits.ts';
import { listen } from './http/listener.ts';
import { route, type Routes } from './routing.ts';
import { createSenderApi } from './sender-side/sender-api.ts';
import { type PushSubscriptionJson, Sinks, type SinkTally } from './sender-side/sinks.ts';
import { UserAgents, type UserAgentStatistics } from './browser-side/user-agents.ts';
import { createVapidVerifier } from './sender-side/vapid-verification.ts';

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
  /** Called with whatever happens, at once. */
  readonly onEvent?: (event: PushServiceEvent) => void;
  /** Milliseconds since 1970; a test turns the clock with it. */
  readonly now?: () => number;
}

export interface Statistics extends EventCounts, UserAgentStatistics {
  readonly sinks: number;
}

export interface PushService {
  /** What every endpoint begins with, such as `http://127.0.0.1:8090`. */
  readonly origin: string;
  /** For user agents: Firefox takes it as `dom.push.serverURL`. */
  readonly webSocketUrl: string;
  /** For `curl` and other processes on this machine. */
  readonly controlUrl: string;
  readonly port: number;
  /** PEM; the certificate that a client needs to trust where the push service made one. */
  readonly ca: string | undefined;
  /** What goes wrong, and when. */
  readonly faults: Faults;
  /**
   * Makes subscriptions without a user agent, each with keys of its own, to be read one by one: they count what
   * they are sent and forget it.
   *
   * @param options `vapidPublicKey`: the only key that may send to them, base64url
   * @throws {RangeError} `count` is not a positive integer, or there would be more than `limits.maxSinks`
   * @throws {TypeError} `vapidPublicKey` is not a P-256 point
   */
  createSinks(count: number, options?: { readonly vapidPublicKey?: string }): Iterable<PushSubscriptionJson>;
  /** What the sinks have counted, by batch. */
  tallySinks(): SinkTally[];
  clearSinks(): void;
  /** Ends a subscription as a push service does on its own: senders get 410, the user agent is not told. */
  expire(endpoint: string): boolean;
  /** Drops the user agents' connections; they come back with their `uaid`. */
  disconnectUserAgents(): void;
  statistics(): Statistics;
  /** Ends every connection and frees the port; what waited for delivery is lost. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const closeGraceMs = 500;
const maxFrameBytes = 64 * 1024;

/**
 * Starts a push service in this process, in memory.
 *
 * @throws {RangeError} a limit is unknown or not a positive integer
 * @throws {TypeError} `origin` is not an http or https origin
 * @throws {Error} with the system's `code`, such as EADDRINUSE, where it cannot listen
 * @see RFC 8030, RFC 8292, and the autopush protocol for user agents
 */
export async function startPushService(options: PushServiceOptions = {}): Promise<PushService> {
  const { host = '127.0.0.1', now = Date.now } = options;
  const limits = withDefaultLimits(options.limits ?? {});
  const givenOrigin = options.origin === undefined ? undefined : checkOrigin(options.origin);
  const tls = options.tls === true ? await makeCertificate(host) : options.tls || undefined;
  const log = createEventLog(options.onEvent);
  const webSocketOptions = {
    noServer: true,
    maxPayload: maxFrameBytes,
    closeTimeout: closeGraceMs, // Firefox does not answer a close frame; @types/ws does not know the option
    handleProtocols: (offered: ReadonlySet<string>) =>
      offered.has('push-notification') ? 'push-notification' : (false as const),
  };
  const webSockets = new WebSocketServer(webSocketOptions);

  const listener = await listen({
    host,
    port: options.port ?? 0,
    tls,
    maxConnections: limits.maxConnections,
    maxConcurrentStreams: limits.maxConcurrentStreams,
    onRequest(request, response, connection) {
      const exchange = new Exchange(request, response, connection);
      if (!connection.begin(exchange.streamId)) return;
      exchange.onEnd(() => connection.end());
      void route(exchange, routes);
    },
    onUpgrade(request, socket, head) {
      webSockets.handleUpgrade(request, socket, head, (webSocket) =>
        serveUserAgent(webSocket, { agents, addresses, log }),
      );
    },
  });

  // nothing is awaited from here on, so that no request comes before all of this is there
  const addresses = createAddresses(givenOrigin ?? originOf(tls ? 'https' : 'http', host, listener.port));
  const faults = createFaults(now);
  const agents = new UserAgents(limits, log, now);
  const sinks = new Sinks(limits, addresses);
  const api = createSenderApi({
    limits,
    checksBodies: options.checksBodies ?? true,
    now,
    verifyVapid: createVapidVerifier(addresses.origin, now),
    lookUp: (token) => agents.lookUp(token) ?? sinks.lookUp(token),
    messageUrl: (version) => addresses.messageUrl(version),
    withdraw: (version) => agents.withdraw(version),
  });
  const service: PushService = {
    origin: addresses.origin,
    webSocketUrl: addresses.webSocketUrl,
    controlUrl: addresses.controlUrl,
    port: listener.port,
    ca: options.tls === true ? tls?.cert : undefined,
    faults,
    createSinks(count, { vapidPublicKey } = {}) {
      const key = vapidPublicKey === undefined ? undefined : parseApplicationServerKey(vapidPublicKey);
      if (vapidPublicKey !== undefined && key === undefined) {
        throw new TypeError('vapidPublicKey must be a 65-byte P-256 point in base64url');
      }
      return sinks.create(count, key?.text);
    },
    tallySinks: () => sinks.tally(),
    clearSinks: () => sinks.clear(),
    expire(endpoint) {
      const token = tokenOf(endpoint);
      return agents.expire(token) || sinks.expire(token);
    },
    disconnectUserAgents: () => agents.disconnectAll(),
    statistics: () => ({ ...log.counts(), ...agents.statistics(), sinks: sinks.size }),
    close() {
      for (const webSocket of webSockets.clients) webSocket.close(1001, 'the push service ends');
      return listener.close(closeGraceMs);
    },
    [Symbol.asyncDispose]: () => service.close(),
  };
  const routes: Routes = {
    addresses,
    api,
    limits,
    log,
    meetFaults: (token, streams) => faults.meet(token, streams),
    serveControl: (exchange) => serveControl(service, exchange),
  };
  return service;
}
