// The whole service as a Fastify plugin, in a scope of its own: the application's hooks, parsers and handlers for
// errors and unknown paths stay as they are.
import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import type { SchemaTypeProvider } from '../http/schema.ts';

import {
  addDemonstrationRoutes,
  protectSessions,
  securitySchemes,
} from './demonstration/add-demonstration-routes.ts';
import { addDemoPage } from './demonstration/demo-page.ts';
import { addDescriptionRoutes } from '../http/description/description-routes.ts';
import { collectRoutes } from '../http/description/openapi-document.ts';
import { describeService } from './description.ts';
import { addHealthRoutes } from './health.ts';
import { handleOptions, readWildcardParams } from '../http/unknown-paths.ts';
import { prepareScope } from './scope.ts';
import { serviceChecks } from './check-options.ts';
import { asPlugin, resolveOptions, type ServiceOptions, type Settings } from './options.ts';
import { addPushRoutes, pushSecuritySchemes } from './push/add-push-routes.ts';

/**
 * Makes a Fastify plugin of the service. With a prefix it answers every path under it; without one it leaves unknown
 * paths to the application.
 *
 * @example
 * const service = createService({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey, pushOnly: true });
 * await app.register(service, { prefix: '/push' });
 * @throws {DeskbellError} ERR_CONFIGURATION if an option is not usable
 */
export function createService(options: ServiceOptions): FastifyPluginAsync {
  const settings = resolveOptions(options, serviceChecks, asPlugin);
  return async (host) => {
    await host.register(
      async (scope) => {
        prepareScope(scope, { ...settings, ownsConnections: false, ownsUnknownPaths: scope.prefix !== '' });
        await addRoutes(scope, settings);
      },
      { prefix: settings.prefix },
    );
  };
}

/** Adds the service's routes to a scope that `prepareScope` has prepared. */
export async function addRoutes(scope: FastifyInstance, settings: Settings): Promise<void> {
  const app = scope.withTypeProvider<SchemaTypeProvider>();
  readWildcardParams(app);
  if (!settings.pushOnly) protectSessions(app, settings.sessions);
  handleOptions(app);
  const routes = collectRoutes(app);
  await addPushRoutes(app, settings);
  if (!settings.pushOnly) await addDemonstrationRoutes(app, settings);
  if (!settings.pushOnly || settings.registrations === 'invited') addDemoPage(app, settings);
  addHealthRoutes(app, settings);
  addDescriptionRoutes(
    app,
    routes,
    describeService({
      ...(settings.pushOnly ? {} : securitySchemes),
      ...(settings.subscriberTokens && pushSecuritySchemes),
    }),
  );
}
