// One HTTP/2 connection (RFC 9113) as a session. It implements as much of the client's side as POST requests with short
// responses need, and is built to write many requests per system call. We use our own client because `node:http2`
// took 7 to 8 times its CPU per message, measured against nginx on loopback (`npm run bench -- transport`). Left out:
// server push (refused), priorities, CONNECT, request trailers, `expect: 100-continue`, HTTP/2 without TLS.
//
//   GREETING  preface and SETTINGS are written; when the push service's SETTINGS arrive → OPEN
//   OPEN      takes requests: up to a hundred at a time, or fewer if the push service says so
//   RETIRED   takes no requests (GOAWAY, drained, out of stream ids, or silent); after its last response → CLOSED
//   CLOSED    every request has been reported
//
// If the response to a request does not arrive:
//   its stream is above GOAWAY's last-stream-id, or reset with REFUSED_STREAM → handed back, because unprocessed;
//                                                                              as refused if none can be sent at once
//   its status is known, and only the rest of the response is lost           → answered
//   everything else                                                          → failed, in doubt
import type { Socket } from 'node:net';

import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Timer } from '../clock.ts';
import type { Connection } from '../connect.ts';
import { connectionError } from '../connection-errors.ts';
import { timeoutError } from '../check-options.ts';
import type { Exchange, Session, SessionEvents, SessionSettings } from '../exchange.ts';
import { FrameWriter } from './frame-writer.ts';
import { FlowController, Stream, StreamTable } from './streams.ts';
import { HpackDecoder, type HeaderBlock } from './hpack-decoder.ts';
import { type FrameEvents, FrameReader } from './frame-reader.ts';
import { ErrorCode, Http2Fault, maxStreamId, maxStreams, PeerSettings } from './protocol.ts';

/** If more unwritten data than this piles up, the push service is reading too slowly, and requests wait. */
const maxUnwrittenBytes = 262_144;

export class Http2Session implements Session {
  readonly protocol = 'h2';
  readonly #socket: Socket;
  readonly #host: string;
  readonly #events: SessionEvents;
  readonly #settings: SessionSettings;
  readonly #writer: FrameWriter;
  readonly #peer = new PeerSettings();
  readonly #flow: FlowController;
  readonly #frames = new FrameReader(this.#frameEvents());
  readonly #decoder = new HpackDecoder();
  readonly #streams = new StreamTable(maxStreams);
  #state: 'GREETING' | 'OPEN' | 'RETIRED' | 'CLOSED' = 'GREETING';
  #nextStreamId = 1;
  #readAtMs: number;
  /** When a request was last in flight, or when the session was opened. */
  #busyAtMs: number;
  readonly #checkEveryMs: number;
  #timer: Timer;
  #reason: DeskbellError | undefined;

