// Cuts socket data into frames (RFC 9113 §4.1). Most frames are complete within one chunk and are passed on without a copy; only split ones
// are copied, into one buffer of fixed size.
import { ErrorCode, frameHeaderBytes, Http2Fault, maxFrameBytes } from './protocol.ts';

/** The payload is `bytes` from `start` up to `end`, valid only during the call. */
export type OnFrame = (
  type: number,
  flags: number,
  streamId: number,
  bytes: Buffer,
  start: number,
  end: number,
) => void;

export class FrameReader {
  readonly #onFrame: OnFrame;
  #buffer: Buffer | undefined;
  #bufferedBytes = 0;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  /** @throws {Http2Fault} FRAME_SIZE_ERROR, and whatever `onFrame` throws */
  read(chunk: Buffer): void {
    let offset = this.#bufferedBytes === 0 ? 0 : this.#completeBuffered(chunk);
    while (chunk.length - offset >= frameHeaderBytes) {
      const end = offset + frameHeaderBytes + payloadBytes(chunk, offset);
      if (end > chunk.length) break;
      this.#dispatch(chunk, offset, end);
      offset = end;
    }
    if (offset < chunk.length) this.#append(chunk, offset, chunk.length);
  }

  /** @returns how much of the chunk belonged to the frame that had begun before it */
  #completeBuffered(chunk: Buffer): number {
    const buffer = this.#buffer as Buffer;
    let offset = 0;
    if (this.#bufferedBytes < frameHeaderBytes) {
      offset = Math.min(frameHeaderBytes - this.#bufferedBytes, chunk.length);
      this.#append(chunk, 0, offset);
      if (this.#bufferedBytes < frameHeaderBytes) return offset;
    }
    const frameBytes = frameHeaderBytes + payloadBytes(buffer, 0);
    const end = Math.min(offset + frameBytes - this.#bufferedBytes, chunk.length);
    this.#append(chunk, offset, end);
    if (this.#bufferedBytes < frameBytes) return end;
    this.#bufferedBytes = 0;
    this.#dispatch(buffer, 0, frameBytes);
    return end;
  }

  #append(chunk: Buffer, start: number, end: number): void {
    this.#buffer ??= Buffer.allocUnsafeSlow(frameHeaderBytes + maxFrameBytes);
    this.#bufferedBytes += chunk.copy(this.#buffer, this.#bufferedBytes, start, end);
  }

  #dispatch(bytes: Buffer, offset: number, end: number): void {
    const type = bytes[offset + 3] as number;
    const flags = bytes[offset + 4] as number;
    // byte by byte: `readUInt32BE` would check again what is known here, for every frame
    const streamId =
      (((bytes[offset + 5] as number) & 0x7f) << 24) |
      ((bytes[offset + 6] as number) << 16) |
      ((bytes[offset + 7] as number) << 8) |
      (bytes[offset + 8] as number);
    this.#onFrame(type, flags, streamId, bytes, offset + frameHeaderBytes, end);
  }
}

function payloadBytes(bytes: Buffer, offset: number): number {
  const length =
    ((bytes[offset] as number) << 16) | ((bytes[offset + 1] as number) << 8) | (bytes[offset + 2] as number);
  if (length > maxFrameBytes) {
    throw new Http2Fault(
      ErrorCode.frameSizeError,
      `a frame of ${length} bytes; at most ${maxFrameBytes} are allowed`,
    );
  }
  return length;
}
