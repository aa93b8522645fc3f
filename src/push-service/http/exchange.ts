// A request and its answer, for HTTP/1.1 and HTTP/2 alike.
import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, findHostFault, hostOf } from './answer.ts';
import type { Connection, HttpRequest, HttpResponse } from './listener.ts';

const maxDiscardedBytes = 1024 * 1024;

export class Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly connection: Connection;
  readonly streamId: number;
  readonly #request: HttpRequest;
  readonly #response: HttpResponse;
  #isUnread = false;

  constructor(request: HttpRequest, response: HttpResponse, connection: Connection) {
    this.method = request.method ?? '';
    this.path = (request.url ?? '').split('?', 1)[0] ?? '';
    this.headers = request.headers;
    this.connection = connection;
    this.streamId = 'stream' in request ? (request.stream.id ?? 0) : 0;
    this.#request = request;
    this.#response = response;
    response.on('error', () => undefined); // the sender has left during its answer
  }

  /** With its port; `undefined` if the request names none. */
  get host(): string | undefined {
    return hostOf(this.#request);
  }

  findHostFault(): string | undefined {
    return findHostFault(this.#request);
  }

  onEnd(done: () => void): void {
    this.#response.once('close', done);
  }

  /**
   * Reads the body. What exceeds the limit is read and discarded, so that the sender can read the refusal; beyond
   * `maxDiscardedBytes` the answer ends the connection.
   *
   * @returns `'aborted'` if the sender has left
   */
  readBody(maxBytes: number): Promise<Uint8Array | 'tooLarge' | 'aborted'> {
    const request = this.#request;
    const chunks: Buffer[] = [];
    let bytes = 0;
    return new Promise((resolve) => {
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
        if (bytes <= maxDiscardedBytes) return;
        request.pause();
        this.#isUnread = true;
        resolve('tooLarge');
      });
      request.once('end', () => resolve(bytes <= maxBytes ? Buffer.concat(chunks, bytes) : 'tooLarge'));
      request.once('close', () => resolve('aborted'));
      request.on('error', () => undefined); // 'close' follows
    });
  }

  send({ status, headers, body }: Answer, { closesConnection = this.#isUnread } = {}): void {
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    const hint = closesConnection && this.connection.session === undefined ? { connection: 'close' } : {};
    this.#writeHead(status, { ...headers, ...(status === 204 ? {} : length), ...hint });
    this.#response.end(body, () => {
      // RFC 9113 §8.1: the answer is complete, the rest of the request is not wanted
      if (this.#isUnread && 'stream' in this.#response) this.#response.stream.close(0);
    });
  }

  async sendLines(status: number, contentType: string, lines: Iterable<string>): Promise<void> {
    this.#writeHead(status, { 'content-type': contentType });
    let page = '';
    for (const line of lines) {
      page += `${line}\n`;
      if (page.length < 64 * 1024) continue;
      const isDrained = new Promise<boolean>((resolve) => {
        const onClose = (): void => resolve(false);
        this.#response.once('close', onClose);
        (this.#response as NodeJS.WritableStream).write(page, () => {
          this.#response.off('close', onClose);
          resolve(true);
        });
      });
      if (!(await isDrained)) return;
      page = '';
    }
    this.#response.end(page);
  }

  /** Promises a body, sends half of it and breaks. */
  sendHalf({ status, headers, body }: Answer): void {
    const whole = body === '' ? 'this body is cut in two' : body;
    this.#writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(whole)) });
    const half = whole.slice(0, whole.length / 2);
    (this.#response as NodeJS.WritableStream).write(half, () => {
      if ('stream' in this.#response) this.#response.stream.close(2); // INTERNAL_ERROR
      else this.connection.socket.destroy();
    });
  }

  resetStream(code: number): void {
    if ('stream' in this.#response) this.#response.stream.close(code);
    else this.connection.reset();
  }

  #writeHead(status: number, headers: Record<string, string>): void {
    // the two classes' signatures do not unite
    (this.#response as { writeHead(status: number, headers: Record<string, string>): unknown }).writeHead(
      status,
      headers,
    );
  }
}
