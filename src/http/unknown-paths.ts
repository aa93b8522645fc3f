// Responds to requests that match no route: 404, or 405 with `allow` if the path has other methods. Every path with a
// route responds to OPTIONS. Preflights never come here.
import type { FastifyInstance, FastifyServerOptions } from 'fastify';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Rejection } from './problem.ts';

/** Answers OPTIONS on each path of this scope, and HEAD for every GET, whatever the host application does. */
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

/** Responds to paths that match no route. Use this only for the service's own server, or for a scope with a prefix. */
export function handleUnknownPaths(app: FastifyInstance): void {
  // The application around the scope may answer OPTIONS on all paths, as @fastify/cors does.
  if (app.prefix !== '')
    app.options('/*', (request) => {
      throw rejectUnmatched(app, request.method, request.url).fault;
    });
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

/** On the operator's listener, bells are at this path. */
export const bellsPath = '/ring';

/** The error for a request that matches no route, with the `allow` header if the path is known (RFC 9110 §15.5.6). */
export function rejectUnmatched(app: FastifyInstance, method: string, url: string): Rejection {
  const allow = allowedMethods(app, url).join(', ');
  if (allow === '')
    return { fault: new DeskbellError('ERR_ROUTE_UNKNOWN', `There is nothing at this path${hintAt(url)}.`) };
  return {
    fault: new DeskbellError('ERR_METHOD_NOT_ALLOWED', `${method} is not one of ${allow}.`),
    allow,
  };
}

/** A hint in the error for a bell's URL, which a proxy may have sent to the service's listener. */
const hintAt = (url: string): string =>
  url.split(/[/?#]/, 2)[1] === bellsPath.slice(1)
    ? ': bells are on the operator’s listener, serve --operator'
    : '';

/** Returns an empty list for an unknown path. Ignores OPTIONS, which a route may handle for all paths. */
export function allowedMethods(app: FastifyInstance, url: string): string[] {
  const methods = app.supportedMethods.filter((method) => method !== 'OPTIONS' && hasRoute(app, method, url));
  return methods.length === 0 ? [] : [...methods, 'OPTIONS'].toSorted();
}

export function hasRoute(app: FastifyInstance, method: string, url: string): boolean {
  const [path = ''] = url.split(/[?#]/, 1);
  const route = app.findRoute({ method, url: path });
  // If the router cannot parse the target, for example of a CONNECT request, the result has no `searchParams`.
  if (route?.searchParams === undefined) return false;
  const wildcard = route.params['*'];
  return wildcard === undefined || isOneSegment(path, wildcard);
}

// Routes whose last path segment is a parameter of any length. The router would respond to a long parameter in
// its own format, but does not limit wildcards. So these routes end in `/*`, and the wildcard is checked here.

declare module 'fastify' {
  interface FastifyContextConfig {
    wildcardParam?: string | undefined;
  }
}

/** Makes the wildcard of annotated routes a parameter. If it matches more than one segment, the path is not found. */
export function readWildcardParams(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { wildcardParam } = request.routeOptions.config;
    if (wildcardParam === undefined) return done();
    const { '*': value } = request.params as { '*': string };
    if (!isOneSegment(request.url, value)) return void reply.callNotFound();
    request.params = { [wildcardParam]: value };
    done();
  });
}

/** @param value the decoded match of the wildcard. A `/` in the match may have been encoded */
function isOneSegment(url: string, value: string): boolean {
  const [path = ''] = url.split(/[?#]/, 1);
  // Some routers end the path at ";", and some ignore slashes at the end of a path.
  return [path, ...path.split(';', 1)]
    .flatMap((end) => [end, end.replace(/\/+$/, '')])
    .some((end) => decodeURIComponent(end.slice(end.lastIndexOf('/') + 1)) === value);
}

/** Adds a route for another spelling of a path. A router that ignores slashes refuses a duplicate, which is fine. */
export function addSpelling(add: () => unknown): void {
  try {
    add();
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error;
  }
}
