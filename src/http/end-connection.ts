import type { Duplex } from 'node:stream';

import type { RenderedResponse } from './render-error.ts';

// Not imported: that would load Node's WebSocket and undici too, 80 ms.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

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

/** Reads what the client is still sending for a moment, since a reset could destroy the answer. */
export function linger(socket: Duplex): void {
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
