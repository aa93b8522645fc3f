// Assembles a header block from HEADERS and CONTINUATION frames (RFC 9113 §4.3, §6.2, §6.10). Nearly always it is one frame, which is
// passed on without a copy.
import { ErrorCode, Flag, FrameType, Http2Fault, maxHeaderListBytes } from './protocol.ts';

/** RFC 9113 does not limit CONTINUATION frames, which attacks have used to exhaust readers. */
const maxContinuations = 16;

export interface Block {
  readonly streamId: number;
  readonly endsStream: boolean;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

export class HeaderAssembler {
  #streamId = 0;
  #endsStream = false;
  #parts: Buffer[] = [];
  #partBytes = 0;

  /** Only CONTINUATION frames of one stream may come now. */
  get isWaiting(): boolean {
    return this.#streamId !== 0;
  }

  /**
   * Takes a HEADERS or CONTINUATION frame.
   *
   * @returns the block when it is complete
   * @throws {Http2Fault}
   */
  add(
    type: number,
    flags: number,
    streamId: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): Block | undefined {
    const isLast = (flags & Flag.endHeaders) !== 0;
    if (type === FrameType.headers) {
      const [from, to] = fragment(flags, bytes, start, end);
      const endsStream = (flags & Flag.endStream) !== 0;
      if (isLast) return { streamId, endsStream, bytes, start: from, end: to };
      this.#streamId = streamId;
      this.#endsStream = endsStream;
      this.#append(bytes, from, to);
      return undefined;
    }
    if (streamId !== this.#streamId) {
      throw new Http2Fault(ErrorCode.protocolError, 'CONTINUATION without its HEADERS');
    }
    this.#append(bytes, start, end);
    if (!isLast) return undefined;
    const whole = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partBytes = this.#streamId = 0;
    return { streamId, endsStream: this.#endsStream, bytes: whole, start: 0, end: whole.length };
  }

  #append(bytes: Buffer, start: number, end: number): void {
    this.#partBytes += end - start;
    if (this.#partBytes > maxHeaderListBytes || this.#parts.length > maxContinuations) {
      throw new Http2Fault(
        ErrorCode.enhanceYourCalm,
        `a header block of more than ${maxHeaderListBytes} bytes or ${maxContinuations} frames`,
      );
    }
    this.#parts.push(Buffer.from(bytes.subarray(start, end)));
  }
}

/** A HEADERS payload without padding and priority. */
function fragment(flags: number, bytes: Buffer, start: number, end: number): [start: number, end: number] {
  const [from, to] = unpad(flags, bytes, start, end);
  const block = (flags & Flag.priority) === 0 ? from : from + 5;
  if (block > to) throw new Http2Fault(ErrorCode.frameSizeError, 'HEADERS that are too short');
  return [block, to];
}

/**
 * The part of a payload that is not padding (RFC 9113 §6.1).
 *
 * @throws {Http2Fault} for more padding than payload
 */
export function unpad(
  flags: number,
  bytes: Buffer,
  start: number,
  end: number,
): [start: number, end: number] {
  if ((flags & Flag.padded) === 0) return [start, end];
  if (start === end) throw new Http2Fault(ErrorCode.frameSizeError, 'a padded frame without its length');
  const to = end - (bytes[start] as number);
  if (to < start + 1) throw new Http2Fault(ErrorCode.protocolError, 'more padding than payload');
  return [start + 1, to];
}
