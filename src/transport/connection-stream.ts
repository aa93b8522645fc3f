// A connection as the stream that node:http works on: our sockets are read by SocketReader, so they emit no data.
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

// An import would have Node load its WebSocket and undici too: 80 ms.
const { Agent } = process.getBuiltinModule('node:http');

type Written = { readonly chunk: Buffer };

export class ConnectionStream extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  /** Nothing to start: the reader of the socket pushes what arrives. */
  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  /** Head and body of a request in one piece. */
  override _writev(written: Written[], done: (error?: Error | null) => void): void {
    this.#socket.write(Buffer.concat(written.map(({ chunk }) => chunk)), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  ref(): void {
    this.#socket.ref();
  }

  /** How node:http ends a connection that carries no further request. */
  destroySoon(): void {
    this.destroy();
  }
}

/** An agent with one connection, made already. */
export class ConnectionAgent extends Agent {
  readonly #stream: ConnectionStream;

  constructor(stream: ConnectionStream) {
    super({ keepAlive: true, maxSockets: 1 });
    this.#stream = stream;
  }

  override createConnection(): ConnectionStream {
    return this.#stream;
  }

  /** Sets no TCP keep-alive; the session calls `unref` itself. */
  override keepSocketAlive(): boolean {
    return true;
  }
}
