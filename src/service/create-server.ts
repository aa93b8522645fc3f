import type { FastifyInstance } from 'fastify';

import { createHttpServer } from '../http/create-http-server.ts';
import { addRoutes } from './create-service.ts';
import { serverChecks } from './check-options.ts';
import { asServer, resolveOptions, type ServerOptions } from './options.ts';
import { prepareScope } from './scope.ts';

/**
 * Makes a Fastify instance that serves the whole service, with time-outs and limits for each client.
 *
 * @example
 * await createServer({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey }).listen({ port: 8080 });
 * @throws {DeskbellError} ERR_CONFIGURATION if an option is not usable
 */
export function createServer(options: ServerOptions): FastifyInstance {
  const settings = resolveOptions(options, serverChecks, asServer);
  const app = createHttpServer(options, settings.rules);
  prepareScope(app, { ...settings, ownsConnections: true, ownsUnknownPaths: true });
  app.register((scope) => addRoutes(scope, settings), { prefix: settings.prefix });
  return app;
}
