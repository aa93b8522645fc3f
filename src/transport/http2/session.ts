// One HTTP/2 connection (RFC 9113) as a session: the client's part of the protocol that POST requests with short
// answers need, written for many requests per system call. Left out: server push (refused), priorities, CONNECT,
// request trailers, `expect: 100-continue`, HTTP/2 without TLS.
//
//   GREETING  preface and SETTINGS are written; the push service's SETTINGS → OPEN
//   OPEN      takes requests, up to a hundred or what the push service allows at a time
//   RETIRED   takes none: GOAWAY, drained, out of stream ids, or silent; its last answer → CLOSED
//   CLOSED    every request has been reported
//
// What becomes of a request when its answer does not come:
//   its stream is above GOAWAY's last-stream-id, or reset with REFUSED_STREAM → handed back: it was not processed
//   its status is known, and only the rest of the answer is lost             → answered
//   everything else                                                          → failed, in doubt
import type { Socket } from 'node:net';

import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Connection } from '../connect.ts';
import type { Exchange, Session, SessionEvents, SessionLimits } from '../exchange.ts';
import { BodySender } from './body-sender.ts';
import { FrameReader } from './frame-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import { HeaderAssembler, unpad, type Block } from './header-assembler.ts';
import { HpackDecoder, maxHeaderListBytes } from './hpack-decoder.ts';
import { contentLengthField, HpackEncoder, pathPrefix } from './hpack-encoder.ts';
import { PeerSettings } from './peer-settings.ts';
import {
  connectionPreface,
  defaultWindowBytes,
  ErrorCode,
  Flag,
  FrameType,
  Http2Fault,
  maxStreamId,
  Setting,
} from './protocol.ts';
import { Stream } from './stream.ts';
import { StreamTable } from './stream-table.ts';

export const maxStreams = 100;
/** Frames that bring no answer any nearer, in a row: beyond that the push service only keeps us busy. */
const maxIdleFrames = 1000;
/** More is not written until the socket has taken this: the push service reads too slowly. */
const maxUnwrittenBytes = 262_144;

const ourSettings: readonly (readonly [setting: number, value: number])[] = [
  [Setting.headerTableSize, 0],
  [Setting.enablePush, 0],
  [Setting.maxHeaderListSize, maxHeaderListBytes],
];

