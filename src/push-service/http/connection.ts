// One TCP connection of a sender or user agent, as far as requests, faults and closing need to know it.
import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';

export class Connection {
  /** Below TLS: the only one that can be reset. */
  readonly socket: Socket;
  /** Once the connection has turned out to speak HTTP/2. */
  session: Http2Session | undefined;
  /** Requests that it has brought so far. */
  requests = 0;
  #running = 0;
  #lastStreamId = Infinity;
  #isDraining = false;

  constructor(socket: Socket) {
    this.socket = socket;
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
    if (this.#isDraining) this.drain();
  }

  /** HTTP/2: names the last stream that is processed, and ends when those up to it are answered (RFC 9113 §6.8). */
  goAway(lastStreamId: number, code: number): void {
    if (this.session === undefined || this.#isDraining) return;
    this.#lastStreamId = lastStreamId;
    this.session.goaway(code, lastStreamId);
    this.drain();
  }

  /** Ends when what it has begun is answered. */
  drain(): void {
    this.#isDraining = true;
    if (this.#running > 0) return;
    // both write what is still to be written first
    if (this.session === undefined) this.socket.destroySoon();
    else this.session.destroy();
  }

  reset(): void {
    // Node never closes a socket that is reset while its end is on the way, and then spins at the end of the process
    if (this.socket.writableEnded) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }
}
