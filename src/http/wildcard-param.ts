// Routes whose last path segment is a parameter of any length. A router answers a parameter that is longer than its
// limit by itself, in a form of its own; a wildcard has no limit. So these routes end in `/*` and are checked here.
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Annotation of a route that ends in `/*`: the name of the parameter for the last segment. */
    wildcardParam?: string | undefined;
  }
}

/** Names the last segment of annotated routes; a path with more segments is not found. */
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

/** @param value what a wildcard at the end of the path matched, decoded: a `/` in it may be an encoded one */
export function isOneSegment(url: string, value: string): boolean {
  const [path = ''] = url.split(/[?#]/, 1);
  // Routers may be told to end the path at ";", and to leave out slashes at its end.
  return [path, ...path.split(';', 1)]
    .flatMap((end) => [end, end.replace(/\/+$/, '')])
    .some((end) => decodeURIComponent(end.slice(end.lastIndexOf('/') + 1)) === value);
}
