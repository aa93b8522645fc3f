// The frames that the client writes besides the bodies of requests, which flow-controller.ts writes.
import type { PushRequest } from '../transport.ts';
import type { FrameWriter } from './frame-writer.ts';
import { contentLengthField, HpackEncoder, pathPrefix } from './hpack-encoder.ts';
import {
  connectionPreface,
  Flag,
  FrameType,
  maxHeaderListBytes,
  Setting,
  type ErrorCode,
} from './protocol.ts';

const ourSettings: readonly (readonly [setting: number, value: number])[] = [
  [Setting.headerTableSize, 0],
  [Setting.enablePush, 0],
  [Setting.maxHeaderListSize, maxHeaderListBytes],
];

export class ClientFrames {
  readonly #writer: FrameWriter;
  readonly #encoder: HpackEncoder;

  /** @param host value of `:authority` */
  constructor(writer: FrameWriter, host: string) {
    this.#writer = writer;
    this.#encoder = new HpackEncoder(host);
  }

  /** Preface and SETTINGS (RFC 9113 §3.4). */
  greet(): void {
    this.#writer.reserve(connectionPreface.length);
    this.#writer.bytes(connectionPreface);
    const payload = Buffer.alloc(6 * ourSettings.length);
    for (const [index, [setting, value]] of ourSettings.entries()) {
      payload.writeUInt16BE(setting, 6 * index);
      payload.writeUInt32BE(value, 6 * index + 2);
    }
    this.#writer.frame(FrameType.settings, 0, 0, payload);
  }

  /** HEADERS, which end the stream where the request has no body. */
  headers(streamId: number, { path, headers, body }: PushRequest): void {
    const { pseudo, fields } = this.#encoder.encode(headers);
    const prefix = pathPrefix(path.length);
    const length = contentLengthField(body.length);
    const blockBytes = pseudo.length + prefix.length + path.length + length.length + fields.length;
    const flags = body.length === 0 ? Flag.endHeaders | Flag.endStream : Flag.endHeaders;
    this.#writer.begin(FrameType.headers, flags, streamId, blockBytes);
    this.#writer.bytes(pseudo);
    this.#writer.bytes(prefix);
    this.#writer.latin1(path);
    this.#writer.bytes(length);
    this.#writer.bytes(fields);
  }

  reset(streamId: number, code: ErrorCode): void {
    this.#writer.numberFrame(FrameType.rstStream, streamId, code);
  }

  /** @param headerTableBytes what the push service allows from now on */
  acknowledgeSettings(headerTableBytes: number): void {
    this.#encoder.resize(headerTableBytes);
    this.#writer.begin(FrameType.settings, Flag.ack, 0, 0);
  }

  acknowledgePing(payload: Uint8Array): void {
    this.#writer.frame(FrameType.ping, Flag.ack, 0, payload);
  }

  /** Its last-stream-id is 0: the push service may open no streams. */
  goaway(code: ErrorCode): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(code, 4);
    this.#writer.frame(FrameType.goaway, 0, 0, payload);
  }
}
