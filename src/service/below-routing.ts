// Answers to what never reaches a route or a hook: URLs that cannot be decoded, requests that are not HTTP or take
// too long, methods that Node's parser does not know, CONNECT. They carry what all others carry.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import { catalogue, type ErrorCode } from '../errors/catalogue.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { corsHeaders } from './cors.ts';
import { opaqueEntity } from './mechanisms/entity.ts';
import type { Filter, RequestHead } from './mechanisms/filter.ts';
import { problemType, toProblem } from './problem.ts';
import { refuse } from './unknown-paths.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** For Fastify's option `frameworkErrors`: a path that is not percent-encoded UTF-8. */
export function answerRefusedUrl(
  cause: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  filters: readonly Filter[],
): void {
  const message = 'The path of the URL is not percent-encoded UTF-8.';
  const fault = new DeskbellError('ERR_REQUEST_INVALID', message, { cause });
  const { status, headers, body } = answerOf(request, { fault }, filters);
  reply.code(status).headers(headers).send(body);
}

/** For Fastify's option `clientErrorHandler`, made before the server begins to listen. */
export function createClientErrorHandler(
  app: FastifyInstance,
  filters: readonly Filter[],
): (error: ClientError, socket: Duplex) => void {
  return (error, socket) => {
    const response = (socket as AnsweredSocket)[newestResponse];
    if (response === undefined || response.writableFinished) {
      end(socket, answerClientError(app, error, filters));
    } else if (response.req.complete) {
      // The fault is in a later request of the same connection; answers keep their order.
      response.once('finish', () => end(socket, answerClientError(app, error, filters)));
    } else if (response.headersSent || error.code === endedTooEarly) {
      socket.destroy();
    } else {
      const { method, url } = response.req;
      const { status, headers, body } = answerOf({ method, url }, { fault: faultOf(error) }, filters);
      response.writeHead(status, { ...headers, connection: 'close' }).end(body);
      linger(socket);
    }
  };
}

/** The answer to the request that a connection carried last. */
const newestResponse = Symbol('newest response');
type AnsweredSocket = Duplex & { [newestResponse]?: ServerResponse<IncomingMessage> };

interface ClientError extends Error {
  readonly code?: string | undefined;
  /** What the parser was given, and how far it came. */
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number | undefined;
}

const endedTooEarly = 'HPE_INVALID_EOF_STATE';

/** The answer to something that never became a request. */
function answerClientError(app: FastifyInstance, error: ClientError, filters: readonly Filter[]): Answer {
  // A method of the client's own is well-formed HTTP (RFC 9110 §9.1); Node's parser has a list and knows no others.
  const line = error.code === 'HPE_INVALID_METHOD' ? refusedLine(error) : '';
  const [, method, url] = requestLine.exec(line) ?? [];
  const refusal = method && url ? refuse(app, method, url) : { fault: faultOf(error) };
  return answerOf({ method, url }, refusal, filters);
}

/** The line that the parser stopped in. */
function refusedLine({ rawPacket, bytesParsed = 0 }: ClientError): string {
  if (!Buffer.isBuffer(rawPacket)) return '';
  const start = rawPacket.lastIndexOf('\n', Math.max(bytesParsed - 1, 0)) + 1;
  return rawPacket.toString('latin1', start);
}

function faultOf(cause: ClientError): DeskbellError {
  const code = clientErrorCodes[cause.code ?? ''] ?? 'ERR_REQUEST_INVALID';
  return new DeskbellError(code, `${catalogue[code].title}.`, { cause });
}

/** What Node would answer by itself, and barely: CONNECT, and an `expect` that is not `100-continue`. */
export function answerOddRequests(app: FastifyInstance, filters: readonly Filter[]): void {
  const { server } = app;
  server.on('connect', ({ method = '', url = '' }, socket) => {
    end(socket, answerOf({ method, url }, refuse(app, method, url), filters));
  });
  // RFC 9110 §10.1.1 lets a server look away from an expectation that it does not know.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** What a request of a connection is to this server, ahead of all routes. */
export function watchRequests(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    (raw.socket as AnsweredSocket)[newestResponse] = reply.raw;
    // RFC 9112 §3.2: a request of HTTP/1.1 without Host is a 400.
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

/** The answer to a refused request, having passed the enabled filters like any other. */
function answerOf(
  request: RequestHead,
  { fault, allow }: { readonly fault: DeskbellError; readonly allow?: string },
  filters: readonly Filter[],
): Answer {
  const headers: Record<string, string> = { ...corsHeaders, 'content-type': problemType };
  if (allow !== undefined) headers['allow'] = allow;
  const { status } = fault;
  const setHeader = (name: string, value: string): void => {
    headers[name] = value;
  };
  const response = { status, entity: opaqueEntity, isAborted: false, setHeader };
  for (const filter of filters) filter({ method: request.method, url: request.url })(response);
  return { status, headers, body: Buffer.from(JSON.stringify(toProblem(fault))) };
}

const lingerMs = 500;

/** Writes the last answer of a connection. */
function end(socket: Duplex, { status, headers, body }: Answer): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const lines = Object.entries({
    ...headers,
    'content-length': body.length,
    connection: 'close',
  });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n`);
  socket.end(body);
  linger(socket);
}

/** What the client is still sending is read for a moment, or the answer would be lost to a reset. */
function linger(socket: Duplex): void {
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
