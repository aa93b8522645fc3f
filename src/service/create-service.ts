// The whole service as a Fastify plugin. What it registers stays inside its own scope: an application that embeds it
// keeps its own hooks, parsers, error and not-found handlers for everything else.
import type { FastifyBaseLogger, FastifyInstance, FastifyPluginAsync, RawServerDefault } from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { allowCrossOrigin } from './cors.ts';
import { readJsonBodies } from './json-body.ts';
import { createLog } from './log.ts';
import type { ServiceOptions, Settings } from './options.ts';
import { answerErrorsAsProblems } from './problem.ts';
import { addClientFiles } from './routes/client-files.ts';
import { addHealthRoutes } from './routes/health.ts';
import { addVapidKeyRoute } from './routes/vapid-key.ts';
import { addWebPushRoutes } from './routes/web-push.ts';
import { answerOptions, answerUnknownPaths } from './unknown-paths.ts';
import { compileValidator } from './validation.ts';

export type ServiceApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

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

/** The options with their defaults filled in and checked. */
export function settle(options: ServiceOptions): Settings {
  const { logging = ['filter'], sessionKey } = options;
  if (sessionKey.length !== 32) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      `The session key has ${sessionKey.length} bytes; 32 are needed.`,
    );
  }
  return {
    prefix: '',
    pushServices: [],
    logging,
    authenticate: logging.includes('authenticator') ? 'all' : 'none',
    redactSubscriptions: false,
    bodyLimitBytes: 16_384,
    registrationsPerMinute: 60,
    authorize: () => true,
    ...options,
    log: options.log ?? createLog(),
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
  answerErrorsAsProblems(app, settings.log);

  // In the order in which a request meets them.
  allowCrossOrigin(app);
  if (ownsUnknownPaths) answerUnknownPaths(app);
}

export async function addRoutes(scope: FastifyInstance, settings: Settings): Promise<void> {
  const app = scope.withTypeProvider<TypeBoxTypeProvider>();
  answerOptions(app);
  addVapidKeyRoute(app, settings.vapidPublicKey);
  await addWebPushRoutes(app, settings);
  addHealthRoutes(app, settings.store);
  addClientFiles(app);
}
