// Requests that match no route: 404, or 405 with `allow` if the path has other methods. Answers OPTIONS on every path that
// has a route. (Preflights are answered earlier.)
import type { FastifyInstance, FastifyServerOptions } from 'fastify';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { isOneSegment } from './wildcard-param.ts';
import type { Rejection } from './render-error.ts';

/**
 * Answers OPTIONS on each path of this scope, also if unknown paths around it belong to the host application, and HEAD wherever there
 * is GET, also if the host application has turned that off (`exposeHeadRoutes`).
 */
export function handleOptions(app: FastifyInstance): void {
  const paths = new Set<string>();
  const { exposeHeadRoutes = true } = app.initialConfig as FastifyServerOptions;
  app.addHook('onRoute', (route) => {
    const { url, routePath, config } = route;
    if (route.method === 'GET' && !exposeHeadRoutes) app.route({ ...route, url: routePath, method: 'HEAD' });
    if (paths.has(url)) return;
    paths.add(url);
    app.options(
      routePath,
      { prefixTrailingSlash: 'slash', config: { wildcardParam: config?.wildcardParam } },
      (request, reply) => reply.code(204).header('allow', allowedMethods(app, request.url).join(', ')).send(),
    );
  });
}

/** Answers paths that match no route. Only for a server of its own or a scope with a prefix. */
export function handleUnknownPaths(app: FastifyInstance): void {
  // An application around the scope may have a route for OPTIONS on all paths, as @fastify/cors does.
  if (app.prefix !== '')
    app.options('/*', (request) => {
      throw rejectUnmatched(app, request.method, request.url).fault;
    });
  // Before the body is read: it has no meaning here.
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    const { fault, allow } = rejectUnmatched(app, request.method, request.url);
    if (allow) reply.header('allow', allow);
    done(fault);
  });
  app.setNotFoundHandler((request) => {
    throw rejectUnmatched(app, request.method, request.url).fault;
  });
}

/** Why a request matches no route, and the `allow` header where the path is known (RFC 9110 §15.5.6). */
export function rejectUnmatched(app: FastifyInstance, method: string, url: string): Rejection {
  const allow = allowedMethods(app, url).join(', ');
  if (allow === '')
    return { fault: new DeskbellError('ERR_ROUTE_UNKNOWN', 'There is nothing at this path.') };
  return {
    fault: new DeskbellError('ERR_METHOD_NOT_ALLOWED', `${method} is not one of ${allow}.`),
    allow,
  };
}

/** Of the path; none where it is unknown. Each path with a route has one for OPTIONS; others may match one for all paths. */
export function allowedMethods(app: FastifyInstance, url: string): string[] {
  const methods = app.supportedMethods.filter((method) => method !== 'OPTIONS' && hasRoute(app, method, url));
  return methods.length === 0 ? [] : [...methods, 'OPTIONS'].toSorted();
}

/** Whether a route takes the request. */
export function hasRoute(app: FastifyInstance, method: string, url: string): boolean {
  const [path = ''] = url.split(/[?#]/, 1);
  const route = app.findRoute({ method, url: path });
  // For a target that it cannot read, such as that of CONNECT, the router finds its own answer, which has no searchParams.
  if (route?.searchParams === undefined) return false;
  const wildcard = route.params['*'];
  return wildcard === undefined || isOneSegment(path, wildcard);
}
