// Requests that Fastify and Node would answer in their own format: a URL that cannot be decoded, CONNECT, an unknown
// expectation, a content type without a body.
import type { IncomingMessage } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { endConnection } from './client-errors.ts';
import { toRequestHead } from './filter.ts';
import { render, renderError, type ResponseRules } from './problem.ts';
import { rejectUnmatched } from './unknown-paths.ts';

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

export function handleConnectAndExpect(app: FastifyInstance, rules: ResponseRules): void {
  const { server } = app;
  server.on('connect', (request, socket) => {
    const { method = '', url = '' } = request;
    endConnection(socket, renderError(toRequestHead(request), rejectUnmatched(app, method, url), rules));
  });
  // a server may ignore an unknown expectation (RFC 9110 §10.1.1)
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

// The Host header of a request (RFC 9112 §3.2): exactly one in HTTP/1.1, and one that names a host.

/** RFC 3986 §3.2.2, §3.2.3: a registered name, an IPv4 address or an IP literal, and a port; may be empty. */
const hostAndPort =
  /^(?:\[[\da-f:.]+\]|\[v[\da-f]+\.[\w.~!$&'()*+,;=:-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

export function assertHost(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const fault = faultOf(raw);
    done(fault === undefined ? undefined : new DeskbellError('ERR_REQUEST_INVALID', fault));
  });
}

function faultOf({ headers: { host }, rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  if (host === undefined) return httpVersion === '1.1' ? 'The request has no Host header.' : undefined;
  if (!hostAndPort.test(host)) return 'The Host header is not a host with an optional port.';
  // `headers` has only the first one
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count > 1 ? `The request has ${count} Host headers; exactly one is needed.` : undefined;
}
