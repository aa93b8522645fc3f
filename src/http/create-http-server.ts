// A Fastify instance with what every listener of ours needs: time-outs and limits that bound what one client can take, and
// answers in the one form of errors to what Node and Fastify would answer in their own.
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

// An import would have Node load its WebSocket and undici too: 80 ms.
const { createServer } = process.getBuiltinModule('node:http');
const { createServer: createTlsServer } = process.getBuiltinModule('node:https');

export interface HttpServerOptions extends TimeLimits {
  /** Maximum size of request line and headers together. Default: 16 384. */
  readonly maxHeaderBytes?: number | undefined;
  /** Maximum number of open connections; further ones are closed at once. Default: 10 000. */
  readonly maxConnections?: number | undefined;
  /** Of these, connections of one client, by its address (IPv6: by its /64); this machine and trusted proxies are excepted. Default: 500. */
  readonly maxConnectionsPerClient?: number | undefined;
  /** Addresses or ranges of proxies whose `x-forwarded-for` or `forwarded` is trusted; `true` trusts whoever connects. Default: none. */
  readonly trustProxy?: TrustedProxies;
}

/** Certificate chain and private key, PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface ListenerSettings {
  /** Without them, the listener speaks plain HTTP. */
  readonly tls?: TlsFiles | undefined;
  /** Characters of one parameter in a path. Default: 100. */
  readonly maxParamLength?: number | undefined;
  /** Default: as the system resolves it. */
  readonly findAddresses?: FindAddresses | undefined;
}

export function createHttpServer(
  options: HttpServerOptions,
  rules: ResponseRules,
  { tls, maxParamLength = 100, findAddresses }: ListenerSettings = {},
): FastifyInstance {
  const requestTimeout = options.requestTimeoutMs ?? defaultTimeLimits.requestTimeoutMs;
  // Node refuses more than the whole request has.
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
    // The check and its answer are ours, so that this answer has the form of all others.
    requireHostHeader: false,
    // No stream is set up for a body that is not there (from Node 25.1 on).
    optimizeEmptyRequests: true,
  };
  const isTrusted = createTrust(options.trustProxy);
  const app = Fastify({
    serverFactory: (handler) =>
      tls === undefined
        ? createServer(http, handler)
        : createTlsServer({ ...http, ...tls, handshakeTimeout: headersTimeout }, handler),
    routerOptions: { maxParamLength: maxParamLength },
    // A request that arrives while the server closes is still answered, with `connection: close`.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    trustProxy: isTrusted,
    // Nothing here logs by request ids.
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
 * Once the server is closed, a connection that is being answered would be kept for a next request, and Node no longer checks how
 * long a request takes: one that never ends would keep the server open for ever. A TLS handshake that never ends is on no list of Node's.
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
