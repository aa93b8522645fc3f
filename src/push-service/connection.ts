// One sender's connection, HTTP/1.1 or HTTP/2, as far as requests and faults need to know it: its raw socket, how
// many requests it has brought, and how it ends in good order.
import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';

export class Connection {
  /** TCP socket, below TLS: the only one that can be reset. */
  readonly socket: Socket;
  /** `undefined` for HTTP/1.1. */
  readonly session: Http2Session | undefined;
  /** Requests that it has brought so far. */
  requests = 0;
  #running = 0;
  #lastStreamId = Infinity;

  constructor(socket: Socket, session: Http2Session | undefined) {
    this.socket = socket;
    this.session = session;
  }

  /** False for a stream that came after the last one that GOAWAY named: it is not to be processed at all. */
  begin(streamId: number): boolean {
    if (streamId > this.#lastStreamId) return false;
    this.requests += 1;
    this.#running += 1;
    return true;
  }

  end(): void {
    this.#running -= 1;
    this.#closeWhenDrained();
  }

  /** Says which stream is the last one that is processed, then closes when those up to it are answered (RFC 9113 §6.8). */
  goAway(lastStreamId: number, code: number): void {
    if (this.session === undefined || this.#lastStreamId !== Infinity) return;
    this.#lastStreamId = lastStreamId;
    this.session.goaway(code, lastStreamId);
    this.#closeWhenDrained();
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  #closeWhenDrained(): void {
    if (this.#running > 0 || this.#lastStreamId === Infinity) return;
    // destroy() ends the socket after what has been written
    this.session?.destroy();
  }
}
