// Requests that Fastify and Node would answer in their own format: a URL that cannot be decoded, CONNECT, an unknown
// expectation, a content type without a body.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { toRequestHead } from './filter.ts';
import { render, renderError } from './render-error.ts';
import { endConnection } from './end-connection.ts';
import { rejectUnmatched } from './unknown-paths.ts';
import type { ResponseRules } from './response-rules.ts';

/** For Fastify's `frameworkErrors`: a path that is not percent-encoded UTF-8. */
export function renderMalformedUrl(
  cause: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  rules: ResponseRules,
): void {
  const preflight = rules.preflightHeaders(request.raw);
  const head = toRequestHead(request.raw);
  const message = 'The path of the URL is not percent-encoded UTF-8.';
  const fault = new DeskbellError('ERR_REQUEST_INVALID', message, { cause });
  const { status, headers, body } = preflight
    ? render(head, 204, preflight, Buffer.alloc(0), rules)
    : renderError(head, { fault }, rules);
  reply
    .code(status)
    .headers(headers)
    .send(status === 204 ? undefined : body);
}

/** Drops a content type without a body: Fastify would wait for a body that never comes. */
export function dropContentType(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    if (!hasBody && headers['content-type'] !== undefined) delete headers['content-type'];
    done();
  });
}

/** Handles CONNECT, and an `expect` that is not `100-continue`. */
export function handleConnectAndExpect(app: FastifyInstance, rules: ResponseRules): void {
  const { server } = app;
  server.on('connect', (request, socket) => {
    const { method = '', url = '' } = request;
    endConnection(socket, renderError(toRequestHead(request), rejectUnmatched(app, method, url), rules));
  });
  // a server may ignore an unknown expectation (RFC 9110 §10.1.1)
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}
