import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';

export class Connection {
  /** The socket below TLS, the only one that can be reset. */
  readonly socket: Socket;
  session: Http2Session | undefined;
  requests = 0;
  #running = 0;
  #lastStreamId = Infinity;
  #isDraining = false;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Returns false for a stream after the last one of a GOAWAY, which must not be processed. */
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

  /** HTTP/2: names the last stream that is processed, and ends when all up to it are answered (RFC 9113 §6.8). */
  goAway(lastStreamId: number, code: number): void {
    if (this.session === undefined || this.#isDraining) return;
    this.#lastStreamId = lastStreamId;
    this.session.goaway(code, lastStreamId);
    this.drain();
  }

  drain(): void {
    this.#isDraining = true;
    if (this.#running > 0) return;
    // both finish pending writes first
    if (this.session === undefined) this.socket.destroySoon();
    else this.session.destroy();
  }

  reset(): void {
    // Node never closes a socket that is reset while it is ending, and then spins at process exit
    if (this.socket.writableEnded) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }
}
