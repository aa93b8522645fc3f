// Notes when a request began and its first bytes. Node hands on a request only when its header is complete, so this
// uses undocumented callbacks of its parser. (Listening for data is documented, but would copy all bytes to
// JavaScript.) Without the callbacks, a request begins when it is handed on, and its first bytes are those of the
// rejected packet.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const onMessageBegin = 0;
/** `HTTPParser.kOnExecute`: a packet has been parsed, or rejected. */
const onExecute = 5;
/** More than a request line has. */
const maxOpeningBytes = 16_384;
const startMs = Symbol('when the newest request began');
const opening = Symbol('the header that is not complete');

interface Parser {
  socket: TrackedSocket | null;
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

/** When a connection's newest request began, by `performance.now()`. */
export function requestStartMs(socket: Duplex): number {
  return (socket as TrackedSocket)[startMs] ?? performance.now();
}

/** The bytes since the packet in which the newest request began, while its header is incomplete. */
export const openingBytes = (socket: Duplex): Buffer | undefined => (socket as TrackedSocket)[opening]?.bytes;

/** Parsers are reused for other connections, so the callback must keep nothing of this one. */
function noteStart(this: Parser): void {
  if (!this.socket) return;
  this.socket[startMs] = performance.now();
  this.socket[opening] = { after: this.incoming, bytes: Buffer.alloc(0) };
}

function noteBytes(socket: TrackedSocket, parser: Parser): void {
  const open = socket[opening];
  if (open === undefined) return;
  // Node forgets the newest request once it is answered
  const isComplete = parser.incoming != null && parser.incoming !== open.after;
  if (isComplete || open.bytes.length > maxOpeningBytes) delete socket[opening];
  else open.bytes = Buffer.concat([open.bytes, parser.getCurrentBuffer?.() ?? Buffer.alloc(0)]);
}
