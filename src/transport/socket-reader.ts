// Reads a socket for one consumer. Push services answer in many small pieces, and Node's streams take more CPU for each
// of them than parsing the answer does; so the socket reads into a buffer of ours (`onread`).
import type { OnReadOpts, Socket } from 'node:net';

/** The size of one TLS record. */
const bufferBytes = 16_384;

export class SocketReader {
  #take: ((chunk: Buffer) => void) | undefined;
  #early: Buffer[] = [];

  /** Option for a socket that is to be opened. */
  readonly onread: OnReadOpts = {
    buffer: Buffer.allocUnsafeSlow(bufferBytes),
    callback: (length, buffer) => {
      this.#put(Buffer.from(buffer.buffer, buffer.byteOffset, length));
      return true;
    },
  };

  /** For a socket that could not be opened with `onread`, since another one carries it. */
  readFrom(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => this.#put(chunk));
  }

  /** Hands everything to `take`, what has come already included. A chunk is valid during the call only. */
  read(take: (chunk: Buffer) => void): void {
    this.#take = take;
    for (const chunk of this.#early.splice(0)) take(chunk);
  }

  #put(chunk: Buffer): void {
    if (this.#take === undefined) this.#early.push(Buffer.from(chunk));
    else this.#take(chunk);
  }
}
