// Creates the Fastify instances of all our listeners, with limits for each client and our error format.
import { lookup } from 'node:dns/promises';
import { createServer as createTcpServer, type ListenOptions, type Server, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { createTrust, type TrustedProxies } from './client-address.ts';
import {
  dropContentType,
  handleClientError,
  handleConnectAndExpect,
  renderMalformedUrl,
} from './client-errors.ts';
import {
  closeUnreadResponses,
  limitConnectionsOfClients,
  limitOpenResponses,
  trackRequestStarts,
} from './connections.ts';
import type { ResponseRules } from './problem.ts';

// Not imported, because an import would also load Node's WebSocket and undici, which takes 80 ms.
const { createServer } = process.getBuiltinModule('node:http');
const { createServer: createTlsServer } = process.getBuiltinModule('node:https');

export interface HttpServerOptions extends TimeLimits {
  /** Maximum size of request line and headers together. Default: 16 384. */
  readonly maxHeaderBytes?: number | undefined;
  /** Maximum number of open connections; others are closed at once. Default: 10 000. */
  readonly maxConnections?: number | undefined;
  /**
   * Maximum number of open connections from one client address (or IPv6 /64) that is not a trusted proxy. Default: 500.
   */
  readonly maxConnectionsPerClient?: number | undefined;
  /** Proxies whose `x-forwarded-for` or `forwarded` is trusted: addresses, ranges, or `true` for any. Default: none. */
  readonly trustProxy?: TrustedProxies;
}

/** The certificate chain and the private key, as PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface ListenerSettings {
  readonly tls?: TlsFiles | undefined;
  /** Maximum characters of a parameter in a path. Default: 100. */
  readonly maxParamLength?: number | undefined;
}

/**
 * Each scope sets its own compilers, because Fastify's defaults would load a validator and a serializer that nothing
 * uses. A listener does not start if a scope has set none.
 */
export const schemaController = {
  compilersFactory: {
    buildValidator: () => (): never => {
      throw new Error('A scope with schemas has set no validator.');
    },
    buildSerializer: () => () => JSON.stringify,
  },
};

export function createHttpServer(
  options: HttpServerOptions,
  rules: ResponseRules,
  { tls, maxParamLength = 100 }: ListenerSettings = {},
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
    // We check the Host header ourselves, because our check responds in our format.
    requireHostHeader: false,
    // Node 25.1 and newer create no body stream for requests without a body
    optimizeEmptyRequests: true,
  };
  const isTrusted = createTrust(options.trustProxy);
  const app = Fastify({
    serverFactory: (handler) =>
      tls === undefined
        ? createServer(http, handler)
        : createTlsServer({ ...http, ...tls, handshakeTimeout: headersTimeout }, handler),
    routerOptions: { maxParamLength },
    schemaController,
    // Requests that arrive while the server is closing still get a response, with `connection: close`.
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
  serveAllOfLocalhost(app, tls !== undefined);
  dropContentType(app);
  handleConnectAndExpect(app, rules);
  closeUnreadResponses(app, options.readTimeoutMs ?? defaultTimeLimits.readTimeoutMs);
  closeConnections(app, options.closeGraceMs ?? defaultTimeLimits.closeGraceMs);
  return app;
}

/**
 * Closes what would keep the server from ending: idle connections, requests that never end (Node no longer checks their
 * time), and unfinished TLS handshakes, which Node does not list.
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

interface TimeLimits {
  /** Time for a request's headers to arrive; for a first request, it begins with the connection. Default: 10 000. */
  readonly headersTimeoutMs?: number | undefined;
  /** Time for a whole request to arrive. Default: 30 000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Maximum idle time between two requests on a connection, in milliseconds. Default: 10 000. */
  readonly keepAliveTimeoutMs?: number | undefined;
  /** A client that reads nothing of its response in this interval is disconnected. Default: 60 000. */
  readonly readTimeoutMs?: number | undefined;
  /**
   * How long requests in progress may take after the server starts to close. Default: 11 000, one second more than the
   * time limit for sending a message.
   */
  readonly closeGraceMs?: number | undefined;
  readonly timeoutCheckIntervalMs?: number | undefined;
}

export const defaultTimeLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 10_000,
  readTimeoutMs: 60_000,
  closeGraceMs: 11_000,
  timeoutCheckIntervalMs: 1000,
} as const satisfies TimeLimits;

// On most machines `localhost` is 127.0.0.1 and ::1, and a Node server listens only on the first. Fastify would open a
// second server without our limits, so connections to the second address are handed to the first server.

function serveAllOfLocalhost(app: FastifyInstance, isSecure: boolean): void {
  const { server } = app;
  const listen = server.listen.bind(server) as (options: ListenOptions) => unknown;
  const close = server.close.bind(server);
  const others: Server[] = [];
  let isClosed = false;

  const listenOnAll = async (options: ListenOptions): Promise<void> => {
    const [first, ...rest] = await lookup('localhost', { all: true });
    if (isClosed) return;
    server.once('listening', () => {
      for (const { address } of rest) others.push(handConnectionsTo(app, isSecure, address));
    });
    listen({ ...options, host: first?.address ?? 'localhost' });
  };

  Object.assign(server, {
    listen(options: ListenOptions) {
      if (options.host === 'localhost') {
        listenOnAll(options).catch((error: unknown) => server.emit('error', error));
      } else listen(options);
      return server;
    },
    close(done?: (error?: Error) => void) {
      let open = 1 + others.length;
      const ended = (error?: Error): void => {
        open -= 1;
        if (open === 0) done?.(error);
      };
      for (const other of others) other.close(() => ended());
      return close(ended);
    },
  });
  app.addHook('preClose', async () => {
    isClosed = true;
  });
}

/** Listens at another address too, on the server's port, if the machine has that address. */
function handConnectionsTo({ server }: FastifyInstance, isSecure: boolean, host: string): Server {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const options = { allowHalfOpen: !isSecure, noDelay: true };
  const other = createTcpServer(options, (socket) => void server.emit('connection', socket));
  other.maxConnections = server.maxConnections;
  return other.on('error', () => {}).listen({ host, port });
}