export class Http2Session implements Session {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #events: SessionEvents;
  readonly #limits: SessionLimits;
  readonly #writer = new FrameWriter();
  readonly #peer = new PeerSettings();
  readonly #bodies = new BodySender(this.#writer, this.#peer);
  readonly #encoder: HpackEncoder;
  readonly #reader = new FrameReader((type, flags, streamId, bytes, start, end) =>
    this.#takeFrame(type, flags, streamId, bytes, start, end),
  );
  readonly #assembler = new HeaderAssembler();
  readonly #decoder = new HpackDecoder();
  /** In flight, by stream id and so by age. */
  readonly #streams = new StreamTable(maxStreams);
  #state: 'GREETING' | 'OPEN' | 'RETIRED' | 'CLOSED' = 'GREETING';
  #nextStreamId = 1;
  /** What the push service may still send before we grant more. */
  #receiveWindow = defaultWindowBytes;
  #idleFrames = 0;
  #readAtMs: number;
  /** When the session was opened or last had something in flight. */
  #busyAtMs: number;
  readonly #checkEveryMs: number;
  #timer: NodeJS.Timeout;
  /** Why it is closed. */
  #reason: DeskbellError | undefined;

  /** @param host value of `:authority` */
  constructor({ socket, inlet }: Connection, host: string, events: SessionEvents, limits: SessionLimits) {
    this.#socket = socket;
    this.#host = host;
    this.#events = events;
    this.#limits = limits;
    this.#encoder = new HpackEncoder(host);
    this.#readAtMs = this.#busyAtMs = performance.now();
    const { connectTimeoutMs, responseTimeoutMs, idleTimeoutMs } = limits;
    this.#checkEveryMs = Math.min(connectTimeoutMs, responseTimeoutMs, idleTimeoutMs);
    this.#timer = setTimeout(() => this.#checkTime(), this.#checkEveryMs);
    socket.on('drain', () => events.changed(this));
    socket.on('end', () => this.#lose());
    socket.on('error', (error) => this.#lose(error));
    socket.on('close', () => this.#close());
    this.#greet();
    inlet.read((chunk) => this.#read(chunk));
  }

  get room(): number {
    if (this.#state !== 'OPEN' || this.#socket.writableLength > maxUnwrittenBytes) return 0;
    return Math.max(0, Math.min(maxStreams, this.#peer.maxConcurrentStreams) - this.#streams.size);
  }

  get isOpen(): boolean {
    return this.#state === 'GREETING' || this.#state === 'OPEN';
  }

  get wasUsed(): boolean {
    return this.#nextStreamId > 1;
  }

  add(exchange: Exchange): void {
    const id = this.#nextStreamId;
    this.#nextStreamId += 2;
    if (this.#nextStreamId > maxStreamId) this.#retire();
    if (this.#streams.size === 0) this.#socket.ref();
    const stream = new Stream(id, exchange, performance.now());
    this.#streams.add(stream);
    const { path, headers, body } = exchange.request;
    const { pseudo, fields } = this.#encoder.encode(headers);
    const prefix = pathPrefix(path.length);
    const length = contentLengthField(body.length);
    const blockBytes = pseudo.length + prefix.length + path.length + length.length + fields.length;
    const flags = body.length === 0 ? Flag.endHeaders | Flag.endStream : Flag.endHeaders;
    this.#writer.begin(FrameType.headers, flags, id, blockBytes);
    this.#writer.bytes(pseudo);
    this.#writer.bytes(prefix);
    this.#writer.latin1(path);
    this.#writer.bytes(length);
    this.#writer.bytes(fields);
    this.#bodies.send(stream);
  }

  flush(): void {
    if (this.#state === 'CLOSED') return;
    if (this.#receiveWindow < defaultWindowBytes / 2) {
      const increment = defaultWindowBytes - this.#receiveWindow;
      this.#writer.numberFrame(FrameType.windowUpdate, 0, increment);
      this.#receiveWindow += increment;
    }
    if (this.#writer.length > 0) this.#socket.write(this.#writer.take());
  }

  drain(): void {
    this.#retire();
    this.#closeWhenDone();
  }

  destroy(error: DeskbellError): void {
    this.#sayGoaway(ErrorCode.noError);
    this.#failAll(error);
    this.#socket.destroy();
  }

  #greet(): void {
    this.#writer.reserve(connectionPreface.length);
    this.#writer.bytes(connectionPreface);
    const payload = Buffer.alloc(6 * ourSettings.length);
    for (const [index, [setting, value]] of ourSettings.entries()) {
      payload.writeUInt16BE(setting, 6 * index);
      payload.writeUInt32BE(value, 6 * index + 2);
    }
    this.#writer.frame(FrameType.settings, 0, 0, payload);
    this.flush();
  }

  #read(chunk: Buffer): void {
    if (this.#state === 'CLOSED') return;
    this.#readAtMs = performance.now();
    try {
      this.#reader.read(chunk);
    } catch (error) {
      if (!(error instanceof Http2Fault)) throw error;
      this.#breakOff(error);
      return;
    }
    this.#closeWhenDone();
    if (this.#writer.length > 0 || this.#receiveWindow < defaultWindowBytes / 2) this.#events.changed(this);
  }

  #takeFrame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (this.#state === 'CLOSED') return;
    if (this.#state === 'GREETING' && type !== FrameType.settings) {
      throw protocolFault('no SETTINGS at the beginning');
    }
    if (this.#assembler.isWaiting && type !== FrameType.continuation) {
      throw protocolFault('a frame between HEADERS and CONTINUATION');
    }
    this.#idleFrames += 1;
    if (this.#idleFrames > maxIdleFrames) {
      throw new Http2Fault(ErrorCode.enhanceYourCalm, `${maxIdleFrames} frames without an answer`);
    }
    switch (type) {
      case FrameType.data:
        this.#takeData(flags, streamId, bytes, start, end);
        break;
      case FrameType.headers:
      case FrameType.continuation:
        this.#checkStreamId(streamId);
        this.#takeBlock(this.#assembler.add(type, flags, streamId, bytes, start, end));
        break;
      case FrameType.rstStream:
        this.#checkStreamId(streamId);
        checkLength('RST_STREAM', start, end, 4);
        this.#takeReset(streamId, bytes.readUInt32BE(start));
        break;
      case FrameType.settings:
        this.#takeSettings(flags, streamId, bytes, start, end);
        break;
      case FrameType.pushPromise:
        throw protocolFault('PUSH_PROMISE, which was not offered');
      case FrameType.ping:
        checkConnection('PING', streamId);
        checkLength('PING', start, end, 8);
        if ((flags & Flag.ack) === 0) {
          this.#writer.frame(FrameType.ping, Flag.ack, 0, bytes.subarray(start, end));
        }
        break;
      case FrameType.goaway:
        checkConnection('GOAWAY', streamId);
        if (end - start < 8) throw new Http2Fault(ErrorCode.frameSizeError, 'a GOAWAY that is too short');
        this.#takeGoaway(bytes.readUInt32BE(start) & 0x7fff_ffff);
        break;
      case FrameType.windowUpdate:
        checkLength('WINDOW_UPDATE', start, end, 4);
        this.#takeWindowUpdate(streamId, bytes.readUInt32BE(start) & 0x7fff_ffff);
        break;
      default:
      // PRIORITY, and what RFC 9113 §5.5 says to ignore.
    }
  }

  #takeData(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    this.#checkStreamId(streamId);
    this.#receiveWindow -= end - start;
    if (this.#receiveWindow < 0) {
      throw new Http2Fault(ErrorCode.flowControlError, 'more data than the connection window allows');
    }
    const [from, to] = unpad(flags, bytes, start, end);
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (stream.answer === undefined) this.#failStream(stream, 'sent a body before its header');
    else if (!stream.addBody(bytes, from, to)) {
      this.#reset(stream, ErrorCode.cancel);
      this.#answer(stream, stream.answer);
    } else if ((flags & Flag.endStream) !== 0) this.#answer(stream, stream.answer);
  }

  #takeBlock(block: Block | undefined): void {
    const stream = block === undefined ? undefined : this.#streams.get(block.streamId);
    if (block === undefined || stream === undefined) return;
    const header = this.#decoder.decode(block.bytes, block.start, block.end);
    const isInterim = header.status >= 100 && header.status <= 199;
    const isTrailer = stream.answer !== undefined;
    if (header.fault !== undefined) this.#failStream(stream, `sent a header block with ${header.fault}`);
    else if (isTrailer ? header.status !== 0 || !block.endsStream : header.status === 0) {
      this.#failStream(stream, 'sent header blocks in a wrong order');
    } else if (isInterim ? block.endsStream || header.status === 101 : false) {
      this.#failStream(stream, `ended its answer with status ${header.status}`);
    } else if (!isInterim) {
      stream.answer ??= header;
      if (block.endsStream) this.#answer(stream, stream.answer);
    }
  }

  #takeReset(streamId: number, code: number): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (stream.answer !== undefined) this.#answer(stream, stream.answer);
    else if (code === ErrorCode.refusedStream) this.#handBack(stream);
    else this.#fail(stream, connectionError(this.#host, `reset the request (HTTP/2 error ${code})`));
  }

  #takeSettings(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    checkConnection('SETTINGS', streamId);
    if ((flags & Flag.ack) !== 0) {
      checkLength('the acknowledgement of SETTINGS', start, end, 0);
      return;
    }
    this.#peer.apply(bytes, start, end);
    this.#encoder.resize(this.#peer.headerTableBytes);
    this.#writer.begin(FrameType.settings, Flag.ack, 0, 0);
    this.#bodies.continue();
    if (this.#state !== 'GREETING') return;
    this.#state = 'OPEN';
    // An idle connection does not keep the process alive.
    this.#socket.unref();
  }

  /** RFC 9113 §6.8: what is above `lastStreamId` was not and will not be processed. */
  #takeGoaway(lastStreamId: number): void {
    this.#retire();
    for (const stream of this.#streams.values()) {
      if (stream.id > lastStreamId) this.#handBack(stream);
    }
  }

  #takeWindowUpdate(streamId: number, increment: number): void {
    if (streamId === 0) {
      if (increment === 0) throw protocolFault('a WINDOW_UPDATE of 0');
      this.#bodies.grantConnection(increment);
      return;
    }
    this.#checkStreamId(streamId);
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (increment === 0 || !this.#bodies.grantStream(stream, increment)) {
      this.#failStream(stream, 'granted a window that is not legal', ErrorCode.flowControlError);
    }
  }

  /** Streams are ours to begin: odd, and below the next one (RFC 9113 §5.1.1). */
  #checkStreamId(streamId: number): void {
    if (streamId % 2 === 0 || streamId >= this.#nextStreamId) {
      throw protocolFault(`a frame on stream ${streamId}, which we did not open`);
    }
  }

  #answer(stream: Stream, header: NonNullable<Stream['answer']>): void {
    // The answer is complete before the request is: nobody wants the rest of it.
    if (!stream.isWhollySent) this.#reset(stream, ErrorCode.cancel);
    this.#forget(stream);
    this.#idleFrames = 0;
    this.#events.answered(stream.exchange, stream.response(header), stream.sentAtMs, this.#readAtMs);
  }

  #handBack(stream: Stream): void {
    this.#forget(stream);
    this.#events.refused(stream.exchange);
  }

  #fail(stream: Stream, error: DeskbellError): void {
    this.#forget(stream);
    this.#events.failed(stream.exchange, error, true);
  }

  /** A stream error (RFC 9113 §5.4.2): the connection goes on. */
  #failStream(stream: Stream, what: string, code: ErrorCode = ErrorCode.protocolError): void {
    this.#reset(stream, code);
    this.#fail(stream, connectionError(this.#host, what));
  }

  #reset(stream: Stream, code: ErrorCode): void {
    this.#writer.numberFrame(FrameType.rstStream, stream.id, code);
  }

  #forget(stream: Stream): void {
    this.#streams.delete(stream);
    this.#bodies.forget(stream);
    if (this.#streams.size > 0) return;
    this.#busyAtMs = performance.now();
    this.#socket.unref();
  }

  #retire(): void {
    if (!this.isOpen) return;
    this.#state = 'RETIRED';
    this.#events.changed(this);
  }

  #closeWhenDone(): void {
    if (this.#state !== 'RETIRED' || this.#streams.size > 0) return;
    this.#sayGoaway(ErrorCode.noError);
    this.#state = 'CLOSED';
    this.#socket.destroySoon();
  }

  /** The push service has broken the protocol. */
  #breakOff(fault: Http2Fault): void {
    this.#sayGoaway(fault.code);
    this.#lose(fault);
  }

  /** The last word: no stream of the push service's was processed, since it may open none. */
  #sayGoaway(code: ErrorCode): void {
    if (this.#state === 'CLOSED') return;
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(code, 4);
    this.#writer.frame(FrameType.goaway, 0, 0, payload);
    this.flush();
  }

  /** The connection has ended, or is of no more use. */
  #lose(cause?: Error): void {
    this.#failAll(connectionError(this.#host, 'ended the connection before an answer came', cause));
    this.#socket.destroy();
  }

  #failAll(error: DeskbellError): void {
    this.#state = 'CLOSED';
    this.#reason ??= error;
    for (const stream of this.#streams.values()) {
      if (stream.answer === undefined) this.#fail(stream, error);
      else this.#answer(stream, stream.answer);
    }
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#failAll(connectionError(this.#host, 'closed the connection'));
    this.#events.closed(this, this.#reason as DeskbellError);
  }

  /** Runs at least once per shortest time-out, so that no request needs a timer of its own. */
  #checkTime(): void {
    const nowMs = performance.now();
    const { connectTimeoutMs, responseTimeoutMs, idleTimeoutMs } = this.#limits;
    let dueMs = this.#busyAtMs + idleTimeoutMs;
    if (this.#state === 'GREETING') {
      dueMs = this.#busyAtMs + connectTimeoutMs;
      if (dueMs <= nowMs) this.destroy(timeoutError(this.#host, 'greet', connectTimeoutMs));
    } else if (this.#state === 'CLOSED') this.#socket.destroy();
    else if (this.#streams.size === 0 && dueMs <= nowMs) this.drain();
    for (const stream of this.#streams.values()) {
      dueMs = stream.sentAtMs + responseTimeoutMs;
      if (dueMs > nowMs) break;
      this.#timeOut(stream);
    }
    this.flush();
    this.#closeWhenDone();
    const delayMs = Math.min(Math.max(dueMs - nowMs, 0) + 1, this.#checkEveryMs);
    if (!this.#socket.destroyed) this.#timer = setTimeout(() => this.#checkTime(), delayMs).unref();
  }

  #timeOut(stream: Stream): void {
    // Where not a byte came since, or the body could not even be written, others would fare the same.
    if (this.#readAtMs < stream.sentAtMs || !stream.isWhollySent) this.#retire();
    this.#reset(stream, ErrorCode.cancel);
    if (stream.answer !== undefined) this.#answer(stream, stream.answer);
    else this.#fail(stream, timeoutError(this.#host, 'answer', this.#limits.responseTimeoutMs));
  }
}

function checkConnection(frame: string, streamId: number): void {
  if (streamId !== 0) throw protocolFault(`${frame} on a stream`);
}

function checkLength(frame: string, start: number, end: number, length: number): void {
  if (end - start === length) return;
  throw new Http2Fault(ErrorCode.frameSizeError, `${frame} of ${end - start} bytes, not ${length}`);
}

function protocolFault(what: string): Http2Fault {
  return new Http2Fault(ErrorCode.protocolError, what);
}

function connectionError(host: string, what: string, cause?: Error): DeskbellError {
  let reason = '';
  if (cause instanceof Http2Fault) reason = ` (it sent ${cause.message})`;
  else if (cause !== undefined && 'code' in cause) reason = ` (${String(cause.code)})`;
  return new DeskbellError('ERR_CONNECTION', `${host} ${what}${reason}.`, { cause });
}

function timeoutError(host: string, verb: string, timeoutMs: number): DeskbellError {
  return new DeskbellError('ERR_TIMEOUT', `${host} did not ${verb} within ${timeoutMs / 1000} s.`);
}
