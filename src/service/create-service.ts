// The whole service as a Fastify plugin. It has a scope of its own, so the application's hooks, parsers, and handlers
// for errors and unknown paths stay unchanged.
import Fastify, { type FastifyInstance, type FastifyPluginAsync, type FastifyRequest } from 'fastify';
import { createTrust, readForwarded } from '../http/client-address.ts';
import { assertHost, renderMalformedUrl } from '../http/client-errors.ts';
import { createHttpServer, schemaController } from '../http/create-http-server.ts';
import { addDescriptionRoutes } from '../http/description/description-routes.ts';
import { collectRoutes } from '../http/description/openapi-document.ts';
import { enableFilters } from '../http/filter.ts';
import { acceptConsumedBodies, defaultBodyLimitBytes, readJsonBodies } from '../http/json-body.ts';
import type { Log } from '../http/log.ts';
import { type ResponseRules, sendProblems } from '../http/problem.ts';
import type { SchemaTypeProvider } from '../http/schema.ts';
import { handleOptions, handleUnknownPaths, readWildcardParams } from '../http/unknown-paths.ts';
import { addCorsHeaders, answerPreflights } from './cors.ts';
import { addDemoPage } from './demonstration/demo-page.ts';
import { addDemonstrationRoutes, securitySchemes } from './demonstration/demonstration-routes.ts';
import { protectSessions } from './demonstration/session.ts';
import { compileValidator, describeService } from './description.ts';
import { addHealthRoutes } from './health.ts';
import {
  type HandlerOptions,
  resolveOptions,
  serverChecks,
  type ServerOptions,
  serviceChecks,
  type ServiceOptions,
  type Settings,
} from './options.ts';
import { addPushRoutes, pushSecuritySchemes } from './push/push-routes.ts';

/**
 * Creates the service as a Fastify plugin. With a prefix, the plugin handles every path under the prefix. Without a
 * prefix, the plugin leaves unknown paths to the application.
 *
 * @example
 * const service = createService({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey, pushOnly: true });
 * await app.register(service, { prefix: '/push' });
 * @throws {DeskbellError} ERR_CONFIGURATION if an option is not usable
 */
export function createService(options: ServiceOptions): FastifyPluginAsync {
  const settings = resolveOptions(options, serviceChecks, ownRequest);
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

const ownRequest = (request: FastifyRequest): FastifyRequest => request;

/** Adds the service's routes to a scope that `prepareScope` has prepared. */
async function addRoutes(scope: FastifyInstance, settings: Settings): Promise<void> {
  const app = scope.withTypeProvider<SchemaTypeProvider>();
  readWildcardParams(app);
  const sessionOf = settings.pushOnly ? undefined : protectSessions(app, settings.sessionKey);
  handleOptions(app);
  const routes = collectRoutes(app);
  await addPushRoutes(app, settings);
  if (sessionOf !== undefined) await addDemonstrationRoutes(app, settings, sessionOf);
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

export interface ScopeSettings {
  readonly log: Log;
  readonly bodyLimitBytes?: number | undefined;
  readonly rules: ResponseRules;
  /** True if the service has its own connections. It then has to check requests that Node's parser accepts. */
  readonly ownsConnections: boolean;
  /** True if the service handles unknown paths itself, instead of leaving them to the application around the scope. */
  readonly ownsUnknownPaths: boolean;
}

/** Must be called before any route is added to the scope. */
export function prepareScope(app: FastifyInstance, settings: ScopeSettings): void {
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => JSON.stringify);
  readJsonBodies(app, settings.bodyLimitBytes ?? defaultBodyLimitBytes);
  acceptConsumedBodies(app);
  sendProblems(app, settings.rules, settings.log);

  readForwarded(app);
  enableFilters(app, settings.rules.filters);
  addCorsHeaders(app);
  if (settings.ownsConnections) assertHost(app);
  answerPreflights(app);
  if (settings.ownsUnknownPaths) handleUnknownPaths(app);
}

/**
 * Creates a Fastify instance that serves the whole service, with time-outs and limits for each client.
 *
 * @example
 * await createServer({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey }).listen({ port: 8080 });
 * @throws {DeskbellError} ERR_CONFIGURATION if an option is not usable
 */
export function createServer(options: ServerOptions): FastifyInstance {
  const settings = resolveOptions(options, serverChecks, ownRequest, { redactSubscriptions: false });
  const app = createHttpServer(options, settings.rules);
  prepareScope(app, { ...settings, ownsConnections: true, ownsUnknownPaths: true });
  app.register((scope) => addRoutes(scope, settings), { prefix: settings.prefix });
  return app;
}

export function createMountedApp(
  settings: Settings,
  { trustProxy }: Pick<HandlerOptions, 'trustProxy'>,
): FastifyInstance {
  const app = Fastify({
    schemaController,
    trustProxy: createTrust(trustProxy),
    genReqId: () => '',
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => renderMalformedUrl(error, request, reply, settings.rules),
  });
  prepareScope(app, { ...settings, ownsConnections: false, ownsUnknownPaths: true });
  app.register((scope) => addRoutes(scope, settings), { prefix: settings.prefix });
  return app;
}
