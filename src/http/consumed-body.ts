// Takes bodies that other code has read before, such as express.json() ahead of the mount, from `request.body`. If they
// are not there the request fails at once, since the stream would never end.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';

import { DeskbellError } from '../errors/deskbell-error.ts';

type ParsedMessage = IncomingMessage & { readonly body?: unknown };

export function acceptConsumedBodies(app: FastifyInstance): void {
  app.addHook('preParsing', ({ raw }: { readonly raw: ParsedMessage }, _reply, payload, done) => {
    // without a body or a type Fastify reads nothing, and Node has already ended the request
    const isRead = hasBody(raw) || raw.headers['content-type'] !== undefined;
    if (!isRead || (!raw.readableDidRead && !raw.readableEnded)) return done(null, payload);
    const bytes = hasBody(raw) ? toBytes(raw.body) : Buffer.alloc(0);
    if (bytes === undefined) {
      const message = 'The body was read before the request reached the service, and is not in request.body.';
      return done(new DeskbellError('ERR_BODY_CONSUMED', message));
    }
    // Fastify compares this with content-length.
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
