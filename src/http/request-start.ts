// When a request began. It is handed on once its headers are complete, or never where it breaks off; only Node's parser
// knows when its first byte arrived. Its callback for that is not documented. (Listening for the bytes is, and would have
// Node copy all of them to JavaScript.) Where there is no such callback, a request begins when it is handed on.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** `HTTPParser.kOnMessageBegin` of Node. */
const onMessageBegin = 0;
const startMs = Symbol('when the newest request began');

interface Parser {
  socket: TimedSocket | null;
  [onMessageBegin]?: ((this: Parser) => void) | null;
}

interface TimedSocket extends Duplex {
  readonly parser?: Parser | null;
  [startMs]?: number;
}

/** Has each connection of a server know when its newest request began. */
export function trackRequestStarts(server: Server): void {
  server.on('connection', ({ parser }: Socket & TimedSocket) => {
    if (parser) parser[onMessageBegin] = noteStart;
  });
}

/** When the newest request of a connection began, by `performance.now()`. */
export function requestStartMs(socket: Duplex): number {
  return (socket as TimedSocket)[startMs] ?? performance.now();
}

/** Parsers are used again for other connections: nothing of this one may stay in the callback. */
function noteStart(this: Parser): void {
  if (this.socket) this.socket[startMs] = performance.now();
}
