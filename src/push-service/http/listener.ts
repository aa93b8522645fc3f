// One port for HTTP/1.1, HTTP/2 and WebSocket. With TLS, ALPN selects the protocol. Without TLS, a connection that
// begins with the HTTP/2 preface uses HTTP/2 ("prior knowledge", RFC 9113 §3.3).
import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export type HttpRequest = IncomingMessage | Http2ServerRequest;
export type HttpResponse = ServerResponse | Http2ServerResponse;

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly key: string; readonly cert: string } | undefined;
  readonly maxConnections: number;
  readonly maxConcurrentStreams: number;
  readonly onRequest: (request: HttpRequest, response: HttpResponse, connection: Connection) => void;
  readonly onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

const keepAliveTimeoutMs = 60_000;

/** Ignores the upgrade to `h2c` that Java's client offers by default (RFC 9110 §7.8). */
const shouldUpgradeCallback = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === 'websocket';

export async function listen(options: ListenerOptions) {
  const connections = new Map<string, Connection>();

  const onRequest = (request: HttpRequest, response: HttpResponse): void => {
    const connection = connections.get(peerOf(request.socket));
    if (connection !== undefined) options.onRequest(request, response, connection);
  };
  const onSession = (session: Http2Session): void => {
    const connection = connections.get(peerOf(session.socket));
    if (connection !== undefined) connection.session = session;
  };
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    // no `end` matches this `begin`, so `drain` never closes the connection: its WebSocket does
    connections.get(peerOf(request.socket))?.begin(0);
    options.onUpgrade(request, socket, head);
  };

  const settings = { maxConcurrentStreams: options.maxConcurrentStreams };
  const accept = options.tls ? acceptTls(options.tls) : acceptByPreface();

  function acceptTls(tls: { key: string; cert: string }): (socket: Socket) => void {
    const server = createSecureServer({ ...tls, allowHTTP1: true, settings }, onRequest);
    server.on('session', onSession).on('upgrade', onUpgrade);
    return (socket) => server.emit('connection', socket);
  }

  function acceptByPreface(): (socket: Socket) => void {
    const http1 = createHttp1Server(
      { keepAliveTimeout: keepAliveTimeoutMs, requireHostHeader: false, shouldUpgradeCallback },
      onRequest,
    );
    http1.on('upgrade', onUpgrade);
    const http2 = createHttp2Server({ settings }, onRequest).on('session', onSession);
    return (socket) =>
      readBeginning(socket, (isHttp2) => (isHttp2 ? http2 : http1).emit('connection', socket));
  }

  const server = createTcpServer((socket) => {
    const peer = peerOf(socket);
    connections.set(peer, new Connection(socket));
    socket.once('close', () => connections.delete(peer));
    socket.on('error', () => socket.destroy()); // the peer may reset at any time
    socket.setNoDelay();
    accept(socket);
  });
  server.maxConnections = options.maxConnections;
  await startListening(server, options);

  return {
    port: (server.address() as AddressInfo).port,
    /** Stops listening. Each connection ends when its requests have responses, or after `graceMs`. */
    async close(graceMs: number): Promise<void> {
      const isClosed = new Promise((resolve) => {
        server.close(resolve);
      });
      for (const connection of connections.values()) connection.drain();
      const deadline = setTimeout(() => {
        for (const { socket } of connections.values()) socket.destroy();
      }, graceMs);
      await isClosed;
      clearTimeout(deadline);
    },
  };
}

const preface = 'PRI '; // no HTTP/1.1 method has this name

function readBeginning(socket: Socket, done: (isHttp2: boolean) => void): void {
  const chunks: Buffer[] = [];
  const onReadable = (): void => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) chunks.push(chunk as Buffer);
    const beginning = Buffer.concat(chunks);
    if (beginning.length === 0) return;
    const start = beginning.toString('latin1', 0, preface.length);
    if (start.length < preface.length && preface.startsWith(start)) return; // the beginning is too short to decide
    socket.off('readable', onReadable);
    socket.unshift(beginning);
    done(start === preface);
  };
  socket.on('readable', onReadable);
}

function startListening(server: Server, { host, port }: ListenerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function peerOf(socket: Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress'>): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress}`;
}

export class Connection {
  readonly socket: Socket;
  session: Http2Session | undefined;
  requests = 0;
  #running = 0;
  #lastStreamId = Infinity;
  #isDraining = false;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Returns false if the stream is above a GOAWAY's last stream. Such a stream must not be processed. */
  begin(streamId: number): boolean {
    if (streamId > this.#lastStreamId) return false;
    this.requests += 1;
    this.#running += 1;
    return true;
  }

  end(): void {
    this.#running -= 1;
    if (this.#isDraining) this.drain();
  }

  /** HTTP/2: announces the last stream to be processed, and ends when all streams up to it are done (RFC 9113 §6.8). */
  goAway(lastStreamId: number, code: number): void {
    if (this.session === undefined || this.#isDraining) return;
    this.#lastStreamId = lastStreamId;
    this.session.goaway(code, lastStreamId);
    this.drain();
  }

  drain(): void {
    this.#isDraining = true;
    if (this.#running > 0) return;
    if (this.session === undefined) this.socket.destroySoon();
    else this.session.destroy();
  }

  reset(): void {
    // Node never closes a socket that is reset while it is ending, and then spins at process exit
    if (this.socket.writableEnded) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }
}
