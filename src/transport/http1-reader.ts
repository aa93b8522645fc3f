// Reads HTTP/1.1 answers to POST requests, strictly (RFC 9112): what a proxy and we could read differently is a
// fault. Pipelining, answers to other methods and upgrades are left out, since we send nothing that leads to them.
import type { PushResponse } from '../protocol/push-response.ts';
import { maxResponseBodyBytes } from './exchange.ts';

/** The answer is not HTTP/1.1. Thrown by the reader only, caught by the connection. */
export class Http1Fault extends Error {
  override readonly name = 'Http1Fault';
}

export interface Http1Answer {
  readonly response: PushResponse;
  /** The connection may carry another request. */
  readonly isReusable: boolean;
}

const maxHeadBytes = 16_384;
const maxInterimAnswers = 16;
/** `4096` in hexadecimal and a chunk extension that nobody sends. */
const maxChunkLineBytes = 256;

const statusLine = /^HTTP\/1\.([01]) (\d{3})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const fieldLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t ]*([^\0\r\n]*)$/;

type State = 'head' | 'length' | 'chunk-line' | 'chunk' | 'chunk-end' | 'trailers' | 'until-close' | 'done';

export class Http1Reader {
  #state: State = 'head';
  /** Bytes that are not a whole line or head yet. */
  #held: Buffer = Buffer.alloc(0);
  #interimAnswers = 0;
  #status = 0;
  #headers: Record<string, string> = {};
  #isReusable = true;
  #body: Buffer[] = [];
  #bodyBytes = 0;
  /** Bytes that the body or its current chunk still has. */
  #left = 0;
  #trailerBytes = 0;

  /**
   * Takes what came from the socket.
   *
   * @returns the answer when it is whole, or its body longer than anybody needs
   * @throws {Http1Fault}
   */
  read(chunk: Buffer): Http1Answer | undefined {
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    while (bytes.length > 0) {
      const taken = this.#take(bytes);
      if (taken === 0) break;
      bytes = bytes.subarray(taken);
      if (this.#state === 'done') return this.#answer(this.#isReusable && bytes.length === 0);
    }
    this.#held = bytes;
    return undefined;
  }

  /**
   * The connection has ended.
   *
   * @returns what is known of the answer: with its status known, the push service has decided, though the rest of
   *   the body be lost. `undefined` where even that is missing
   */
  end(): Http1Answer | undefined {
    return this.#state === 'head' ? undefined : this.#answer(false);
  }

  /** @returns how many bytes were used up; 0 where more are needed */
  #take(bytes: Buffer): number {
    switch (this.#state) {
      case 'head':
        return this.#takeHead(bytes);
      case 'chunk-line':
        return this.#takeChunkLine(bytes);
      case 'chunk-end':
        return this.#takeChunkEnd(bytes);
      case 'trailers':
        return this.#takeTrailer(bytes);
      default:
        return this.#takeBody(bytes);
    }
  }

  #takeHead(bytes: Buffer): number {
    const end = bytes.indexOf('\r\n\r\n');
    if (end === -1 ? bytes.length > maxHeadBytes : end > maxHeadBytes) {
      throw new Http1Fault(`the header is longer than ${maxHeadBytes} bytes`);
    }
    if (end === -1) return 0;
    const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
    const [, minor, status] = statusLine.exec(first) ?? [];
    if (status === undefined) throw new Http1Fault('the first line is not an HTTP/1.1 status line');
    const headers = readFields(lines);
    this.#status = Number(status);
    if (this.#status < 200) this.#skipInterim();
    else this.#begin(headers, minor === '0');
    return end + 4;
  }

