// The Host header of a request (RFC 9112 §3.2): exactly one in HTTP/1.1, and one that names a host.
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';

import { DeskbellError } from '../errors/deskbell-error.ts';

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
