// One HTTP/1.1 connection (RFC 9112) as a session, for push services without HTTP/2. node:http writes and parses, one
// request at a time; the connection is kept alive in between.
//
//   IDLE     takes one request → BUSY; ends after the idle time-out, or when the push service closes
//   BUSY     the request was written; when its response arrives → IDLE, or CLOSED if the connection cannot be reused
//   CLOSED   the exchange in flight, if any, has been reported
//
// Once the status of a response is known, the response counts even if the rest is lost. A request whose connection ends
// earlier is in doubt: it may have been processed.
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { timeoutError } from './check-options.ts';
import type { Timer } from './clock.ts';
import type { Connection } from './connect.ts';
import { codeOf, connectionError } from './connection-errors.ts';
import {
  type Exchange,
  ResponseBody,
  type Session,
  type SessionEvents,
  type SessionSettings,
} from './exchange.ts';

// an import would make Node load its WebSocket and undici too, which takes 80 ms
const { Agent, request: httpRequest } = process.getBuiltinModule('node:http');

const maxHeaderBytes = 16_384;
const maxInterimResponses = 16;

export class Http1Session implements Session {
  readonly protocol = 'http/1.1';
  readonly capacity = 1;
  isOpen = true;
  wasUsed = false;
  readonly #socket: Socket;
  readonly #stream: ConnectionStream;
  readonly #agent: ConnectionAgent;
  readonly #host: string;
  readonly #events: SessionEvents;
  readonly #settings: SessionSettings;
  #exchange: Exchange | undefined;
  /** The request in flight. It is kept until node:http has released the connection. */
  #request: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  #body = new ResponseBody();
  /** When the current exchange began, or when the last one ended. */
  #sinceMs: number;
  readonly #checkEveryMs: number;
  #timer: Timer;
  /** Why the session is closed. */
  #reason: DeskbellError | undefined;

