// The service as a server of its own, with the time-outs and limits that bound what one client can take.
import Fastify, { type FastifyInstance } from 'fastify';

import { answerClientError, noteResponses } from './http/client-errors.ts';
import { addRoutes, prepare } from './create-service.ts';
import {
  answerOddRequests,
  answerRefusedUrl,
  forgetTypesWithoutBody,
  requireHost,
} from './http/edge-cases.ts';
import { settle, type ServerOptions } from './options.ts';
import { dropStalledReaders } from './http/slow-clients.ts';

/**
 * Makes a Fastify instance that serves the whole service: `await createServer(options).listen({ host, port })`.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION where an option is not usable
 */
export function createServer(options: ServerOptions): FastifyInstance {
  const settings = settle(options);
  const { filters } = settings;
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
    // The header limit bounds a path parameter as well.
    routerOptions: { maxParamLength: options.maxHeaderBytes ?? 16_384 },
    // Nothing here logs by request ids.
    genReqId: () => '',
    frameworkErrors: (error, request, reply) => answerRefusedUrl(error, request, reply, filters),
    clientErrorHandler: (error, socket) => answerClientError(app, error, socket, filters),
  });
  app.server.maxConnections = options.maxConnections ?? 10_000;
  prepare(app, settings, { ownsUnknownPaths: true });
  noteResponses(app);
  requireHost(app);
  forgetTypesWithoutBody(app);
  answerOddRequests(app, filters);
  app.register((scope) => addRoutes(scope, settings), { prefix: settings.prefix });
  dropStalledReaders(app, options.readTimeoutMs ?? 60_000);
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
