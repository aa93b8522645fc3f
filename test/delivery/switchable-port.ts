// A port in front of a push service, so that the push service can be away and come back at the same port while it
// keeps its subscriptions: real sockets on both sides, every byte passed on as it is.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../tools/listening.ts';

export class SwitchablePort {
  #port = 0;
  #targetPort = 0;
  #server: Server | undefined;
  #holdsAnswers = false;
  readonly #sockets = new Set<Socket>();
  /** The sender's side by the push service's side. */
  readonly #senders = new Map<Socket, Socket>();

  get port(): number {
    return this.#port;
  }

  /** Listens, from the second time on at the same port as before. */
  async open(): Promise<void> {
    this.#port ||= await freePort();
    const server = createServer((socket) => this.#pass(socket));
    await once(server.listen(this.#port, '127.0.0.1'), 'listening');
    this.#server = server;
  }

  forwardTo(port: number): void {
    this.#targetPort = port;
  }

  /** Takes connections from now on and says nothing on them. */
  goSilent(): void {
    this.#targetPort = 0;
    this.#resetAll();
  }

  /** Requests go through, answers wait until they are released. */
  holdAnswers(): void {
    this.#holdsAnswers = true;
    for (const upstream of this.#senders.keys()) upstream.unpipe();
  }

  releaseAnswers(): void {
    this.#holdsAnswers = false;
    for (const [upstream, sender] of this.#senders) upstream.pipe(sender);
  }

  /** The port is closed, as that of a process that has died: what is connected is reset. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const isClosed = once(server, 'close');
    server.close();
    this.#resetAll();
    await isClosed;
  }

  #pass(socket: Socket): void {
    this.#keep(socket);
    if (this.#targetPort === 0) return;
    const upstream = connect(this.#targetPort, '127.0.0.1');
    this.#keep(upstream);
    this.#senders.set(upstream, socket);
    socket.pipe(upstream);
    if (!this.#holdsAnswers) upstream.pipe(socket);
    socket.on('close', () => upstream.destroy());
    upstream.on('close', () => {
      this.#senders.delete(upstream);
      socket.destroySoon();
    });
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
  }

  #resetAll(): void {
    for (const socket of this.#sockets) {
      // Node never closes a socket that is reset while its end is on the way
      if (socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  }
}
