// Reading request bodies: JSON in strict UTF-8 and nothing else (RFC 8259 §8.1). `JSON.parse` makes members such as
// `__proto__` plain own properties, which are never read; it does not recurse, so the body limit bounds nesting.
import type { FastifyInstance } from 'fastify';

import { DeskbellError } from '../errors/deskbell-error.ts';

/** Of a request to the public service, unless its options say otherwise. */
export const defaultBodyLimitBytes = 16_384;
const jsonType = 'application/json';
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @param bodyLimit bytes, on each route that has no limit of its own */
export function readJsonBodies(app: FastifyInstance, bodyLimit: number): void {
  app.removeAllContentTypeParsers();
  limitBodies(app, bodyLimit);
  app.addContentTypeParser(jsonType, { parseAs: 'buffer' }, (request, body, done) => {
    const encoding = request.headers['content-encoding'] ?? 'identity';
    const charset = /;\s*charset="?([^";\s]*)/i.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
    if (encoding !== 'identity' || !/^(utf-?8|us-ascii)$/i.test(charset)) {
      done(new DeskbellError('ERR_CONTENT_TYPE', 'The body must be UTF-8 without a content encoding.'));
      return;
    }
    parse(body as Buffer, done);
  });
}

/** Sets the limit, in bytes, of each route of the scope that has none. To be called before they are added. */
export function limitBodies(app: FastifyInstance, bodyLimit: number): void {
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= bodyLimit;
  });
}

function parse(body: Buffer, done: (error: Error | null, value?: unknown) => void): void {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch (error) {
    const what = error instanceof SyntaxError ? 'well-formed JSON' : 'UTF-8';
    done(
      new DeskbellError('ERR_JSON_MALFORMED', `The body (${body.length} bytes) is not ${what}.`, {
        cause: error,
      }),
    );
    return;
  }
  done(null, value);
}
