// Routes whose last path segment is a parameter of any length. The router would answer a long parameter in its own
// form, but limits no wildcard, so these routes end in `/*` and are checked here.
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
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

/** @param value the wildcard's match, decoded: a `/` in it may have been encoded */
export function isOneSegment(url: string, value: string): boolean {
  const [path = ''] = url.split(/[?#]/, 1);
  // Routers may end the path at ";", and ignore slashes at its end.
  return [path, ...path.split(';', 1)]
    .flatMap((end) => [end, end.replace(/\/+$/, '')])
    .some((end) => decodeURIComponent(end.slice(end.lastIndexOf('/') + 1)) === value);
}