  /** @param host the value of the `host` field */
  constructor(
    { socket, reader }: Connection,
    host: string,
    events: SessionEvents,
    settings: SessionSettings,
  ) {
    this.#socket = socket;
    this.#stream = new ConnectionStream(socket);
    this.#agent = new ConnectionAgent(this.#stream);
    this.#host = host;
    this.#events = events;
    this.#settings = settings;
    this.#sinceMs = settings.monotonicNow();
    this.#checkEveryMs = Math.min(settings.responseTimeoutMs, settings.idleTimeoutMs);
    this.#timer = this.#startTimer(this.#checkEveryMs);
    socket.on('end', () => this.#lose());
    socket.on('error', (error) => this.#lose(error));
    socket.on('close', () => this.#close());
    // An idle connection does not keep the process alive.
    socket.unref();
    reader.read((chunk) => this.#read(chunk));
  }

  get freeCapacity(): number {
    return this.isOpen && this.#request === undefined ? 1 : 0;
  }

  add(exchange: Exchange): void {
    const { path, headers, body } = exchange.request;
    this.#exchange = exchange;
    this.wasUsed = true;
    this.#sinceMs = exchange.writtenAtMs = this.#settings.monotonicNow();
    this.#body = new ResponseBody();
    this.#socket.ref();
    const request = httpRequest({
      agent: this.#agent,
      method: 'POST',
      path,
      headers: { host: this.#host, ...headers, 'content-length': body.length },
      maxHeaderSize: maxHeaderBytes,
      insecureHTTPParser: false,
    });
    this.#request = request;
    let interimResponses = 0;
    request.on('information', () => {
      interimResponses += 1;
      if (interimResponses > maxInterimResponses)
        this.#breakOff(`more than ${maxInterimResponses} interim responses`);
    });
    request.on('upgrade', () => this.#breakOff('status 101'));
    request.on('response', (response) => this.#take(response));
    request.on('error', (error) => this.#lose(error));
    request.on('close', () => this.#release());
    request.end(body);
  }

  /** Does nothing, because `add` has already written the request. */
  flush(): void {}

  drain(): void {
    this.#retire();
    if (this.#exchange === undefined) this.#socket.destroySoon();
  }

  destroy(error: DeskbellError): void {
    this.#fail(error);
    this.#stream.destroy();
  }

  #read(chunk: Buffer): void {
    // copy the chunk: its buffer is reused, and node:http may keep the chunk until the next turn
    if (this.#exchange !== undefined) this.#stream.push(Buffer.from(chunk));
    // no request is in flight, so node:http would treat the data as the response to the next request
    else this.destroy(connectionError(this.#host, 'sent data without a request'));
  }

  #take(response: IncomingMessage): void {
    if ((response.statusCode ?? 0) < 200) {
      this.#breakOff(`status ${response.statusCode}`);
      return;
    }
    this.#response = response;
    response.on('data', (chunk: Buffer) => {
      if (this.#body.add(chunk)) return;
      // End the connection, because reusing it would require reading the rest of the body.
      this.#answer(response);
      this.#stream.destroy();
    });
    response.on('end', () => this.#answer(response));
    response.on('error', (error) => this.#lose(error));
  }

  #answer(response: IncomingMessage): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    const nowMs = this.#settings.monotonicNow();
    const latencyMs = nowMs - this.#sinceMs;
    this.#exchange = this.#response = undefined;
    this.#sinceMs = nowMs;
    this.#socket.unref();
    // if the response came before the whole request was written, the connection's state is unknown
    if (!this.isOpen || this.#request?.writableFinished !== true) this.#stream.destroy();
    const { statusCode: status = 0 } = response;
    this.#events.answered(
      exchange,
      { status, headers: joinFields(response), body: this.#body.take() },
      latencyMs,
    );
  }

  /** Called when node:http has released or ended the connection. */
  #release(): void {
    this.#request = undefined;
    if (this.#stream.destroyed) this.#retire();
    else this.#events.changed(this);
  }

  /** Called when the response cannot arrive completely: the connection has ended or the response is unreadable. */
  #lose(cause?: Error): void {
    if (this.#response !== undefined) this.#answer(this.#response);
    const isMalformed = codeOf(cause).startsWith(' (HPE_');
    // do not pass on a parser's error as the cause: it contains the bytes that it could not parse
    const error = isMalformed
      ? this.#malformed(String(cause?.message))
      : connectionError(this.#host, 'ended the connection before an answer came', cause);
    this.destroy(error);
  }

  #breakOff(what: string): void {
    this.destroy(this.#malformed(what));
  }

  #malformed(what: string): DeskbellError {
    const message = `${this.#host} answered with something that is not HTTP/1.1: ${what}.`;
    return new DeskbellError('ERR_PROTOCOL', message);
  }

  #fail(error: DeskbellError): void {
    this.#reason ??= error;
    this.#retire();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (exchange !== undefined) this.#events.failed(exchange, error, true);
  }

  #retire(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#events.changed(this);
  }

  #close(): void {
    this.#timer.cancel();
    this.#lose();
    this.#events.closed(this, this.#reason as DeskbellError);
  }

  /** Starts a timer that does not keep the process alive. While a request is in flight, the socket keeps it alive. */
  #startTimer(ms: number): Timer {
    return this.#settings.startTimer(() => this.#checkTime(), ms, false);
  }

  /** Checks all time limits, at least as often as the shortest one, so that requests need no timers of their own. */
  #checkTime(): void {
    const { responseTimeoutMs, idleTimeoutMs } = this.#settings;
    const isBusy = this.#exchange !== undefined;
    const leftMs =
      this.#sinceMs + (isBusy ? responseTimeoutMs : idleTimeoutMs) - this.#settings.monotonicNow();
    if (leftMs > 0) {
      this.#timer = this.#startTimer(Math.min(leftMs + 1, this.#checkEveryMs));
    } else if (isBusy) {
      if (this.#response !== undefined) this.#answer(this.#response);
      this.destroy(timeoutError(this.#host, 'answer', responseTimeoutMs));
    } else this.drain();
  }
}

/** The result has no prototype, because a field may be called `constructor`. */
function joinFields({ headersDistinct }: IncomingMessage): Record<string, string> {
  const headers = Object.create(null) as Record<string, string>;
  for (const [name, values = []] of Object.entries(headersDistinct)) headers[name] = values.join(', ');
  return headers;
}

// Wraps a socket in the stream that node:http needs. The socket itself emits no data, because SocketReader reads it.

type Written = { readonly chunk: Buffer };

class ConnectionStream extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  /** Does nothing, because the socket's reader pushes data when it arrives. */
  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  /** Writes the head and the body of a request in one piece. */
  override _writev(written: Written[], done: (error?: Error | null) => void): void {
    this.#socket.write(Buffer.concat(written.map(({ chunk }) => chunk)), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  ref(): void {
    this.#socket.ref();
  }

  /** node:http calls this to end a connection that cannot be reused. */
  destroySoon(): void {
    this.destroy();
  }
}

/** An agent with a single connection that already exists. */
class ConnectionAgent extends Agent {
  readonly #stream: ConnectionStream;

  constructor(stream: ConnectionStream) {
    super({ keepAlive: true, maxSockets: 1 });
    this.#stream = stream;
  }

  override createConnection(): ConnectionStream {
    return this.#stream;
  }

  /** Keeps the socket, but without TCP keep-alive. The session calls `unref` itself. */
  override keepSocketAlive(): boolean {
    return true;
  }
}
