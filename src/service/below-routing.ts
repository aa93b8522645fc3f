// Answers to what never reaches a route or a hook: URLs that cannot be decoded, requests that are not HTTP or take
// too long, methods that Node's parser does not know, CONNECT. They carry what all others carry.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import { catalogue, type ErrorCode } from '../errors/catalogue.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { corsHeaders } from './cors.ts';
import { problemType, toProblem } from './problem.ts';
import { refuse } from './unknown-paths.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** For Fastify's option `frameworkErrors`: a path that is not percent-encoded UTF-8. */
export function answerRefusedUrl(cause: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  const message = 'The path of the URL is not percent-encoded UTF-8.';
  const { status, headers, body } = answerOf(new DeskbellError('ERR_REQUEST_INVALID', message, { cause }));
  reply.code(status).headers(headers).send(Buffer.from(body));
}

/** For Fastify's option `clientErrorHandler`. */
export function answerClientError(
  app: FastifyInstance,
  error: Error & { readonly code?: string | undefined; readonly rawPacket?: unknown },
  socket: Duplex,
): void {
  // A method of the client's own is well-formed HTTP (RFC 9110 §9.1); Node's parser has a list and knows no others.
  const { code, rawPacket } = error;
  const head =
    code === 'HPE_INVALID_METHOD' && Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : '';
  const [, method, url] = requestLine.exec(head) ?? [];
  if (method !== undefined && url !== undefined) {
    const { fault, allow } = refuse(app, method, url);
    end(socket, answerOf(fault, allow === undefined ? {} : { allow }));
    return;
  }
  const errorCode = clientErrorCodes[code ?? ''] ?? 'ERR_REQUEST_INVALID';
  end(socket, answerOf(new DeskbellError(errorCode, catalogue[errorCode].title)));
}

/** What Node would answer by itself, and barely: CONNECT, and an `expect` that is not `100-continue`. */
export function answerOddRequests(app: FastifyInstance): void {
  const { server } = app;
  server.on('connect', ({ url = '' }, socket) => end(socket, answerOf(refuse(app, 'CONNECT', url).fault)));
  // RFC 9110 §10.1.1 lets a server look away from an expectation that it does not know.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** RFC 9112 §3.2: a request of HTTP/1.1 without Host is a 400. */
export function requireHost(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    if (raw.headers.host !== undefined || raw.httpVersion !== '1.1') return done();
    done(new DeskbellError('ERR_REQUEST_INVALID', 'The request has no Host header.'));
  });
}

const requestLine = /^([!#$%&'*+.^_`|~\w-]+) (\S+) HTTP\/1\.[01]\r?\n/;

const clientErrorCodes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'ERR_HEADERS_TOO_LARGE',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'ERR_BODY_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'ERR_REQUEST_TIMEOUT',
};

function answerOf(fault: DeskbellError, further: Readonly<Record<string, string>> = {}): Answer {
  return {
    status: fault.status,
    headers: { ...corsHeaders, 'content-type': problemType, ...further },
    body: JSON.stringify(toProblem(fault)),
  };
}

const lingerMs = 500;

/** Writes a last answer. What the client is still sending is read for a moment, or the answer would be lost to a reset. */
function end(socket: Duplex, { status, headers, body }: Answer): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const lines = Object.entries({
    ...headers,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`);
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