  /** RFC 9110 §15.2: 100, 103 and the like come before the answer. 101 would be another protocol. */
  #skipInterim(): void {
    this.#interimAnswers += 1;
    if (this.#status < 100 || this.#status === 101) throw new Http1Fault(`status ${this.#status}`);
    if (this.#interimAnswers > maxInterimAnswers) throw new Http1Fault('too many interim answers');
  }

  /** RFC 9112 §6.3: how the body's length is known. */
  #begin(headers: Record<string, string>, isHttp10: boolean): void {
    const connection = headers['connection']?.toLowerCase() ?? '';
    const options = new Set(connection.split(',').map((option) => option.trim()));
    this.#isReusable = isHttp10 ? options.has('keep-alive') : !options.has('close');
    this.#headers = headers;
    const encoding = headers['transfer-encoding'];
    const length = headers['content-length'];
    if (encoding !== undefined) {
      if (encoding.toLowerCase() !== 'chunked') throw new Http1Fault('an unknown transfer-encoding');
      if (length !== undefined) throw new Http1Fault('transfer-encoding together with content-length');
      if (isHttp10) throw new Http1Fault('transfer-encoding in HTTP/1.0');
      this.#state = 'chunk-line';
    } else if (this.#status === 204 || this.#status === 304) {
      this.#state = 'done';
    } else if (length !== undefined) {
      this.#left = readLength(length);
      this.#state = this.#left === 0 ? 'done' : 'length';
    } else {
      this.#state = 'until-close';
      this.#left = Number.POSITIVE_INFINITY;
      this.#isReusable = false;
    }
  }

  #takeChunkLine(bytes: Buffer): number {
    const end = lineEnd(bytes, maxChunkLineBytes);
    if (end === -1) return 0;
    const [, size] = /^([0-9a-f]{1,8})(?:[\t ]*;[^\0\r\n]*)?$/i.exec(bytes.toString('latin1', 0, end)) ?? [];
    if (size === undefined) throw new Http1Fault('a chunk without a size');
    this.#left = Number.parseInt(size, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'chunk';
    return end + 2;
  }

  #takeChunkEnd(bytes: Buffer): number {
    const end = lineEnd(bytes, 0);
    if (end === -1) return 0;
    this.#state = 'chunk-line';
    return 2;
  }

  /** Trailers are read over; the empty line behind them ends the answer. */
  #takeTrailer(bytes: Buffer): number {
    const end = lineEnd(bytes, maxHeadBytes - this.#trailerBytes);
    if (end === -1) return 0;
    this.#trailerBytes += end + 2;
    if (end === 0) this.#state = 'done';
    else if (!fieldLine.test(bytes.toString('latin1', 0, end))) throw new Http1Fault('a malformed trailer');
    return end + 2;
  }

  #takeBody(bytes: Buffer): number {
    const taken = Math.min(bytes.length, this.#left);
    this.#left -= taken;
    const kept = Math.min(taken, maxResponseBodyBytes - this.#bodyBytes);
    this.#body.push(bytes.subarray(0, kept));
    this.#bodyBytes += kept;
    if (kept < taken) {
      // Nobody needs the rest: the answer is done, and the connection with it.
      this.#isReusable = false;
      this.#state = 'done';
    } else if (this.#left === 0) this.#state = this.#state === 'chunk' ? 'chunk-end' : 'done';
    return taken;
  }

  /** Makes the reader ready for the next answer. */
  #answer(isReusable: boolean): Http1Answer {
    const body = Buffer.concat(this.#body).toString();
    const response: PushResponse = { status: this.#status, headers: this.#headers, body };
    this.#state = 'head';
    this.#held = Buffer.alloc(0);
    this.#body = [];
    this.#bodyBytes = this.#trailerBytes = this.#interimAnswers = 0;
    return { response, isReusable };
  }
}

/** @returns where the line ends, -1 where it is not whole yet */
function lineEnd(bytes: Buffer, maxBytes: number): number {
  const end = bytes.indexOf('\r\n');
  if (end > maxBytes || (end === -1 && bytes.length > maxBytes + 1)) {
    throw new Http1Fault(`a line of more than ${maxBytes} bytes`);
  }
  return end;
}

function readFields(lines: readonly string[]): Record<string, string> {
  // Without a prototype: a field may be called `constructor`.
  const headers = Object.create(null) as Record<string, string>;
  for (const line of lines) {
    const [, name, value = ''] = fieldLine.exec(line) ?? [];
    if (name === undefined) throw new Http1Fault('a malformed header line');
    const key = name.toLowerCase();
    const known = headers[key];
    headers[key] = known === undefined ? value.trimEnd() : `${known}, ${value.trimEnd()}`;
  }
  return headers;
}

/** RFC 9110 §8.6: a list of the same number counts as that number. */
function readLength(value: string): number {
  const [first = '', ...others] = value.split(',').map((length) => length.trim());
  if (!/^\d{1,15}$/.test(first) || others.some((other) => other !== first)) {
    throw new Http1Fault('a content-length that is not a number');
  }
  return Number(first);
}
