// Cross-origin access: any origin, any method, any header, on every path and every answer (Fetch standard §3.2).
// Credentials are never allowed, so that this openness and a cookie cannot be combined into an attack, and no
// preflight is cached by us (no access-control-max-age).
//
// Not @fastify/cors: it answers preflights by an `OPTIONS *` route of the whole application, and decorates requests;
// both would reach into an application that embeds the service.
import type { FastifyInstance } from 'fastify';

const exposedHeaders = 'Request-Time, Retry-After, Allow, ETag';

/** What every answer carries. */
export const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposedHeaders,
} as const;

export function allowCrossOrigin(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', exposedHeaders);
    const method = request.headers['access-control-request-method'];
    if (request.method !== 'OPTIONS' || method === undefined) return done();
    reply
      .header('access-control-allow-methods', method)
      .header('vary', 'Access-Control-Request-Method, Access-Control-Request-Headers');
    const headers = request.headers['access-control-request-headers'];
    if (headers !== undefined) reply.header('access-control-allow-headers', headers);
    reply.code(204).send();
  });
}
