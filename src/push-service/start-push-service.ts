// Starts the local push service: creates its parts and connects them to one listener.
import { WebSocketServer } from 'ws';
import { checkOrigin, createAddresses, originOf, tokenOf } from './addresses.ts';
import { parseApplicationServerKey } from './sender-side/vapid-verification.ts';
import { maxFrameBytes, serveUserAgent } from './browser-side/autopush.ts';
import { makeCertificate, type Certificate } from './http/certificate.ts';
import { checkNames, type Names, withDefaultLimits } from './limits.ts';
import { route, type Routes } from './routing.ts';
import { createEventLog } from './events.ts';
import { Exchange, findHostFault } from './http/exchange.ts';
import { createFaults } from './faults.ts';
import { listen } from './http/listener.ts';
import { createSenderApi, createSinkBatches } from './sender-side/sender-api.ts';
import type { PushService, PushServiceOptions, SinkOptions } from './push-service.ts';
import { createUserAgents } from './browser-side/user-agents.ts';

const optionNames: Names<PushServiceOptions> = {
  host: true,
  port: true,
  tls: true,
  origin: true,
  limits: true,
  checksBodies: true,
  onEvent: true,
  now: true,
};
const sinkOptionNames: Names<SinkOptions> = { vapidPublicKey: true };
const closeGraceMs = 500;

/**
 * Starts a push service in this process, in memory.
 *
 * @example
 * const pushService = await startPushService();
 * const userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
 * const subscription = await userAgent.subscribe(vapidKeys.publicKey);
 * await sender.send(subscription, { title: 'Hello', message: 'Backups are done' });
 * const message = await userAgent.nextMessage();
 * @throws {RangeError} if an option or limit is unknown, or a limit is not a positive integer
 * @throws {TypeError} if `origin` or `tls` has a wrong value
 * @throws {Error} with the system's `code`, such as EADDRINUSE, if it cannot listen
 * @see RFC 8030, RFC 8292, and the autopush protocol for user agents
 */
export async function startPushService(options: PushServiceOptions = {}): Promise<PushService> {
  checkNames('option', options, optionNames);
  const { host = '127.0.0.1', now = Date.now } = options;
  const limits = withDefaultLimits(options.limits ?? {});
  const givenOrigin = options.origin === undefined ? undefined : checkOrigin(options.origin);
  const { certificate: tls, ca } = resolveTls(options.tls, host);
  const log = createEventLog(options.onEvent);
  const webSocketOptions = {
    noServer: true,
    maxPayload: maxFrameBytes,
    closeTimeout: closeGraceMs, // Firefox does not answer a close frame; @types/ws lacks the option
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
      if (findHostFault(request) !== undefined) {
        socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
        return;
      }
      webSockets.handleUpgrade(request, socket, head, (webSocket) =>
        serveUserAgent(webSocket, { agents, addresses, log }),
      );
    },
  });

  // do not await from here on, so that no request arrives before all parts exist
  const addresses = createAddresses(givenOrigin ?? originOf(tls ? 'https' : 'http', host, listener.port));
  const faults = createFaults(now);
  const agents = createUserAgents(limits, log, now);
  const sinks = createSinkBatches(limits, addresses);
  const push = createSenderApi(
    { addresses, limits, checksBodies: options.checksBodies ?? true },
    (token) => agents.lookUp(token) ?? sinks.lookUp(token),
    now,
  );
  const service: PushService = {
    origin: addresses.origin,
    webSocketUrl: addresses.webSocketUrl,
    controlUrl: addresses.controlUrl,
    port: listener.port,
    ca,
    faults,
    createSinks(count, sinkOptions = {}) {
      checkNames('option', sinkOptions, sinkOptionNames);
      const { vapidPublicKey } = sinkOptions;
      const key =
        vapidPublicKey === undefined ? undefined : parseApplicationServerKey(String(vapidPublicKey));
      if (vapidPublicKey !== undefined && key === undefined) {
        throw new TypeError('vapidPublicKey must be a 65-byte P-256 point in base64url');
      }
      return sinks.create(count, key?.text);
    },
    tallySinks: sinks.tally,
    clearSinks: sinks.clear,
    expire(endpoint) {
      const token = tokenOf(endpoint);
      return agents.expire(token) || sinks.expire(token);
    },
    disconnectUserAgents: agents.disconnectAll,
    statistics: () => ({ ...log.counts(), ...agents.statistics(), sinks: sinks.size }),
    close() {
      for (const webSocket of webSockets.clients) webSocket.close(1001, 'the push service ends');
      return listener.close(closeGraceMs);
    },
    [Symbol.asyncDispose]: () => service.close(),
  };
  const routes: Routes = { service, agents, push, limits, log, faults };
  return service;
}

function resolveTls(
  tls: unknown,
  host: string,
): { certificate: Certificate | undefined; ca: readonly string[] } {
  if (tls === undefined || tls === false) return { certificate: undefined, ca: [] };
  if (tls === true) {
    const certificate = makeCertificate([...new Set(['localhost', '127.0.0.1', '::1', host])]);
    return { certificate, ca: [certificate.cert] };
  }
  const { key, cert } = Object(tls) as { key?: unknown; cert?: unknown };
  if (typeof key === 'string' && typeof cert === 'string') return { certificate: { key, cert }, ca: [] };
  throw new TypeError('"tls" must be true, false, or { key, cert } with both as PEM texts');
}
