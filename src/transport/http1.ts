// One HTTP/1.1 connection (RFC 9112) as a session: one request at a time, kept alive between them.
//
//   IDLE     takes one request → BUSY; ends by idle time-out, or when the push service closes
//   BUSY     head and body were written in one piece; the answer → IDLE, or CLOSED where it says so
//   CLOSED   whatever was in flight has been reported
//
// A request whose connection ends before its status is known is in doubt: it may have been processed.
import type { Socket } from 'node:net';

import { DeskbellError } from '../errors/deskbell-error.ts';
import type { PushResponse } from '../protocol/push-response.ts';
import type { Connection } from './connect.ts';
import type { Exchange, Session, SessionEvents, SessionLimits } from './exchange.ts';
import { Http1Fault, Http1Reader } from './http1-reader.ts';
import type { PushHeaders, PushRequest } from './transport.ts';

export class Http1Session implements Session {
  readonly capacity = 1;
  readonly #socket: Socket;
  readonly #host: string;
  readonly #events: SessionEvents;
  readonly #limits: SessionLimits;
  readonly #reader = new Http1Reader();
  #exchange: Exchange | undefined;
  /** When the exchange in flight began, or the last one ended. */
  #sinceMs = performance.now();
  #wasUsed = false;
  #isRetired = false;
  readonly #checkEveryMs: number;
  #timer: NodeJS.Timeout;
  /** Why it is closed. */
  #reason: DeskbellError | undefined;

  /** @param host value of the `host` field */
  constructor({ socket, reader }: Connection, host: string, events: SessionEvents, limits: SessionLimits) {
    this.#socket = socket;
    this.#host = host;
    this.#events = events;
    this.#limits = limits;
    this.#checkEveryMs = Math.min(limits.responseTimeoutMs, limits.idleTimeoutMs);
    this.#timer = setTimeout(() => this.#checkTime(), this.#checkEveryMs).unref();
    socket.on('end', () => {
      this.#lose();
      socket.destroy();
    });
    socket.on('error', (error) => this.#lose(error));
    socket.on('close', () => this.#close());
    // An idle connection does not keep the process alive.
    socket.unref();
    // Copied, since the reader keeps parts of it.
    reader.read((chunk) => this.#read(Buffer.from(chunk)));
  }

  get room(): number {
    return this.#isRetired || this.#exchange !== undefined ? 0 : 1;
  }

  get isOpen(): boolean {
    return !this.#isRetired;
  }

  get wasUsed(): boolean {
    return this.#wasUsed;
  }

  add(exchange: Exchange): void {
    this.#exchange = exchange;
    this.#wasUsed = true;
    this.#sinceMs = performance.now();
    this.#socket.ref();
    this.#socket.write(encodeRequest(exchange.request, this.#host));
  }

  /** Nothing is held back: there is one request at a time. */
  flush(): void {}

  drain(): void {
    this.#retire();
    if (this.#exchange === undefined) this.#socket.destroySoon();
  }

  destroy(error: DeskbellError): void {
    this.#fail(error);
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#exchange === undefined) {
      // Nothing was asked: whoever speaks now would answer the wrong request later.
      this.destroy(new DeskbellError('ERR_CONNECTION', `${this.#host} spoke without being asked.`));
      return;
    }
    try {
      const answer = this.#reader.read(chunk);
      if (answer !== undefined) this.#answer(answer.response, answer.isReusable);
    } catch (error) {
      if (!(error instanceof Http1Fault)) throw error;
      const message = `${this.#host} answered with something that is not HTTP/1.1: ${error.message}.`;
      this.destroy(new DeskbellError('ERR_CONNECTION', message, { cause: error }));
    }
  }

  #answer(response: PushResponse, isReusable: boolean): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    const nowMs = performance.now();
    const latencyMs = nowMs - this.#sinceMs;
    this.#exchange = undefined;
    this.#sinceMs = nowMs;
    this.#socket.unref();
    // An answer that came before all of the request was written leaves the connection in an unknown state.
    if (!isReusable || this.#isRetired || this.#socket.writableLength > 0) {
      this.#retire();
      this.#socket.destroy();
    }
    this.#events.answered(exchange, response, latencyMs);
    this.#events.changed(this);
  }

  /** The connection has ended: what the push service has said so far is all there will be. */
  #lose(cause?: Error): void {
    const answer = this.#exchange === undefined ? undefined : this.#reader.end();
    if (answer !== undefined) this.#answer(answer.response, false);
    const code = cause !== undefined && 'code' in cause ? ` (${String(cause.code)})` : '';
    const message = `${this.#host} ended the connection before an answer came${code}.`;
    this.#fail(new DeskbellError('ERR_CONNECTION', message, { cause }));
  }

  #fail(error: DeskbellError): void {
    this.#reason ??= error;
    this.#retire();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (exchange !== undefined) this.#events.failed(exchange, error, true);
  }

  #retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#events.changed(this);
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#lose();
    this.#events.closed(this, this.#reason as DeskbellError);
  }

  /** Runs at least once per shortest time-out, so that no request needs a timer of its own. */
  #checkTime(): void {
    const { responseTimeoutMs, idleTimeoutMs } = this.#limits;
    const isBusy = this.#exchange !== undefined;
    const leftMs = this.#sinceMs + (isBusy ? responseTimeoutMs : idleTimeoutMs) - performance.now();
    if (leftMs > 0) {
      this.#timer = setTimeout(() => this.#checkTime(), Math.min(leftMs + 1, this.#checkEveryMs)).unref();
    } else if (isBusy) {
      const seconds = responseTimeoutMs / 1000;
      this.destroy(new DeskbellError('ERR_TIMEOUT', `${this.#host} did not answer within ${seconds} s.`));
    } else this.drain();
  }
}

/** Header lines by the identity of the header object, which many messages share. */
const encodedHeaders = new WeakMap<PushHeaders, string>();

function encodeRequest({ path, headers, body }: PushRequest, host: string): Buffer {
  let lines = encodedHeaders.get(headers);
  if (lines === undefined) {
    lines = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    encodedHeaders.set(headers, lines);
  }
  const head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines}content-length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + body.length);
  bytes.write(head, 'latin1');
  bytes.set(body, head.length);
  return bytes;
}
