// Reads request bodies: JSON in strict UTF-8 (RFC 8259 §8.1), and plain text on some routes. `JSON.parse` makes
// `__proto__` a plain own property, which nothing reads, and does not recurse, so the body limit bounds nesting.
import { MIMEType } from 'node:util';
import type { FastifyInstance } from 'fastify';

import { DeskbellError } from '../errors/deskbell-error.ts';

/** Default of the public service. */
export const defaultBodyLimitBytes = 16_384;
const jsonType = 'application/json';
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @param bodyLimit in bytes, for routes without a limit of their own */
export function readJsonBodies(app: FastifyInstance, bodyLimit: number): void {
  app.removeAllContentTypeParsers();
  limitBodies(app, bodyLimit);
  addParser(app, jsonType, parseJson);
}

/** Also takes plain text on the routes of this scope, without a line break at its end. */
export function readTextBodies(app: FastifyInstance): void {
  addParser(app, 'text/plain', (body) => decode(body).replace(/\r?\n$/, ''));
}

function addParser(app: FastifyInstance, mediaType: string, parse: (body: Buffer) => unknown): void {
  app.addContentTypeParser(mediaType, { parseAs: 'buffer' }, (request, body, done) => {
    const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = request.headers;
    try {
      const charset = new MIMEType(type).params.get('charset') ?? 'utf-8';
      // both are case-insensitive (RFC 9110 §8.3.2, §8.4.1)
      if (encoding.toLowerCase() !== 'identity' || !/^(utf-?8|us-ascii)$/i.test(charset)) {
        throw new DeskbellError('ERR_CONTENT_TYPE', 'The body must be UTF-8 without a content encoding.');
      }
      done(null, parse(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Sets the limit, in bytes, of routes that have none. Call it before they are added. */
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
