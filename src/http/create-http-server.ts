// A Fastify instance for all our listeners, with limits for each client and our form of errors.
import Fastify, { type FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';

import { createTrust, type TrustedProxies } from './client-address.ts';
import { handleClientError } from './client-errors.ts';
import { serveAllOfLocalhost, type FindAddresses } from './localhost.ts';
import { limitConnectionsOfClients } from './connections-of-clients.ts';
import { dropContentType, handleConnectAndExpect, renderMalformedUrl } from './malformed-requests.ts';
import { limitOpenResponses } from './open-responses.ts';
import { trackRequestStarts } from './request-start.ts';
import type { ResponseRules } from './response-rules.ts';
import { defaultTimeLimits, type TimeLimits } from './time-limits.ts';
import { closeUnreadResponses } from './unread-responses.ts';

// Not imported: that would load Node's WebSocket and undici too, 80 ms.
const { createServer } = process.getBuiltinModule('node:http');
const { createServer: createTlsServer } = process.getBuiltinModule('node:https');

export interface HttpServerOptions extends TimeLimits {
  /** Maximum size of request line and headers together. Default: 16 384. */
  readonly maxHeaderBytes?: number | undefined;
  /** Maximum number of open connections; further ones are closed at once. Default: 10 000. */
  readonly maxConnections?: number | undefined;
  /**
   * Maximum number of open connections of one client address (IPv6: of its /64), except this machine and trusted
   * proxies. Default: 500.
   */
  readonly maxConnectionsPerClient?: number | undefined;
  /**
   * Addresses or ranges of proxies whose `x-forwarded-for` or `forwarded` is trusted; `true` trusts every peer.
   * Default: none.
   */
  readonly trustProxy?: TrustedProxies;
}

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface ListenerSettings {
  /** Without it, the listener speaks plain HTTP. */
  readonly tls?: TlsFiles | undefined;
  /** Most characters of one parameter in a path. Default: 100. */
  readonly maxParamLength?: number | undefined;
  /** Default: the system's resolver. */
  readonly findAddresses?: FindAddresses | undefined;
}

export function createHttpServer(
  options: HttpServerOptions,
  rules: ResponseRules,
  { tls, maxParamLength = 100, findAddresses }: ListenerSettings = {},
): FastifyInstance {
  const requestTimeout = options.requestTimeoutMs ?? defaultTimeLimits.requestTimeoutMs;
  // Node refuses a longer time for the headers than for the whole request.
  const headersTimeout = Math.min(
    options.headersTimeoutMs ?? defaultTimeLimits.headersTimeoutMs,
    requestTimeout,
  );
  const http = {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout: options.keepAliveTimeoutMs ?? defaultTimeLimits.keepAliveTimeoutMs,
    connectionsCheckingInterval: options.timeoutCheckIntervalMs ?? defaultTimeLimits.timeoutCheckIntervalMs,
    maxHeaderSize: options.maxHeaderBytes ?? 16_384,
    // Our own check answers in our form.
    requireHostHeader: false,
    // sets up no stream if there is no body (Node 25.1 or newer)
    optimizeEmptyRequests: true,
  };
  const isTrusted = createTrust(options.trustProxy);
  const app = Fastify({
    serverFactory: (handler) =>
      tls === undefined
        ? createServer(http, handler)
        : createTlsServer({ ...http, ...tls, handshakeTimeout: headersTimeout }, handler),
    routerOptions: { maxParamLength: maxParamLength },
    // Requests that arrive while the server closes are still answered, with `connection: close`.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    trustProxy: isTrusted,
    genReqId: () => '',
    frameworkErrors: (error, request, reply) => renderMalformedUrl(error, request, reply, rules),
    clientErrorHandler: (error, socket) => handleClientError(app, error, socket, rules),
  }) as unknown as FastifyInstance;
  app.server.maxConnections = options.maxConnections ?? 10_000;
  limitConnectionsOfClients(app.server, options.maxConnectionsPerClient ?? 500, isTrusted);
  trackRequestStarts(app.server);
  limitOpenResponses(app.server);
  serveAllOfLocalhost(app, tls !== undefined, findAddresses);
  dropContentType(app);
  handleConnectAndExpect(app, rules);
  closeUnreadResponses(app, options.readTimeoutMs ?? defaultTimeLimits.readTimeoutMs);
  closeConnections(app, options.closeGraceMs ?? defaultTimeLimits.closeGraceMs);
  return app;
}

/**
 * Closes what would keep a closed server open: connections that wait for another request, requests that never end (Node
 * no longer checks their time), and unfinished TLS handshakes, which are on no list of Node's.
 */
function closeConnections(app: FastifyInstance, graceMs: number): void {
  const open = new Set<Socket>();
  app.server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  let timer: NodeJS.Timeout;
  let grace: NodeJS.Timeout;
  app.addHook('preClose', async () => {
    timer = setInterval(() => app.server.closeIdleConnections(), 20);
    grace = setTimeout(() => {
      for (const socket of open) socket.destroy();
    }, graceMs);
  });
  app.addHook('onClose', async () => {
    clearInterval(timer);
    clearTimeout(grace);
  });
}
