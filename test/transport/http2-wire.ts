// An HTTP/2 server that does exactly what a test's script says, frame by frame, right or wrong.
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';

import { certificate, startServer, type Peer } from './peers.ts';

export const type = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const endStream = 1;
export const endHeaders = 4;

export function frame(
  frameType: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = frameType;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}

export function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * index);
  return bytes;
}

export function settings(...pairs: (readonly [setting: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * pairs.length);
  for (const [index, [setting, value]] of pairs.entries()) {
    payload.writeUInt16BE(setting, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  }
  return frame(type.settings, 0, 0, payload);
}

/** A literal header field without Huffman code. */
export function field(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

function text(part: string): Buffer {
  const bytes = Buffer.from(part, 'latin1');
  if (bytes.length >= 127) throw new Error('The fields of the tests are shorter than 127 bytes.');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

export const status201: Buffer = field(':status', '201');

/** A whole answer with status 201. */
export const answer = (streamId: number): Buffer =>
  frame(type.headers, endHeaders | endStream, streamId, status201);

/** The server's end of one connection. */
export class Wire {
  readonly socket: TLSSocket;
  /** Payloads of GOAWAY frames: error codes. */
  readonly goaways: number[] = [];
  readonly resets: { streamId: number; code: number }[] = [];
  /** Called for each request whose last frame has come. */
  onRequest: (streamId: number) => void = () => {};
  onFrame: (frameType: number, flags: number, streamId: number, payload: Buffer) => void = () => {};
  #held = Buffer.alloc(0);
  #hasPreface = false;

  constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  /** SETTINGS, and a connection window that no test exhausts. */
  greet(...pairs: (readonly [setting: number, value: number])[]): void {
    this.send(settings(...pairs), frame(type.windowUpdate, 0, 0, uint32(2 ** 30)));
  }

  send(...frames: Buffer[]): void {
    if (this.socket.writable) this.socket.write(Buffer.concat(frames));
  }

  #read(chunk: Buffer): void {
    this.#held = Buffer.concat([this.#held, chunk]);
    if (!this.#hasPreface && this.#held.length >= 24) {
      this.#held = this.#held.subarray(24);
      this.#hasPreface = true;
    }
    while (this.#hasPreface && this.#held.length >= 9) {
      const end = 9 + this.#held.readUIntBE(0, 3);
      if (this.#held.length < end) return;
      const payload = this.#held.subarray(9, end);
      const [frameType = 0, flags = 0] = this.#held.subarray(3, 5);
      const streamId = this.#held.readUInt32BE(5);
      this.#held = this.#held.subarray(end);
      if (frameType === type.goaway) this.goaways.push(payload.readUInt32BE(4));
      if (frameType === type.rstStream) this.resets.push({ streamId, code: payload.readUInt32BE(0) });
      this.onFrame(frameType, flags, streamId, payload);
      const isRequestFrame = frameType === type.data || frameType === type.headers;
      if (isRequestFrame && (flags & endStream) !== 0) this.onRequest(streamId);
    }
  }
}

/** Starts a server whose every connection runs `script`. */
export async function startWire(
  script: (wire: Wire, connection: number) => void,
): Promise<Peer & { wires: Wire[] }> {
  const wires: Wire[] = [];
  const server = createTlsServer({ ...certificate, ALPNProtocols: ['h2'] }, (socket) => {
    const wire = new Wire(socket);
    wires.push(wire);
    script(wire, wires.length);
  });
  return { ...(await startServer(server, 'https')), wires };
}
