// The Fastify application inside request handlers of the service.
import Fastify, { type FastifyInstance } from 'fastify';

import { createTrust } from '../http/client-address.ts';
import { renderMalformedUrl } from '../http/malformed-requests.ts';
import { addRoutes } from './create-service.ts';
import type { HandlerOptions, Settings } from './options.ts';
import { prepareScope } from './scope.ts';

export function createMountedApp(
  settings: Settings,
  { trustProxy }: Pick<HandlerOptions, 'trustProxy'>,
): FastifyInstance {
  const app = Fastify({
    trustProxy: createTrust(trustProxy),
    genReqId: () => '',
    // answers requests after `close` as long as the store is open
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => renderMalformedUrl(error, request, reply, settings.rules),
  });
  prepareScope(app, { ...settings, ownsConnections: false, ownsUnknownPaths: true });
  app.register((scope) => addRoutes(scope, settings), { prefix: settings.prefix });
  return app;
}
