// Reads request bodies: JSON in strict UTF-8 (RFC 8259 §8.1), and plain text on some routes. `JSON.parse` makes
// `__proto__` a plain own property, which nothing reads. It is not recursive, so only the body's size limits nesting.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { MIMEType } from 'node:util';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { escapeControls } from '../errors/untrusted-text.ts';

export const defaultBodyLimitBytes = 16_384;
const jsonType = 'application/json';
const utf8 = new TextDecoder('utf-8', { fatal: true });

export function readJsonBodies(app: FastifyInstance, bodyLimit: number): void {
  app.removeAllContentTypeParsers();
  limitBodies(app, bodyLimit);
  addParser(app, jsonType, parseJson);
}

/** Makes the routes of this scope accept plain text as well as JSON. Drops a line break at the end of the text. */
export function readTextBodies(app: FastifyInstance): void {
  addParser(app, 'text/plain', (body) => decode(body).replace(/\r?\n$/, ''));
}

function addParser(app: FastifyInstance, mediaType: string, parse: (body: Buffer) => unknown): void {
  app.addContentTypeParser(mediaType, { parseAs: 'buffer' }, (request, body, done) => {
    const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = request.headers;
    try {
      const charset = new MIMEType(type).params.get('charset') ?? 'utf-8';
      // content codings and charsets are case-insensitive (RFC 9110 §8.3.2, §8.4.1)
      if (encoding.toLowerCase() !== 'identity' || !/^(utf-?8|us-ascii)$/i.test(charset)) {
        throw new DeskbellError('ERR_CONTENT_TYPE', 'The body must be UTF-8 without a content encoding.');
      }
      done(null, parse(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Sets the limit, in bytes, of routes that have none of their own. Call this before the routes are added. */
export function limitBodies(app: FastifyInstance, bodyLimit: number): void {
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= bodyLimit;
  });
}

function parseJson(body: Buffer): unknown {
  const text = decode(body);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw malformed(body, 'well-formed JSON', cause);
  }
}

function decode(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch (cause) {
    throw malformed(body, 'UTF-8', cause);
  }
}

const malformed = (body: Buffer, what: string, cause: unknown): DeskbellError =>
  new DeskbellError('ERR_JSON_MALFORMED', `The body (${body.length} bytes) is not ${what}.`, { cause });

// Takes the body from `request.body` if other code, such as express.json(), has already read the stream. If
// `request.body` is not set then, the request fails at once, since reading the stream would never end.

type ParsedMessage = IncomingMessage & { readonly body?: unknown };

export function acceptConsumedBodies(app: FastifyInstance): void {
  app.addHook('preParsing', ({ raw }: { readonly raw: ParsedMessage }, _reply, payload, done) => {
    // if there is neither a body nor a content type, Fastify reads nothing, and Node has already ended the request
    const isRead = hasBody(raw) || raw.headers['content-type'] !== undefined;
    if (!isRead || (!raw.readableDidRead && !raw.readableEnded)) return done(null, payload);
    const bytes = hasBody(raw) ? toBytes(raw.body) : Buffer.alloc(0);
    if (bytes === undefined) {
      const message = 'The body was read before the request reached the service, and is not in request.body.';
      return done(new DeskbellError('ERR_BODY_CONSUMED', message));
    }
    // Fastify compares `receivedEncodedLength` with the header content-length.
    const receivedEncodedLength = Number(raw.headers['content-length'] ?? bytes.length);
    done(null, Object.assign(Readable.from([bytes]), { receivedEncodedLength }));
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}

function toBytes(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

// JSON responses contain all digits of an int64. Characters that a terminal would interpret are escaped.

export const jsonContentType = 'application/json; charset=utf-8';

// Node has had this since version 21, but TypeScript's library does not declare it yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

export function exactNumber(integer: bigint): unknown {
  return rawJSON(String(integer));
}

export function sendJson(reply: FastifyReply, value: unknown): FastifyReply {
  return reply.header('content-type', jsonContentType).send(escapeControls(JSON.stringify(value)));
}
