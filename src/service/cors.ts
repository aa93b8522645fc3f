// Cross-origin access: any origin, any method, any header, on every path and every response (Fetch standard §3.2).
// Credentials are never allowed, so that this openness and a cookie cannot be combined into an attack; and no preflight is cached
// (no access-control-max-age). An application around the service may have CORS of its own: on the service's paths this holds instead.
//
// Not @fastify/cors: it answers preflights by an `OPTIONS *` route of the whole application, and decorates requests;
// both would reach into an application that embeds the service.
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { representationHeaders } from '../http/etag.ts';

/** What every response carries. */
export const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Request-Time, Retry-After, Allow, ETag',
} as const;

export function addCorsHeaders(app: FastifyInstance): void {
  // @fastify/cors of the application around the service leaves such routes alone
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, cors: false } as NonNullable<typeof route.config>;
  });
  // Last of all: hooks of the application may have set these header fields, or answered a preflight.
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    removeCors(reply.raw);
    removeReplyCors(reply);
    reply.headers({ ...corsHeaders, ...preflightHeaders(raw), ...representationHeaders(reply) });
    done(null, payload);
  });
}

/** Removes what an application has set before the service answers. */
export function removeCors(response: ServerResponse): void {
  for (const name of response.getHeaderNames()) if (isCors(name)) response.removeHeader(name);
}

function removeReplyCors(reply: FastifyReply): void {
  for (const name of Object.keys(reply.getHeaders())) if (isCors(name)) reply.removeHeader(name);
}

const isCors = (name: string): boolean => name.startsWith('access-control-');

export function answerPreflights(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (preflightHeaders(raw) === undefined) return done();
    reply.code(204).send();
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
