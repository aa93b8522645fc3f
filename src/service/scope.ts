// What holds for every path of a scope: how bodies are read and checked, how errors are rendered, and which headers each
// response carries.
import type { FastifyInstance } from 'fastify';

import { acceptConsumedBodies } from '../http/consumed-body.ts';
import { readForwarded } from '../http/client-address.ts';
import { addCorsHeaders, answerPreflights } from './cors.ts';
import { enableFilters } from '../http/filter.ts';
import { assertHost } from '../http/host.ts';
import { defaultBodyLimitBytes, readJsonBodies } from '../http/json-body.ts';
import type { Log } from '../http/log.ts';
import { sendProblems } from '../http/problem.ts';
import type { ResponseRules } from '../http/response-rules.ts';
import { handleUnknownPaths } from '../http/unknown-paths.ts';
import { compileValidator } from './validator.ts';

export interface ScopeSettings {
  readonly log: Log;
  /** Default: 16 384. */
  readonly bodyLimitBytes?: number | undefined;
  readonly rules: ResponseRules;
  /** Whether the connections are the service's own, so that it judges what Node's parser lets pass. */
  readonly ownsConnections: boolean;
  /** Whether paths that no route takes are answered here, or left to the application around the scope. */
  readonly ownsUnknownPaths: boolean;
}

/** To be called before any route is added to the scope. */
export function prepareScope(app: FastifyInstance, settings: ScopeSettings): void {
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => JSON.stringify);
  readJsonBodies(app, settings.bodyLimitBytes ?? defaultBodyLimitBytes);
  acceptConsumedBodies(app);
  sendProblems(app, settings);

  // In the order in which a request meets them.
  readForwarded(app);
  enableFilters(app, settings.rules.filters);
  addCorsHeaders(app);
  if (settings.ownsConnections) assertHost(app);
  answerPreflights(app);
  if (settings.ownsUnknownPaths) handleUnknownPaths(app);
}
