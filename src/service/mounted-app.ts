// The Fastify application inside a request handler: for services that are part of an application which is not Fastify's.
import Fastify, { type FastifyInstance } from 'fastify';

import { createTrust } from '../http/client-address.ts';
import { renderMalformedUrl } from '../http/malformed-requests.ts';
import { addRoutes } from './create-service.ts';
import type { HandlerOptions, Settings } from './options.ts';
import { prepareScope } from './scope.ts';

/** Answers every path, those outside the prefix with 404. */
export function createMountedApp(
  settings: Settings,
  { trustProxy }: Pick<HandlerOptions, 'trustProxy'>,
): FastifyInstance {
  const app = Fastify({
    trustProxy: createTrust(trustProxy),
    genReqId: () => '',
    // a request after `close` is answered as long as the store is open
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => renderMalformedUrl(error, request, reply, settings.rules),
  });
  prepareScope(app, { ...settings, ownsConnections: false, ownsUnknownPaths: true });
  app.register((scope) => addRoutes(scope, settings), { prefix: settings.prefix });
  return app;
}
