// Answers that are written without a route: a problem with what every answer carries, having passed the enabled
// filters like any other.
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import type { DeskbellError } from '../../errors/deskbell-error.ts';
import { corsHeaders } from './cors.ts';
import { opaqueEntity } from './entity.ts';
import type { Filter, RequestHead } from './filter.ts';
import { problemType, toProblem } from './problem.ts';

export interface RenderedError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Rejection {
  readonly fault: DeskbellError;
  /** Value of the `allow` header. */
  readonly allow?: string;
}

export function renderError(
  { method, url }: RequestHead,
  { fault, allow }: Rejection,
  filters: readonly Filter[],
): RenderedError {
  const problem = toProblem(fault);
  const { status } = problem;
  const headers: Record<string, string> = { ...corsHeaders, 'content-type': problemType };
  if (allow !== undefined) headers['allow'] = allow;
  const setHeader = (name: string, value: string): void => {
    headers[name] = value;
  };
  const response = { status, entity: opaqueEntity, isAborted: false, setHeader };
  for (const filter of filters) filter({ method, url })(response);
  return { status, headers, body: Buffer.from(JSON.stringify(problem)) };
}

/** Writes the last answer of a connection. */
export function endConnection(socket: Duplex, { status, headers, body }: RenderedError): void {
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

/** What the client is still sending is read for a moment, or the answer would be lost to a reset. */
export function linger(socket: Duplex): void {
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
