// The service as a server of its own, with the time-outs and limits that bound what one client can take.
import Fastify, { type FastifyInstance } from 'fastify';

import { handleClientError, trackResponses } from '../http/client-errors.ts';
import { addRoutes } from './create-service.ts';
import { handleConnectAndExpect, renderMalformedUrl, dropContentType } from '../http/edge-cases.ts';
import { trackRequestStarts } from '../http/request-start.ts';
import { prepareScope } from './scope.ts';
import { resolveOptions, type ServerOptions } from './options.ts';
import { closeSlowClients } from '../http/slow-clients.ts';

/**
 * Makes a Fastify instance that serves the whole service: `await createServer(options).listen({ host, port })`.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION where an option is not usable
 */
export function createServer(options: ServerOptions): FastifyInstance {
  const settings = resolveOptions(options);
  const { rules } = settings;
  const app: FastifyInstance = Fastify({
    http: {
      headersTimeout: options.headersTimeoutMs ?? 10_000,
      connectionsCheckingInterval: options.timeoutCheckIntervalMs ?? 1000,
      maxHeaderSize: options.maxHeaderBytes ?? 16_384,
      // The check and its answer are ours, so that this answer has the form of all others.
      requireHostHeader: false,
      // No stream is set up for a body that is not there (from Node 25.1 on).
      optimizeEmptyRequests: true,
    },
    requestTimeout: options.requestTimeoutMs ?? 30_000,
    keepAliveTimeout: options.keepAliveTimeoutMs ?? 10_000,
    // A request that arrives while the server closes is still answered, with `connection: close`.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    trustProxy: (options.trustProxy ?? false) as boolean,
    // Nothing here logs by request ids.
    genReqId: () => '',
    frameworkErrors: (error, request, reply) => renderMalformedUrl(error, request, reply, rules),
    clientErrorHandler: (error, socket) => handleClientError(app, error, socket, rules),
  });
  app.server.maxConnections = options.maxConnections ?? 10_000;
  prepareScope(app, { ...settings, ownsConnections: true, ownsUnknownPaths: true });
  trackRequestStarts(app.server);
  trackResponses(app);
  dropContentType(app);
  handleConnectAndExpect(app, rules);
  app.register((scope) => addRoutes(scope, settings), { prefix: settings.prefix });
  closeSlowClients(app, options.readTimeoutMs ?? 60_000);
  closeConnectionsOnceAnswered(app);
  return app;
}

/** A connection that is being answered when the server is closed would be kept for a next request. */
function closeConnectionsOnceAnswered(app: FastifyInstance): void {
  app.addHook('preClose', (done) => {
    const timer = setInterval(() => app.server.closeIdleConnections(), 20);
    app.server.once('close', () => clearInterval(timer));
    done();
  });
}
