// The push service's settings (RFC 9113 §6.5.2), initially the defaults.
import {
  defaultHeaderTableBytes,
  defaultWindowBytes,
  ErrorCode,
  Http2Fault,
  maxWindowBytes,
  Setting,
} from './protocol.ts';

const settingBytes = 6;

export class PeerSettings {
  headerTableBytes: number = defaultHeaderTableBytes;
  maxConcurrentStreams = Number.POSITIVE_INFINITY;
  initialWindowBytes = defaultWindowBytes;
  maxFrameBytes = 16_384;

  /**
   * Applies the payload of a SETTINGS frame.
   *
   * @throws {Http2Fault} for values that are not allowed
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
