// Responds to requests that Node's parser rejects: oversized, slow, malformed, or with an unknown method. Each gets one
// response, after the responses to earlier requests of the connection.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ServiceErrorCode, serviceErrors } from '../errors/catalogue.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { lookUp } from '../errors/check-options.ts';
import { newestResponse, openingBytes, requestStartMs } from './connections.ts';
import { toRequestHead } from './filter.ts';
import { render, type RenderedResponse, renderError, type ResponseRules } from './problem.ts';
import { rejectUnmatched } from './unknown-paths.ts';

export interface ClientError extends Error {
  readonly code?: string | undefined;
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number | undefined;
}

const errorCodes: Readonly<Record<string, ServiceErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'ERR_HEADERS_TOO_LARGE',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'ERR_BODY_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'ERR_REQUEST_TIMEOUT',
};

const endedTooEarly = 'HPE_INVALID_EOF_STATE';

const isRejected = Symbol('rejected');
/** Where the rejected request line begins in `openingBytes`. */
const lineStart = Symbol('start of the rejected line');
type RejectedSocket = Duplex & { [isRejected]?: true; [lineStart]?: number };

/** Fastify's `clientErrorHandler`. Node calls it again for further bytes, but only the first error counts. */
export function handleClientError(
  app: FastifyInstance,
  error: ClientError,
  socket: RejectedSocket,
  rules: ResponseRules,
): void {
  if (socket[isRejected]) return;
  // Any token is a well-formed method (RFC 9110 §9.1), but Node's parser rejects an unknown method at once. If only a
  // part of the line has arrived, wait for the rest.
  const line = error.code === 'HPE_INVALID_METHOD' ? rejectedLine(error, socket) : '';
  if (line.length <= maxLineCharacters && begunLine.test(line)) return;
  socket[isRejected] = true;
  const response = newestResponse(socket);
  const startMs = requestStartMs(socket);
  if (response === undefined || response.writableFinished) {
    endConnection(socket, renderUnparsed(app, error, line, startMs, rules));
  } else if (response.req.complete) {
    // The error is in a later request of the connection, so responses to earlier requests must be sent first.
    response.once('finish', () => endConnection(socket, renderUnparsed(app, error, line, startMs, rules)));
  } else if (response.headersSent || error.code === endedTooEarly) {
    socket.destroy();
  } else {
    const { method, url } = response.req;
    const { status, headers, body } = renderError({ method, url, startMs }, { fault: toFault(error) }, rules);
    response.writeHead(status, { ...headers, connection: 'close' }).end(body);
    linger(socket);
  }
}

function renderUnparsed(
  app: FastifyInstance,
  error: ClientError,
  line: string,
  startMs: number,
  rules: ResponseRules,
): RenderedResponse {
  const [, method, url] = requestLine.exec(line) ?? [];
  const rejection = method && url ? rejectUnmatched(app, method, url) : { fault: toFault(error) };
  return renderError({ method, url, startMs }, rejection, rules);
}

const requestLine = /^([!#$%&'*+.^_`|~\w-]+) (\S+) HTTP\/1\.[01]\r?\n/;
const begunLine =
  /^[!#$%&'*+.^_`|~\w-]+(?: (?:\S+(?: (?:H(?:T(?:T(?:P(?:\/(?:1(?:\.(?:[01]\r?)?)?)?)?)?)?)?)?)?)?)?$/;
const maxLineCharacters = 8192;

function rejectedLine({ rawPacket, bytesParsed = 0 }: ClientError, socket: RejectedSocket): string {
  if (!Buffer.isBuffer(rawPacket)) return '';
  const arrived = openingBytes(socket);
  const bytes = arrived?.length ? arrived : rawPacket;
  const rejectedAt = bytes.length - rawPacket.length + bytesParsed;
  socket[lineStart] ??= bytes.lastIndexOf('\n', Math.max(rejectedAt - 1, 0)) + 1;
  return bytes.toString('latin1', socket[lineStart]);
}

function toFault(cause: ClientError): DeskbellError {
  const code = lookUp(errorCodes, cause.code ?? '') ?? 'ERR_REQUEST_INVALID';
  return new DeskbellError(code, `${serviceErrors[code].title}.`, { cause });
}

// Not imported, because an import would also load Node's WebSocket and undici, which takes 80 ms.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

function endConnection(socket: Duplex, { status, headers, body }: RenderedResponse): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const fields = {
    ...headers,
    'content-length': body.length,
    date: new Date().toUTCString(),
    connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`);
  socket.end(body);
  linger(socket);
}

const lingerMs = 500;

/**
 * Keeps reading for a moment. If the connection were reset while the client is still sending, the response could be
 * lost.
 */
function linger(socket: Duplex): void {
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

// Handles requests to which Fastify and Node would respond in their own format: a URL that cannot be decoded, CONNECT,
// an unknown expectation, a content type without a body.

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

/** Drops the content type of a request without a body. Otherwise Fastify would wait for the body. */
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
  // handle the request anyway: a server may ignore an unknown expectation (RFC 9110 §10.1.1)
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** Host and optional port (RFC 3986 §3.2.2, §3.2.3). The host is a name, an IPv4 address, an IP literal or empty. */
const hostAndPort =
  /^(?:\[[\da-f:.]+\]|\[v[\da-f]+\.[\w.~!$&'()*+,;=:-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/** Checks the Host header (RFC 9112 §3.2): HTTP/1.1 needs exactly one, and its value must be a host. */
export function assertHost(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const fault = faultOf(raw);
    done(fault === undefined ? undefined : new DeskbellError('ERR_REQUEST_INVALID', fault));
  });
}

function faultOf({ headers: { host }, rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  if (host === undefined) return httpVersion === '1.1' ? 'The request has no Host header.' : undefined;
  if (!hostAndPort.test(host)) return 'The Host header is not a host with an optional port.';
  // `headers` has only the first Host header
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count > 1 ? `The request has ${count} Host headers; exactly one is needed.` : undefined;
}
