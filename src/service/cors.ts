// Cross-origin access: any origin, method and header, on every path and response (Fetch standard §3.2). Credentials are
// never allowed, so no other origin can use a cookie. Preflights are not cached (no access-control-max-age). If an
// application around the service sets CORS headers of its own, ours replace them on the service's paths.
//
// @fastify/cors is not used: it adds an `OPTIONS *` route to the whole application and decorates requests, so it would
// change an application that embeds the service.
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { representationHeaders } from '../http/client-files.ts';

export const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Request-Time, Retry-After, Allow, ETag',
} as const;

export function addCorsHeaders(app: FastifyInstance): void {
  // if the application around the service uses @fastify/cors, this makes it skip these routes
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, cors: false } as NonNullable<typeof route.config>;
  });
  // Runs last, since hooks of the application may have set these headers or answered a preflight.
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    removeCors(reply.raw);
    removeReplyCors(reply);
    reply.headers({ ...corsHeaders, ...preflightHeaders(raw), ...representationHeaders(reply) });
    done(null, payload);
  });
}

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
