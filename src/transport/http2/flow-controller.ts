// Flow control in both directions (RFC 9113 §5.2). Writes request bodies within the windows that the push service grants: one for the
// connection, one for each stream. Nearly always both are large enough for the whole body. Renews the push service's window for the
// connection as its answers use it up.
import type { FrameWriter } from './frame-writer.ts';
import {
  defaultWindowBytes,
  ErrorCode,
  Flag,
  FrameType,
  Http2Fault,
  maxWindowBytes,
  type PeerSettings,
} from './protocol.ts';
import type { Stream } from './streams.ts';

export class FlowController {
  readonly #writer: FrameWriter;
  readonly #peer: PeerSettings;
  #connectionWindow = defaultWindowBytes;
  /** What the push service may still send before it is granted more. */
  #receiveWindow = defaultWindowBytes;
  /** Streams whose body is not completely written, oldest first. */
  readonly #blocked = new Set<Stream>();

  constructor(writer: FrameWriter, peer: PeerSettings) {
    this.#writer = writer;
    this.#peer = peer;
  }

  /** Writes as much of a new stream's body as the windows allow, and the rest when they grow. */
  send(stream: Stream): void {
    if (!this.#write(stream)) this.#blocked.add(stream);
  }

  /** The stream has ended, however much of its body was written. */
  forget(stream: Stream): void {
    this.#blocked.delete(stream);
  }

  /** Half of the window is used. */
  get hasToGrant(): boolean {
    return this.#receiveWindow < defaultWindowBytes / 2;
  }

  /**
   * Counts received DATA of any stream.
   *
   * @throws {Http2Fault} FLOW_CONTROL_ERROR
   */
  receive(bytes: number): void {
    this.#receiveWindow -= bytes;
    if (this.#receiveWindow < 0) {
      throw new Http2Fault(ErrorCode.flowControlError, 'more data than the connection window allows');
    }
  }

  /** Grants again what was used, if that is worth a frame. */
  grantReceived(): void {
    if (!this.hasToGrant) return;
    this.#writer.numberFrame(FrameType.windowUpdate, 0, defaultWindowBytes - this.#receiveWindow);
    this.#receiveWindow = defaultWindowBytes;
  }

  /** @throws {Http2Fault} PROTOCOL_ERROR, FLOW_CONTROL_ERROR */
  grantConnection(bytes: number): void {
    if (bytes === 0) throw new Http2Fault(ErrorCode.protocolError, 'a WINDOW_UPDATE of 0');
    this.#connectionWindow += bytes;
    if (this.#connectionWindow > maxWindowBytes) {
      throw new Http2Fault(ErrorCode.flowControlError, 'a connection window of more than 2^31-1 bytes');
    }
    this.continue();
  }

  /** @returns false for 0, or if the window becomes larger than permitted: a stream error */
  grantStream(stream: Stream, bytes: number): boolean {
    stream.grantedBytes += bytes;
    if (bytes === 0 || this.#window(stream) > maxWindowBytes) return false;
    if (this.#blocked.has(stream)) this.continue();
    return true;
  }

  /** Continues after windows have grown, by WINDOW_UPDATE or new SETTINGS. */
  continue(): void {
    for (const stream of this.#blocked) {
      if (this.#connectionWindow <= 0) return;
      if (this.#write(stream)) this.#blocked.delete(stream);
    }
  }

  /** @returns true if the body is completely written */
  #write(stream: Stream): boolean {
    const { body } = stream.exchange.request;
    while (!stream.isWhollySent) {
      const left = body.length - stream.sentBytes;
      const length = Math.min(left, this.#window(stream), this.#connectionWindow, this.#peer.maxFrameBytes);
      if (length <= 0) return false;
      const part = length === body.length ? body : body.subarray(stream.sentBytes, stream.sentBytes + length);
      this.#writer.frame(FrameType.data, length === left ? Flag.endStream : 0, stream.id, part);
      stream.sentBytes += length;
      this.#connectionWindow -= length;
    }
    return true;
  }

  /** Negative if new SETTINGS have taken back what was already used (RFC 9113 §6.9.2). */
  #window(stream: Stream): number {
    return this.#peer.initialWindowBytes + stream.grantedBytes - stream.sentBytes;
  }
}
