// The whole service as a Fastify plugin. What it registers stays inside its own scope: an application that embeds it
// keeps its own hooks, parsers, error and not-found handlers for everything else.
import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';

import { allowCrossOrigin } from './http/cors.ts';
import { refuseForgedRequests } from './demonstration/csrf.ts';
import { addDescriptionRoute, gatherDescription } from './http/openapi-document.ts';
import { readJsonBodies } from './http/json-body.ts';
import type { ReadSession } from './demonstration/mechanisms/action-request.ts';
import { enableFilters } from './demonstration/mechanisms/filter.ts';
import { settle, type ServiceOptions, type Settings } from './options.ts';
import { answerErrorsAsProblems } from './http/problem.ts';
import { addClientFiles } from './push/client-files.ts';
import { addDemoApi } from './demonstration/actions.ts';
import { addDocsPage } from './http/docs-page.ts';
import { addHealthRoutes } from './http/health.ts';
import { addUserRoutes } from './demonstration/users.ts';
import { addVapidKeyRoute } from './push/vapid-key.ts';
import { addWebPushRoutes } from './push/web-push.ts';
import type { RequestSessions } from './demonstration/session.ts';
import { answerOptions, answerUnknownPaths } from './http/unknown-paths.ts';
import { compileValidator } from './http/validation.ts';

/**
 * Makes a Fastify plugin of the service: `app.register(createService({ store, vapidPublicKey, sessionKey }))`.
 *
 * Under a prefix it answers every path there is; without one it leaves unknown paths to the application.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION where an option is not usable
 */
export function createService(options: ServiceOptions): FastifyPluginAsync {
  const settings = settle(options);
  return async (host) => {
    await host.register(
      async (scope) => {
        prepare(scope, settings, { ownsUnknownPaths: scope.prefix !== '' });
        await addRoutes(scope, settings);
      },
      { prefix: settings.prefix },
    );
  };
}

/** What holds for every path of a scope: how bodies are read and checked, errors answered, and what each answer carries. */
export function prepare(
  app: FastifyInstance,
  settings: Settings,
  { ownsUnknownPaths }: { readonly ownsUnknownPaths: boolean },
): void {
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => JSON.stringify);
  readJsonBodies(app, settings.bodyLimitBytes);
  answerErrorsAsProblems(app, settings);

  // In the order in which a request meets them.
  enableFilters(app, settings.filters);
  allowCrossOrigin(app);
  if (ownsUnknownPaths) answerUnknownPaths(app);
  settings.sessions.openAll(app);
  refuseForgedRequests(app, settings.sessions);
}

export async function addRoutes(scope: FastifyInstance, settings: Settings): Promise<void> {
  const app = scope.withTypeProvider<TypeBoxTypeProvider>();
  answerOptions(app);
  await gatherDescription(app);
  addVapidKeyRoute(app, settings.vapidPublicKey);
  await addWebPushRoutes(app, settings);
  await app.register(async (demo) => addDemoApi(demo, settings, readSession(settings.sessions)));
  addUserRoutes(app, settings.store.users);
  addHealthRoutes(app, settings.store);
  addClientFiles(app);
  addDescriptionRoute(app);
  addDocsPage(app);
}

function readSession(sessions: RequestSessions): ReadSession {
  return (request) => {
    const value = sessions.of(request)?.SESSION;
    return value === undefined ? {} : { SESSION: value };
  };
}
