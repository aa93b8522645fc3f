// Validates each frame from the push service (RFC 9113 §6): lengths, stream ids, order, padding. The session handles its meaning.
import { FrameReader } from './frame-reader.ts';
import { HeaderAssembler, unpad, type Block } from './header-assembler.ts';
import { ErrorCode, Flag, FrameType, Http2Fault } from './protocol.ts';

/** Frames in a row that end no request; more count as an attack. */
const maxIdleFrames = 1000;

/** Called for each well-formed frame. Bytes are valid only during the call. */
export interface FrameEvents {
  /** False for a stream that we never opened. */
  isOurs(streamId: number): boolean;
  /** @param flowBytes what counts against the window: `bytes` and their padding */
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
  /** Must be answered with the same 8 bytes. */
  ping(payload: Uint8Array): void;
  goaway(lastStreamId: number): void;
  /** @param streamId 0 for the connection */
  windowUpdate(streamId: number, increment: number): void;
}

export class FrameValidator {
  readonly #events: FrameEvents;
  readonly #reader = new FrameReader((type, flags, streamId, bytes, start, end) =>
    this.#take(type, flags, streamId, bytes, start, end),
  );
  readonly #assembler = new HeaderAssembler();
  #hasBegun = false;
  #idleFrames = 0;

  constructor(events: FrameEvents) {
    this.#events = events;
  }

  /** @throws {Http2Fault} */
  read(chunk: Buffer): void {
    this.#reader.read(chunk);
  }

  /** A request has ended. We send as many as we like, so the frames before it were worth reading. */
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
      // PRIORITY, and what must be ignored (RFC 9113 §5.5)
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

/** The highest bit is reserved. */
function readUint31(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) & 0x7fff_ffff;
}

function protocolFault(what: string): Http2Fault {
  return new Http2Fault(ErrorCode.protocolError, what);
}
