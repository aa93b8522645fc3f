// Rules for every path of a scope: reading and checking bodies, errors, and headers of each response.
import type { FastifyInstance } from 'fastify';

import { acceptConsumedBodies, defaultBodyLimitBytes, readJsonBodies } from '../http/json-body.ts';
import { readForwarded } from '../http/client-address.ts';
import { addCorsHeaders, answerPreflights } from './cors.ts';
import { enableFilters } from '../http/filter.ts';
import { assertHost } from '../http/malformed-requests.ts';
import type { Log } from '../http/log.ts';
import { type ResponseRules, sendProblems } from '../http/problem.ts';
import { handleUnknownPaths } from '../http/unknown-paths.ts';
import { compileValidator } from './validator.ts';

export interface ScopeSettings {
  readonly log: Log;
  /** Default: 16 384. */
  readonly bodyLimitBytes?: number | undefined;
  readonly rules: ResponseRules;
  /** The connections are the service's own, so it judges what Node's parser accepts. */
  readonly ownsConnections: boolean;
  /** Unknown paths are answered here instead of by the application around the scope. */
  readonly ownsUnknownPaths: boolean;
}

/** Call it before any route is added to the scope. */
export function prepareScope(app: FastifyInstance, settings: ScopeSettings): void {
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => JSON.stringify);
  readJsonBodies(app, settings.bodyLimitBytes ?? defaultBodyLimitBytes);
  acceptConsumedBodies(app);
  sendProblems(app, settings);

  readForwarded(app);
  enableFilters(app, settings.rules.filters);
  addCorsHeaders(app);
  if (settings.ownsConnections) assertHost(app);
  answerPreflights(app);
  if (settings.ownsUnknownPaths) handleUnknownPaths(app);
}
