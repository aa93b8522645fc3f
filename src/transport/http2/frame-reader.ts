// Reads frames from socket data (RFC 9113 §4.1) and validates lengths, stream ids, order and padding (§6). The
// session interprets them. Most frames are complete within one chunk and passed on without a copy. Only split frames
// are copied, into one buffer of fixed size.
import {
  ErrorCode,
  Flag,
  frameHeaderBytes,
  FrameType,
  Http2Fault,
  maxFrameBytes,
  maxHeaderListBytes,
} from './protocol.ts';

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

// Assembles a header block from HEADERS and CONTINUATION frames (RFC 9113 §4.3, §6.2, §6.10). Nearly every block is a
// single frame, which is passed on without a copy.

/** RFC 9113 does not limit CONTINUATION frames, and attackers have used them to exhaust receivers. */
const maxContinuations = 16;

interface Block {
  readonly streamId: number;
  readonly endsStream: boolean;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

class HeaderAssembler {
  #streamId = 0;
  #endsStream = false;
  #parts: Buffer[] = [];
  #partBytes = 0;

  /** True if only CONTINUATION frames of one stream are allowed now. */
  get isWaiting(): boolean {
    return this.#streamId !== 0;
  }

  /**
   * Adds a HEADERS or CONTINUATION frame.
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

/** Returns the payload of HEADERS without padding and priority. */
function fragment(flags: number, bytes: Buffer, start: number, end: number): [start: number, end: number] {
  const [from, to] = unpad(flags, bytes, start, end);
  const block = (flags & Flag.priority) === 0 ? from : from + 5;
  if (block > to) throw new Http2Fault(ErrorCode.frameSizeError, 'HEADERS that are too short');
  return [block, to];
}

/**
 * Returns the part of a payload that is not padding (RFC 9113 §6.1).
 *
 * @throws {Http2Fault} if there is more padding than payload
 */
function unpad(flags: number, bytes: Buffer, start: number, end: number): [start: number, end: number] {
  if ((flags & Flag.padded) === 0) return [start, end];
  if (start === end) throw new Http2Fault(ErrorCode.frameSizeError, 'a padded frame without its length');
  const to = end - (bytes[start] as number);
  if (to < start + 1) throw new Http2Fault(ErrorCode.protocolError, 'more padding than payload');
  return [start + 1, to];
}

/** More than this many frames in a row without the end of a request count as an attack. */
const maxIdleFrames = 1000;

/** Receives each well-formed frame. Bytes are valid only during the call. */
export interface FrameEvents {
  /** False for a stream that we never opened. */
  isOurs(streamId: number): boolean;
  /** @param flowBytes bytes that count against the window, including padding */
  data(
    streamId: number,
    endsStream: boolean,
    flowBytes: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void;
  headers(block: Block): void;
  reset(streamId: number, errorCode: number): void;
  settings(bytes: Buffer, start: number, end: number): void;
  /** The reply must contain the same 8 bytes. */
  ping(payload: Uint8Array): void;
  goaway(lastStreamId: number): void;
  /** @param streamId 0 for the connection */
  windowUpdate(streamId: number, increment: number): void;
}

export class FrameReader {
  readonly #events: FrameEvents;
  readonly #assembler = new HeaderAssembler();
  #buffer: Buffer | undefined;
  #bufferedBytes = 0;
  #hasBegun = false;
  #idleFrames = 0;

  constructor(events: FrameEvents) {
    this.#events = events;
  }

  /** @throws {Http2Fault} */
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

  /** @returns how many bytes of the chunk belong to the frame of an earlier chunk */
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
    // the stream id is read byte by byte, because `readUInt32BE` would repeat bounds checks for every frame
    const streamId =
      (((bytes[offset + 5] as number) & 0x7f) << 24) |
      ((bytes[offset + 6] as number) << 16) |
      ((bytes[offset + 7] as number) << 8) |
      (bytes[offset + 8] as number);
    this.#take(type, flags, streamId, bytes, offset + frameHeaderBytes, end);
  }

  /** Records that a request has ended. Frames count as an attack only if there are too many without such progress. */
  progressed(): void {
    this.#idleFrames = 0;
  }

  #take(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    this.#checkOrder(type);
    switch (type) {
      case FrameType.data: {
        this.#checkStream(streamId);
        const [from, to] = unpad(flags, bytes, start, end);
        this.#events.data(streamId, (flags & Flag.endStream) !== 0, end - start, bytes, from, to);
        break;
      }
      case FrameType.headers:
      case FrameType.continuation: {
        this.#checkStream(streamId);
        const block = this.#assembler.add(type, flags, streamId, bytes, start, end);
        if (block !== undefined) this.#events.headers(block);
        break;
      }
      case FrameType.rstStream:
        this.#checkStream(streamId);
        checkLength('RST_STREAM', end - start, 4);
        this.#events.reset(streamId, bytes.readUInt32BE(start));
        break;
      case FrameType.settings:
        checkConnection('SETTINGS', streamId);
        if ((flags & Flag.ack) === 0) this.#events.settings(bytes, start, end);
        else checkLength('the acknowledgement of SETTINGS', end - start, 0);
        break;
      case FrameType.pushPromise:
        throw protocolFault('PUSH_PROMISE, which was not offered');
      case FrameType.ping:
        checkConnection('PING', streamId);
        checkLength('PING', end - start, 8);
        if ((flags & Flag.ack) === 0) this.#events.ping(bytes.subarray(start, end));
        break;
      case FrameType.goaway:
        checkConnection('GOAWAY', streamId);
        if (end - start < 8) throw new Http2Fault(ErrorCode.frameSizeError, 'a GOAWAY that is too short');
        this.#events.goaway(readUint31(bytes, start));
        break;
      case FrameType.windowUpdate:
        if (streamId !== 0) this.#checkStream(streamId);
        checkLength('WINDOW_UPDATE', end - start, 4);
        this.#events.windowUpdate(streamId, readUint31(bytes, start));
        break;
      default:
      // PRIORITY and unknown frame types are ignored (RFC 9113 §5.5)
    }
  }

  #checkOrder(type: number): void {
    // RFC 9113 §3.4
    if (!this.#hasBegun && type !== FrameType.settings) throw protocolFault('no SETTINGS at the beginning');
    this.#hasBegun = true;
    // RFC 9113 §4.3
    if (this.#assembler.isWaiting && type !== FrameType.continuation) {
      throw protocolFault('a frame between HEADERS and CONTINUATION');
    }
    this.#idleFrames += 1;
    if (this.#idleFrames > maxIdleFrames) {
      throw new Http2Fault(ErrorCode.enhanceYourCalm, `${maxIdleFrames} frames without an answer`);
    }
  }

  #checkStream(streamId: number): void {
    if (!this.#events.isOurs(streamId)) {
      throw protocolFault(`a frame on stream ${streamId}, which we did not open`);
    }
  }
}

function checkConnection(frame: string, streamId: number): void {
  if (streamId !== 0) throw protocolFault(`${frame} on a stream`);
}

function checkLength(frame: string, length: number, expected: number): void {
  if (length === expected) return;
  throw new Http2Fault(ErrorCode.frameSizeError, `${frame} of ${length} bytes, not ${expected}`);
}

/** Ignores the highest bit, which is reserved. */
function readUint31(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) & 0x7fff_ffff;
}

function protocolFault(what: string): Http2Fault {
  return new Http2Fault(ErrorCode.protocolError, what);
}
