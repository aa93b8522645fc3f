// The constants of HTTP/2 (RFC 9113 §6, §7) that our client needs, and its error class.

export const FrameType = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const Flag = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  flowControlError: 3,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** Announced and enforced: the maximum size of a header list, with 32 extra bytes per field (RFC 9113 §6.5.2). */
export const maxHeaderListBytes = 32_768;
/** RFC 9113 §6.5.2: the initial size of a header table. */
export const defaultHeaderTableBytes = 4096;
export const frameHeaderBytes = 9;
/** The largest frame that a peer may send. RFC 9113 §4.2 permits no smaller limit, and any response fits into it. */
export const maxFrameBytes = 16_384;
export const defaultWindowBytes = 65_535;
export const maxWindowBytes = 2 ** 31 - 1;
export const maxStreamId = 2 ** 31 - 1;
/** Maximum concurrent requests on one connection. The push service may allow fewer. */
export const maxStreams = 100;

/** `PRI * HTTP/2.0…`, RFC 9113 §3.4. */
export const connectionPreface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** A connection error (RFC 9113 §5.4.1). The readers throw it; the session catches it and sends GOAWAY. */
export class Http2Fault extends Error {
  override readonly name = 'Http2Fault';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

// The push service's settings (RFC 9113 §6.5.2). Until it sends any, the defaults apply.

const settingBytes = 6;

export class PeerSettings {
  headerTableBytes: number = defaultHeaderTableBytes;
  maxConcurrentStreams = Number.POSITIVE_INFINITY;
  initialWindowBytes = defaultWindowBytes;
  maxFrameBytes = 16_384;

  /**
   * Applies the payload of a SETTINGS frame.
   *
   * @throws {Http2Fault} if a value is not allowed
   */
  apply(bytes: Buffer, start: number, end: number): void {
    if ((end - start) % settingBytes !== 0) {
      throw new Http2Fault(ErrorCode.frameSizeError, `SETTINGS of ${end - start} bytes`);
    }
    for (let at = start; at < end; at += settingBytes) {
      this.#applyOne(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
    }
  }

  #applyOne(setting: number, value: number): void {
    if (setting === Setting.headerTableSize) this.headerTableBytes = value;
    else if (setting === Setting.maxConcurrentStreams) this.maxConcurrentStreams = value;
    else if (setting === Setting.enablePush)
      check(value === 0, ErrorCode.protocolError, 'ENABLE_PUSH', value);
    else if (setting === Setting.initialWindowSize) {
      check(value <= maxWindowBytes, ErrorCode.flowControlError, 'INITIAL_WINDOW_SIZE', value);
      this.initialWindowBytes = value;
    } else if (setting === Setting.maxFrameSize) {
      check(value >= 16_384 && value < 2 ** 24, ErrorCode.protocolError, 'MAX_FRAME_SIZE', value);
      this.maxFrameBytes = value;
    }
  }
}

function check(isLegal: boolean, code: ErrorCode, setting: string, value: number): void {
  if (!isLegal) throw new Http2Fault(code, `${setting} of ${value}`);
}
