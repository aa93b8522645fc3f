// The last answer of a connection, and how long the client may go on sending before the connection is closed.
import type { Duplex } from 'node:stream';

import type { RenderedResponse } from './render-error.ts';

// An import would have Node load its WebSocket and undici too: 80 ms.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

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