  /** @param host the value of `:authority` */
  constructor(
    { socket, reader }: Connection,
    host: string,
    events: SessionEvents,
    settings: SessionSettings,
  ) {
    this.#socket = socket;
    this.#host = host;
    this.#events = events;
    this.#settings = settings;
    this.#writer = new FrameWriter(host);
    this.#flow = new FlowController(this.#writer, this.#peer);
    this.#readAtMs = this.#busyAtMs = this.#settings.monotonicNow();
    const { connectTimeoutMs, responseTimeoutMs, idleTimeoutMs } = settings;
    this.#checkEveryMs = Math.min(connectTimeoutMs, responseTimeoutMs, idleTimeoutMs);
    this.#timer = this.#startTimer(this.#checkEveryMs);
    socket.on('drain', () => events.changed(this));
    socket.on('end', () => this.#lose());
    socket.on('error', (error) => this.#lose(error));
    socket.on('close', () => this.#close());
    this.#writer.greet();
    this.flush();
    reader.read((chunk) => this.#read(chunk));
  }

  get capacity(): number | undefined {
    return this.#state === 'GREETING' ? undefined : this.#maxStreams;
  }

  get freeCapacity(): number {
    if (this.#state !== 'OPEN' || this.#socket.writableLength > maxUnwrittenBytes) return 0;
    return Math.max(0, this.#maxStreams - this.#streams.size);
  }

  get #maxStreams(): number {
    return Math.min(maxStreams, this.#peer.maxConcurrentStreams);
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
    const stream = new Stream(id, exchange, this.#settings.monotonicNow());
    exchange.writtenAtMs = stream.sentAtMs;
    this.#streams.add(stream);
    this.#writer.headers(id, exchange.request);
    this.#flow.send(stream);
  }

  flush(): void {
    if (this.#state === 'CLOSED') return;
    this.#flow.grantReceived();
    if (this.#writer.length > 0) this.#writer.take((bytes, done) => this.#socket.write(bytes, done));
  }

  drain(): void {
    this.#retire();
    this.#closeWhenDone();
  }

  destroy(error: DeskbellError): void {
    this.#sendGoaway(ErrorCode.noError);
    this.#failAll(error);
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#state === 'CLOSED') return;
    this.#readAtMs = this.#settings.monotonicNow();
    try {
      this.#frames.read(chunk);
    } catch (error) {
      if (!(error instanceof Http2Fault)) throw error;
      this.#breakOff(error);
      return;
    }
    this.#closeWhenDone();
    if (this.#writer.length > 0 || this.#flow.hasToGrant) this.#events.changed(this);
  }

  #frameEvents(): FrameEvents {
    return {
      // RFC 9113 §5.1.1: our stream ids are odd, and lower than the next one that we will use
      isOurs: (streamId) => streamId % 2 === 1 && streamId < this.#nextStreamId,
      data: (streamId, endsStream, flowBytes, bytes, start, end) => {
        this.#flow.receive(flowBytes);
        const stream = this.#streams.get(streamId);
        if (stream !== undefined) this.#takeBody(stream, endsStream, bytes, start, end);
      },
      headers: ({ streamId, endsStream, bytes, start, end }) => {
        // decode the block even if the stream is closed, because the block may change the header table
        const header = this.#decoder.decode(bytes, start, end);
        const stream = this.#streams.get(streamId);
        if (stream !== undefined) this.#takeHeader(stream, header, endsStream);
      },
      reset: (streamId, errorCode) => {
        const stream = this.#streams.get(streamId);
        if (stream !== undefined) this.#takeReset(stream, errorCode);
      },
      settings: (bytes, start, end) => this.#takeSettings(bytes, start, end),
      ping: (payload) => this.#writer.acknowledgePing(payload),
      goaway: (lastStreamId) => this.#takeGoaway(lastStreamId),
      windowUpdate: (streamId, increment) => {
        if (streamId === 0) this.#flow.grantConnection(increment);
        else this.#takeWindowUpdate(streamId, increment);
      },
    };
  }

  #takeBody(stream: Stream, endsStream: boolean, bytes: Buffer, start: number, end: number): void {
    if (stream.answer === undefined) this.#failStream(stream, 'a body before its header');
    else if (!stream.addBody(bytes, start, end)) {
      this.#writer.reset(stream.id, ErrorCode.cancel);
      this.#answer(stream, stream.answer);
    } else if (endsStream) this.#answer(stream, stream.answer);
  }

  /** RFC 9113 §8.1: a response has any number of interim headers, one final header, and possibly a trailer. */
  #takeHeader(stream: Stream, header: HeaderBlock, endsStream: boolean): void {
    const { status } = header;
    if (header.fault !== undefined) {
      this.#failStream(stream, `a header block with ${header.fault}`);
    } else if (stream.answer !== undefined) {
      if (status === 0 && endsStream) this.#answer(stream, stream.answer);
      else this.#failStream(stream, 'a second header');
    } else if (status < 200) {
      // 0 means no status; 101 would switch to another protocol
      const isInterim = status >= 100 && status !== 101 && !endsStream;
      if (!isInterim) this.#failStream(stream, 'an answer without a final status');
    } else {
      stream.answer = header;
      if (endsStream) this.#answer(stream, header);
    }
  }

  #takeReset(stream: Stream, errorCode: number): void {
    if (stream.answer !== undefined) this.#answer(stream, stream.answer);
    else if (errorCode === ErrorCode.refusedStream) this.#handBack(stream, `HTTP/2 error ${errorCode}`);
    else this.#fail(stream, connectionError(this.#host, `reset the request (HTTP/2 error ${errorCode})`));
  }

  #takeSettings(bytes: Buffer, start: number, end: number): void {
    this.#peer.apply(bytes, start, end);
    this.#writer.acknowledgeSettings(this.#peer.headerTableBytes);
    this.#flow.continue();
    if (this.#state !== 'GREETING') return;
    this.#state = 'OPEN';
    // An idle connection must not keep the process alive.
    this.#socket.unref();
  }

  /** RFC 9113 §6.8: streams above `lastStreamId` were not processed and will not be. */
  #takeGoaway(lastStreamId: number): void {
    this.#retire();
    // if the push service processed earlier streams, a new connection will probably process the rest
    const refusal = lastStreamId === 0 ? 'HTTP/2 GOAWAY before the first one' : undefined;
    for (const stream of this.#streams.values()) {
      if (stream.id > lastStreamId) this.#handBack(stream, refusal);
    }
  }

  #takeWindowUpdate(streamId: number, increment: number): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined || this.#flow.grantStream(stream, increment)) return;
    this.#failStream(stream, 'a window update that is not legal', ErrorCode.flowControlError);
  }

  #answer(stream: Stream, header: NonNullable<Stream['answer']>): void {
    // the response came before the whole request was sent, so the rest of the request is not needed
    if (!stream.isWhollySent) this.#writer.reset(stream.id, ErrorCode.cancel);
    this.#forget(stream);
    this.#events.answered(stream.exchange, stream.response(header), this.#readAtMs - stream.sentAtMs);
  }

  #handBack(stream: Stream, refusal: string | undefined): void {
    this.#forget(stream);
    this.#events.handedBack(stream.exchange, refusal);
  }

  #fail(stream: Stream, error: DeskbellError): void {
    this.#forget(stream);
    this.#events.failed(stream.exchange, error, true);
  }

  /** Handles a stream error (RFC 9113 §5.4.2). The connection stays open. */
  #failStream(stream: Stream, what: string, code: ErrorCode = ErrorCode.protocolError): void {
    this.#writer.reset(stream.id, code);
    this.#fail(stream, protocolError(this.#host, what));
  }

