// The local push service: puts the parts together and says which request goes to which.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { type Answer, answerJson, refuse } from './answer.ts';
import { parseApplicationServerKey } from './application-server-key.ts';
import { serveUserAgent } from './autopush.ts';
import { carryOut } from './carry-out.ts';
import { type Certificate, makeCertificate } from './certificate.ts';
import { serveControl } from './control.ts';
import { createEventLog, type EventCounts, type PushServiceEvent } from './events.ts';
import { Exchange } from './exchange.ts';
import { createFaults, type Faults } from './faults.ts';
import { type Limits, withDefaultLimits } from './limits.ts';
import { listen } from './listener.ts';
import { createSenderApi } from './sender-api.ts';
import { type PushSubscriptionJson, Sinks, type SinkTally } from './sinks.ts';
import { UserAgents } from './user-agents.ts';
import { createVapidVerifier } from './vapid-verification.ts';

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

export interface Statistics extends EventCounts {
  readonly subscriptions: number;
  readonly sinks: number;
  readonly connectedUserAgents: number;
  readonly undeliveredMessages: number;
  readonly undeliveredBytes: number;
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
  const { host = '127.0.0.1', port = 0, now = Date.now, checksBodies = true } = options;
  const limits = withDefaultLimits(options.limits ?? {});
  const givenOrigin = options.origin === undefined ? undefined : checkOrigin(options.origin);
  const tls = await findCertificate(options.tls, host);
  const log = createEventLog(options.onEvent);
  const faults = createFaults(now);
  const agents = new UserAgents(limits, log, now);
  const sinks = new Sinks(limits, endpointOf);
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
    port,
    tls,
    maxConnections: limits.maxConnections,
    maxConcurrentStreams: limits.maxConcurrentStreams,
    onRequest(request, response, connection) {
      const exchange = new Exchange(request, response, connection);
      if (!connection.begin(exchange.streamId)) return;
      exchange.onEnd(() => connection.end());
      void route(exchange);
    },
    onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
      webSockets.handleUpgrade(request, socket, head, (webSocket) =>
        serveUserAgent(webSocket, { agents, endpointOf, log }),
      );
    },
  });
  const origin = givenOrigin ?? originOf(tls, host, listener.port);
  const api = createSenderApi({
    limits,
    checksBodies,
    now,
    verifyVapid: createVapidVerifier(origin, now),
    lookUp: (token) => agents.lookUp(token) ?? sinks.lookUp(token),
    messageUrl: (version) => `${origin}/m/${version}`,
    withdraw(version) {
      const stored = agents.mailbox.find(version);
      if (stored !== undefined) agents.mailbox.withdraw(stored);
      return stored !== undefined;
    },
  });

  function endpointOf(token: string): string {
    return `${origin}/wpush/${token}`;
  }

  async function route(exchange: Exchange): Promise<void> {
    const [, resource, name = '', ...rest] = exchange.path.split('/');
    if (resource === 'control') return serveControl(service, exchange);
    if (resource === 'wpush' && rest.length === 0) return servePush(exchange, name);
    const body = await exchange.readBody(0);
    if (body === 'aborted') return;
    if (resource === 'm' && rest.length === 0) return serveMessage(exchange, name);
    if (exchange.path === '/')
      return exchange.answer(answerJson(200, { pushService: origin, webSocket: service.webSocketUrl }));
    exchange.answer(refuse('routeUnknown', 'there is nothing at this path'));
  }

  async function servePush(exchange: Exchange, token: string): Promise<void> {
    const { method, headers, connection, streamId } = exchange;
    if (method !== 'POST') {
      await exchange.readBody(0);
      return exchange.answer(refuse('methodNotAllowed', 'a push resource takes POST', { allow: 'POST' }));
    }
    const subscription = token.slice(0, 8);
    // before anything is awaited: what comes after the last stream of a GOAWAY must not get this far
    const { delayMs, goAway, ending } = faults.meet(endpointOf(token), connection.requests);
    if (goAway !== undefined) {
      log.record({ type: 'fault', kind: 'goaway', subscription });
      connection.goAway(streamId, goAway.code ?? 0);
    }
    const body = await exchange.readBody(limits.maxBodyBytes);
    if (body === 'aborted') return;
    if (delayMs > 0) {
      log.record({ type: 'fault', kind: 'delay', subscription });
      await sleep(delayMs, undefined, { ref: false });
    }
    const push = (): Answer => {
      const answer = api.push({ token, headers, body });
      log.record({ type: 'answered', method, status: answer.status, subscription });
      return answer;
    };
    if (ending === undefined) return exchange.answer(push(), goAway && { closesConnection: true });
    log.record({ type: 'fault', kind: ending.kind, subscription });
    carryOut(ending, exchange, push);
  }

  function serveMessage(exchange: Exchange, version: string): void {
    const { method } = exchange;
    const isDelete = method === 'DELETE';
    const answer = isDelete
      ? api.withdraw(version)
      : refuse('methodNotAllowed', 'a message resource takes DELETE', { allow: 'DELETE' });
    log.record({ type: 'answered', method, status: answer.status });
    exchange.answer(answer);
  }

  const service: PushService = {
    origin,
    webSocketUrl: `${origin.replace(/^http/, 'ws')}/`,
    controlUrl: `${origin}/control`,
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
      const token = endpoint.slice(endpoint.lastIndexOf('/') + 1);
      const subscription = agents.find(token);
      if (subscription !== undefined) agents.unregister(subscription);
      return subscription !== undefined || sinks.expire(token);
    },
    disconnectUserAgents: () => agents.disconnectAll(),
    statistics: () => ({
      ...log.counts(),
      subscriptions: agents.subscriptionCount,
      sinks: sinks.size,
      connectedUserAgents: agents.connectedCount,
      undeliveredMessages: agents.mailbox.size,
      undeliveredBytes: agents.mailbox.bytes,
    }),
    close() {
      for (const webSocket of webSockets.clients) webSocket.close(1001, 'the push service ends');
      return listener.close(closeGraceMs);
    },
    [Symbol.asyncDispose]: () => service.close(),
  };
  return service;
}

async function findCertificate(
  tls: PushServiceOptions['tls'],
  host: string,
): Promise<Certificate | undefined> {
  return tls === true ? await makeCertificate(host) : tls || undefined;
}

function originOf(tls: Certificate | undefined, host: string, port: number): string {
  // a wildcard address is not one to connect to
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const authority = name.includes(':') ? `[${name}]` : name;
  return new URL(`${tls ? 'https' : 'http'}://${authority}:${port}`).origin;
}

function checkOrigin(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || text.replace(/\/$/, '') !== url.origin) {
    throw new TypeError(
      `origin must be an http or https origin such as http://push.test:8090, not "${text}"`,
    );
  }
  return url.origin;
}
