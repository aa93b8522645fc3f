// Responses that are written without a route: they pass the enabled filters and carry what every response does.
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import type { DeskbellError } from '../errors/deskbell-error.ts';
import { opaqueValue } from './sealed-value.ts';
import type { RequestHead } from './filter.ts';
import { problemType, toProblem } from './problem.ts';
import type { ResponseRules } from './response-rules.ts';

export interface RenderedResponse {
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
  head: RequestHead,
  { fault, allow }: Rejection,
  rules: ResponseRules,
): RenderedResponse {
  const problem = toProblem(fault, rules.errors);
  const headers = { 'content-type': problemType, ...(allow !== undefined && { allow }) };
  return render(head, problem.status, headers, Buffer.from(JSON.stringify(problem)), rules);
}

/** Renders a response that has passed the enabled filters and carries what every response does. */
export function render(
  head: RequestHead,
  status: number,
  ownHeaders: Readonly<Record<string, string>>,
  body: Buffer,
  rules: ResponseRules,
): RenderedResponse {
  const headers: Record<string, string> = { ...rules.headers, ...ownHeaders };
  const setHeader = (name: string, value: string): void => {
    headers[name] = value;
  };
  const response = { status, entity: opaqueValue, isAborted: false, setHeader };
  for (const filter of rules.filters) filter(head)(response);
  return { status, headers, body };
}

/** Writes the last answer of a connection. */
export function endConnection(socket: Duplex, { status, headers, body }: RenderedResponse): void {
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