  #forget(stream: Stream): void {
    this.#streams.delete(stream);
    this.#flow.forget(stream);
    this.#frames.progressed();
    if (this.#streams.size > 0) return;
    this.#busyAtMs = this.#settings.monotonicNow();
    this.#socket.unref();
  }

  #retire(): void {
    if (!this.isOpen) return;
    this.#state = 'RETIRED';
    this.#events.changed(this);
  }

  #closeWhenDone(): void {
    if (this.#state !== 'RETIRED' || this.#streams.size > 0) return;
    this.#sendGoaway(ErrorCode.noError);
    this.#state = 'CLOSED';
    this.#socket.destroySoon();
  }

  /** Ends the connection because the push service has violated the protocol. */
  #breakOff(fault: Http2Fault): void {
    this.#sendGoaway(fault.code);
    this.#failAll(protocolError(this.#host, fault.message, fault));
    this.#socket.destroy();
  }

  #sendGoaway(code: ErrorCode): void {
    if (this.#state === 'CLOSED') return;
    this.#writer.goaway(code);
    this.flush();
  }

  /** Called when the connection has ended or is unusable. */
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
    this.#timer.cancel();
    this.#failAll(connectionError(this.#host, 'closed the connection'));
    this.#events.closed(this, this.#reason as DeskbellError);
  }

  /** Starts a timer that does not keep the process alive. While a request is in flight, the socket keeps it alive. */
  #startTimer(ms: number): Timer {
    return this.#settings.startTimer(() => this.#checkTime(), ms, false);
  }

  /** Checks all time limits, at least as often as the shortest one, so that requests need no timers of their own. */
  #checkTime(): void {
    const nowMs = this.#settings.monotonicNow();
    const { connectTimeoutMs, responseTimeoutMs, idleTimeoutMs } = this.#settings;
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
    // everything overdue was handled above. A closed session's socket can write its last frames until the next check
    const delayMs = dueMs > nowMs ? Math.min(dueMs - nowMs + 1, this.#checkEveryMs) : this.#checkEveryMs;
    if (!this.#socket.destroyed) this.#timer = this.#startTimer(delayMs);
  }

  #timeOut(stream: Stream): void {
    // retire the connection if it is silent: nothing arrived after the request, or the body could not be written
    if (this.#readAtMs < stream.sentAtMs || !stream.isWhollySent) this.#retire();
    this.#writer.reset(stream.id, ErrorCode.cancel);
    if (stream.answer !== undefined) this.#answer(stream, stream.answer);
    else this.#fail(stream, timeoutError(this.#host, 'answer', this.#settings.responseTimeoutMs));
  }
}

function protocolError(host: string, what: string, cause?: Error): DeskbellError {
  return new DeskbellError('ERR_PROTOCOL', `${host} broke HTTP/2: it sent ${what}.`, { cause });
}
