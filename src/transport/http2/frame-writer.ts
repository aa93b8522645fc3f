// Collects frames in one buffer, so that many are written to the socket at once. Each write costs a system call and
// usually a TLS record, which together cost more than a message.
import type { PushRequest } from '../transport.ts';
import { contentLengthField, HpackEncoder, pathPrefix } from './hpack-encoder.ts';
import {
  connectionPreface,
  type ErrorCode,
  Flag,
  frameHeaderBytes,
  FrameType,
  maxHeaderListBytes,
  Setting,
} from './protocol.ts';

const slabBytes = 65_536;

const ourSettings: readonly (readonly [setting: number, value: number])[] = [
  [Setting.headerTableSize, 0],
  [Setting.enablePush, 0],
  [Setting.maxHeaderListSize, maxHeaderListBytes],
];

export class FrameWriter {
  readonly #encoder: HpackEncoder;
  #slab: Buffer = Buffer.allocUnsafeSlow(slabBytes);
  #start = 0;
  #end = 0;
  /** Number of slices that `take` has passed on and that are still being written. */
  #unwritten = 0;

  /** @param host the value of `:authority` */
  constructor(host: string) {
    this.#encoder = new HpackEncoder(host);
  }

  /** Number of bytes that `take` has not yet passed on. */
  get length(): number {
    return this.#end - this.#start;
  }

  /**
   * Passes on everything added since the last call. The bytes usually reach the socket before more are added, so one
   * slab (a large buffer) is enough for a connection.
   *
   * @param write calls `done` when it no longer reads the bytes
   */
  take(write: (bytes: Buffer, done: () => void) => void): void {
    const slab = this.#slab;
    const bytes = slab.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#unwritten += 1;
    write(bytes, () => {
      if (slab !== this.#slab) return;
      this.#unwritten -= 1;
      if (this.#unwritten === 0 && this.#start === this.#end) this.#start = this.#end = 0;
    });
  }

  frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    this.begin(type, flags, streamId, payload.length);
    this.bytes(payload);
  }

  /** Adds a frame whose payload is one number: RST_STREAM or WINDOW_UPDATE. */
  numberFrame(type: number, streamId: number, value: number): void {
    this.begin(type, 0, streamId, 4);
    this.#end = this.#slab.writeUInt32BE(value, this.#end);
  }

  /** Begins a frame. Exactly `length` bytes of payload must follow. */
  begin(type: number, flags: number, streamId: number, length: number): void {
    this.reserve(frameHeaderBytes + length);
    const slab = this.#slab;
    const at = this.#end;
    slab[at] = length >> 16;
    slab[at + 1] = length >> 8;
    slab[at + 2] = length;
    slab[at + 3] = type;
    slab[at + 4] = flags;
    slab[at + 5] = streamId >> 24;
    slab[at + 6] = streamId >> 16;
    slab[at + 7] = streamId >> 8;
    slab[at + 8] = streamId;
    this.#end = at + frameHeaderBytes;
  }

  /** Adds bytes. `begin` or `reserve` must have made room for them. */
  bytes(part: Uint8Array): void {
    this.#slab.set(part, this.#end);
    this.#end += part.length;
  }

  /** Adds text, one byte per character. `begin` must have made room for it. */
  latin1(part: string): void {
    this.#end += this.#slab.write(part, this.#end, 'latin1');
  }

  /** Makes room for more bytes. A full slab is replaced and not reused, because the socket may still be reading it. */
  reserve(length: number): void {
    if (this.#end + length <= this.#slab.length) return;
    const waiting = this.#slab.subarray(this.#start, this.#end);
    this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, 2 * waiting.length + length));
    this.#slab.set(waiting);
    this.#start = 0;
    this.#end = waiting.length;
    this.#unwritten = 0;
  }

  /** Writes the connection preface and SETTINGS (RFC 9113 §3.4). */
  greet(): void {
    this.reserve(connectionPreface.length);
    this.bytes(connectionPreface);
    const payload = Buffer.alloc(6 * ourSettings.length);
    for (const [index, [setting, value]] of ourSettings.entries()) {
      payload.writeUInt16BE(setting, 6 * index);
      payload.writeUInt32BE(value, 6 * index + 2);
    }
    this.frame(FrameType.settings, 0, 0, payload);
  }

  /** Writes HEADERS, which end the stream if the request has no body. */
  headers(streamId: number, { path, headers, body }: PushRequest): void {
    const { pseudo, fields } = this.#encoder.encode(headers);
    const prefix = pathPrefix(path.length);
    const length = contentLengthField(body.length);
    const blockBytes = pseudo.length + prefix.length + path.length + length.length + fields.length;
    const flags = body.length === 0 ? Flag.endHeaders | Flag.endStream : Flag.endHeaders;
    this.begin(FrameType.headers, flags, streamId, blockBytes);
    this.bytes(pseudo);
    this.bytes(prefix);
    this.latin1(path);
    this.bytes(length);
    this.bytes(fields);
  }

  reset(streamId: number, code: ErrorCode): void {
    this.numberFrame(FrameType.rstStream, streamId, code);
  }

  /** @param headerTableBytes the maximum that the push service now allows */
  acknowledgeSettings(headerTableBytes: number): void {
    this.#encoder.resize(headerTableBytes);
    this.begin(FrameType.settings, Flag.ack, 0, 0);
  }

  acknowledgePing(payload: Uint8Array): void {
    this.frame(FrameType.ping, Flag.ack, 0, payload);
  }

  /** Writes GOAWAY. Its last-stream-id is 0, because the push service may open no streams. */
  goaway(code: ErrorCode): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(code, 4);
    this.frame(FrameType.goaway, 0, 0, payload);
  }
}
