// Notes when requests begin, and limits the open responses of a connection and the connections of a client.
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { clientOf, isLoopback, type IsTrusted } from './client-address.ts';

// Records when a request began, and its first bytes. Node emits a request only when its header is complete, so this
// code uses undocumented callbacks of Node's parser. (Listening for data is documented, but would copy all bytes to
// JavaScript.) Without the callbacks, we know only when the header was complete, and the bytes of a rejected packet.
const onMessageBegin = 0; // HTTPParser.kOnMessageBegin
const onExecute = 5; // HTTPParser.kOnExecute: a packet has been parsed, or rejected
const maxOpeningBytes = 16_384; // longer than any request line
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

/** The bytes from the packet in which the newest request began; undefined once its header is complete. */
export const openingBytes = (socket: Duplex): Buffer | undefined => (socket as TrackedSocket)[opening]?.bytes;

/** A callback of a parser. It must not retain this connection, because parsers are reused for other connections. */
function noteStart(this: Parser): void {
  if (!this.socket) return;
  this.socket[startMs] = performance.now();
  this.socket[opening] = { after: this.incoming, bytes: Buffer.alloc(0) };
}

function noteBytes(socket: TrackedSocket, parser: Parser): void {
  const open = socket[opening];
  if (open === undefined) return;
  // once a request has its response, Node's parser no longer refers to it
  const isComplete = parser.incoming != null && parser.incoming !== open.after;
  if (isComplete || open.bytes.length > maxOpeningBytes) delete socket[opening];
  else open.bytes = Buffer.concat([open.bytes, parser.getCurrentBuffer?.() ?? Buffer.alloc(0)]);
}

// Limits the responses that a connection is waiting for. Node parses all requests of one read (64 KiB) before the first
// is handled. A request can be as short as forty bytes, but needs kilobytes of memory.

const maxOpenResponses = 32;

const openResponses = Symbol('open responses');
type AnsweredSocket = Duplex & { [openResponses]?: ServerResponse[] };

export function limitOpenResponses(server: Server): void {
  const handlers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request').on('request', (request, response) => {
    if (!isAdmitted(request.socket, response)) return;
    for (const handle of handlers) handle(request, response);
  });
}

function isAdmitted(socket: AnsweredSocket, response: ServerResponse): boolean {
  const open = (socket[openResponses] ??= []);
  if (open.at(-1)?.writableFinished) open.length = 0;
  open.push(response);
  if (open.length <= maxOpenResponses) return true;
  const finished = open.findIndex(({ writableFinished }) => !writableFinished);
  open.splice(0, finished);
  if (open.length > maxOpenResponses) socket.destroy();
  return !socket.destroyed;
}

export const newestResponse = (socket: AnsweredSocket): ServerResponse | undefined =>
  socket[openResponses]?.at(-1);

/**
 * Closes connections if none of their waiting output was sent between two checks. Node's own time-out is not used,
 * because resetting the time-out for each request would add a tenth to the time of a small response.
 */
export function closeUnreadResponses(app: FastifyInstance, readTimeoutMs: number): void {
  const taken = new Map<Socket, number>();
  const watch = (socket: Socket): void => {
    taken.set(socket, 0);
    socket.once('close', () => taken.delete(socket));
  };
  // Over TLS, output waits in the socket of `secureConnection`, never in the socket of `connection`.
  app.server.on('connection', watch).on('secureConnection', watch);
  const timer = setInterval(() => {
    for (const [socket, before] of taken) {
      const now = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength > 0 && now === before) socket.destroy();
      else taken.set(socket, now);
    }
  }, readTimeoutMs).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}

/** Closes new connections of a client that has `max` connections. This machine and trusted proxies have no limit. */
export function limitConnectionsOfClients(server: Server, max: number, isTrusted: IsTrusted): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: ip } = socket;
    // the address is undefined if the connection has already ended
    if (ip === undefined || isTrusted(ip, 0)) return;
    const client = clientOf({ ip });
    if (isLoopback(client) || client === loopbackNetwork) return;
    const others = open.get(client) ?? 0;
    if (others >= max) return void socket.destroy();
    open.set(client, others + 1);
    socket.once('close', () => {
      const left = open.get(client)! - 1;
      if (left === 0) open.delete(client);
      else open.set(client, left);
    });
  });
}

const loopbackNetwork = clientOf({ ip: '::1' });
