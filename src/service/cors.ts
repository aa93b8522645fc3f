// Cross-origin access: any origin, any method, any header, on every path and every response (Fetch standard §3.2).
// Credentials are never allowed, so that this openness and a cookie cannot be combined into an attack, even if the
// application around the service allows them on its paths; and no preflight is cached by us (no access-control-max-age).
//
// Not @fastify/cors: it answers preflights by an `OPTIONS *` route of the whole application, and decorates requests;
// both would reach into an application that embeds the service.
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';

/** No response carries it. */
export const allowCredentials = 'access-control-allow-credentials';

/** What every response carries. */
export const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Request-Time, Retry-After, Allow, ETag',
} as const;

export function addCorsHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(corsHeaders);
    done();
  });
  // Last of all: an application's own hook may have answered a preflight already.
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.removeHeader(allowCredentials);
    done(null, payload);
  });
}

export function answerPreflights(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const headers = preflightHeaders(raw);
    if (headers === undefined) return done();
    reply.code(204).headers(headers).send();
  });
}

/** What the response to a preflight says beside `corsHeaders`; `undefined` for any other request. */
export function preflightHeaders({ method, headers }: IncomingMessage): Record<string, string> | undefined {
  const askedMethod = headers['access-control-request-method'];
  if (method !== 'OPTIONS' || askedMethod === undefined) return undefined;
  const askedHeaders = headers['access-control-request-headers'];
  return {
    'access-control-allow-methods': askedMethod,
    ...(askedHeaders !== undefined && { 'access-control-allow-headers': askedHeaders }),
    vary: 'Access-Control-Request-Method, Access-Control-Request-Headers',
  };
}
