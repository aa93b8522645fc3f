// What holds for every path of a scope: how bodies are read and checked, how errors are rendered, and which headers each
// response carries.
import type { FastifyInstance } from 'fastify';

import { acceptConsumedBodies } from './consumed-body.ts';
import { addCorsHeaders, answerPreflights } from './cors.ts';
import { enableFilters, type Filter } from './filter.ts';
import { assertHost } from './host.ts';
import { readJsonBodies } from './json-body.ts';
import type { Log } from './log.ts';
import { sendProblems } from './problem.ts';
import { handleUnknownPaths } from './unknown-paths.ts';
import { compileValidator } from './validation.ts';

export interface ScopeSettings {
  readonly log: Log;
  readonly bodyLimitBytes: number;
  readonly filters: readonly Filter[];
  /** Whether the connections are the service's own, so that it judges what Node's parser lets pass. */
  readonly ownsConnections: boolean;
  /** Whether paths that no route takes are answered here, or left to the application around the scope. */
  readonly ownsUnknownPaths: boolean;
}

/** To be called before any route is added to the scope. */
export function prepareScope(app: FastifyInstance, settings: ScopeSettings): void {
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => JSON.stringify);
  readJsonBodies(app, settings.bodyLimitBytes);
  acceptConsumedBodies(app);
  sendProblems(app, settings);

  // In the order in which a request meets them.
  enableFilters(app, settings.filters);
  addCorsHeaders(app);
  if (settings.ownsConnections) assertHost(app);
  answerPreflights(app);
  if (settings.ownsUnknownPaths) handleUnknownPaths(app);
}
