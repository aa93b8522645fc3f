// What Node's parser knows of a request before its header is complete: when it began, and its first bytes. A request is handed on once
// its header is complete, or never if it breaks off. The parser's callbacks for both are not documented. (Listening for the bytes is, and would
// have Node copy all of them to JavaScript.) Without these callbacks, a request begins when it is handed on, and its first bytes are those of
// the packet that the parser rejects.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** `HTTPParser.kOnMessageBegin` of Node. */
const onMessageBegin = 0;
/** `HTTPParser.kOnExecute`: a packet has been parsed, or rejected. */
const onExecute = 5;
/** More than a request line has. */
const maxOpeningBytes = 16_384;
const startMs = Symbol('when the newest request began');
const opening = Symbol('the header that is not complete');

interface Parser {
  socket: TrackedSocket | null;
  /** The newest request whose header is complete. */
  incoming?: object | null;
  getCurrentBuffer?(): Buffer;
  [onMessageBegin]?: ((this: Parser) => void) | null;
  [onExecute]?: ((result: unknown) => void) | null;
}

interface TrackedSocket extends Duplex {
  readonly parser?: Parser | null;
  [startMs]?: number;
  [opening]?: { readonly after: object | null | undefined; bytes: Buffer };
}

/** Has each connection of a server know when its newest request began, and the bytes of a header that is not complete. */
export function trackRequestStarts(server: Server): void {
  server.on('connection', (socket: Socket & TrackedSocket) => {
    const { parser } = socket;
    if (!parser) return;
    parser[onMessageBegin] = noteStart;
    const execute = parser[onExecute];
    if (!execute) return;
    parser[onExecute] = (result) => {
      noteBytes(socket, parser);
      execute(result);
    };
  });
}

/** When the newest request of a connection began, by `performance.now()`. */
export function requestStartMs(socket: Duplex): number {
  return (socket as TrackedSocket)[startMs] ?? performance.now();
}

/** What has arrived since the beginning of the packet in which the newest request began, if its header is not complete. */
export const openingBytes = (socket: Duplex): Buffer | undefined => (socket as TrackedSocket)[opening]?.bytes;

/** Parsers are used again for other connections: nothing of this one may stay in the callback. */
function noteStart(this: Parser): void {
  if (!this.socket) return;
  this.socket[startMs] = performance.now();
  this.socket[opening] = { after: this.incoming, bytes: Buffer.alloc(0) };
}

function noteBytes(socket: TrackedSocket, parser: Parser): void {
  const open = socket[opening];
  if (open === undefined) return;
  // Node forgets the newest request once that is answered
  const isComplete = parser.incoming != null && parser.incoming !== open.after;
  if (isComplete || open.bytes.length > maxOpeningBytes) delete socket[opening];
  else open.bytes = Buffer.concat([open.bytes, parser.getCurrentBuffer?.() ?? Buffer.alloc(0)]);
}
