// Bodies that other code has read before the request got here, such as express.json() ahead of the mount. What such code
// leaves in `request.body` is taken; where it leaves nothing the request fails at once. Waiting for the stream would never
// end.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';

import { DeskbellError } from '../errors/deskbell-error.ts';

type ParsedMessage = IncomingMessage & { readonly body?: unknown };

export function acceptConsumedBodies(app: FastifyInstance): void {
  app.addHook('preParsing', ({ raw }: { readonly raw: ParsedMessage }, _reply, payload, done) => {
    // Fastify reads nothing where there is neither a body nor a type; Node has ended such a request already
    const isRead = hasBody(raw) || raw.headers['content-type'] !== undefined;
    if (!isRead || (!raw.readableDidRead && !raw.readableEnded)) return done(null, payload);
    const bytes = hasBody(raw) ? toBytes(raw.body) : Buffer.alloc(0);
    if (bytes === undefined) {
      const message = 'The body was read before the request reached the service, and is not in request.body.';
      return done(new DeskbellError('ERR_BODY_CONSUMED', message));
    }
    // The length that Fastify holds against content-length.
    const receivedEncodedLength = Number(raw.headers['content-length'] ?? bytes.length);
    done(null, Object.assign(Readable.from([bytes]), { receivedEncodedLength }));
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}

/** What a parser for raw bytes, for text or for JSON leaves. */
function toBytes(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}
