// One HTTP exchange: reads a request, and writes its response or error response.
import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Connection, HttpRequest, HttpResponse } from './listener.ts';

const hostAndPort = /^(?:[\w.~!$&'()*+,;=%-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

interface HostedRequest {
  readonly httpVersion: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
}

/** @returns what is wrong with the host, or `undefined` */
export function findHostFault(request: HostedRequest): string | undefined {
  const host = hostOf(request);
  if (host === undefined) return request.httpVersion === '1.0' ? undefined : 'the request has no Host header';
  if (!hostAndPort.test(host)) return 'the Host header is not a host with an optional port';
  const names = request.rawHeaders.filter((_text, index) => index % 2 === 0);
  const count = names.filter((name) => name.toLowerCase() === 'host').length;
  return count > 1 ? `the request has ${count} Host headers; exactly one is allowed` : undefined;
}

function hostOf({ headers }: Pick<HostedRequest, 'headers'>): string | undefined {
  return (headers[':authority'] as string | undefined) ?? headers.host;
}

/** True for names and addresses of this machine, with any port. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i.test(host);
}

/** Reads `name=value; name="value"` in `Authorization`, `Crypto-Key` and `Encryption`. Names become lower case. */
export function readParameters(text: string, separator: string | RegExp): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const part of text.split(separator)) {
    const [, name, quoted, bare] = /^\s*([^\s=]+)\s*=\s*(?:"([^"]*)"|(\S+))\s*$/.exec(part) ?? [];
    if (name !== undefined) parameters.set(name.toLowerCase(), quoted ?? bare ?? '');
  }
  return parameters;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function jsonAnswer(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: `${JSON.stringify(value)}\n`,
  };
}

export function emptyAnswer(status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers, body: '' };
}

// Error responses use the status and errno of Mozilla's autopush, so that applications can test their error handling.

/** [HTTP status, errno], with `null` if autopush has no errno for the reason. */
const refusals = {
  endpointUnknown: [404, 102],
  endpointGone: [410, 106],
  bodyTooLarge: [413, 104],
  // RFC 8292 §4.2: 401 for missing credentials, 403 for invalid ones
  authorizationMissing: [401, 109],
  authorizationInvalid: [403, 109],
  encryptionInvalid: [400, 110],
  ttlMissing: [400, 111],
  ttlInvalid: [400, 112],
  topicInvalid: [400, 113],
  urgencyInvalid: [400, null],
  subscriptionFull: [429, 201],
  serviceFull: [503, 201],
  hostInvalid: [400, null],
  routeUnknown: [404, null],
  methodNotAllowed: [405, null],
  messageUnknown: [404, null],
  controlForbidden: [403, null],
  controlInvalid: [400, null],
} as const satisfies Record<string, readonly [number, number | null]>;

/** Makes an error response with the JSON body `{code, errno, error, message}`. */
export function refusal(
  reason: keyof typeof refusals,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const [code, errno] = refusals[reason];
  return jsonAnswer(code, { code, errno, error: STATUS_CODES[code], message }, headers);
}

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
    response.on('error', () => undefined); // the sender left before the response was complete
  }

  /** Host and port; `undefined` if the request has none. */
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
   * Reads the body. Bytes over the limit are read and discarded, so that the sender can read the error response. If
   * there are more than `maxDiscardedBytes`, the response ends the connection.
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
      request.on('error', () => undefined); // the event 'close' follows
    });
  }

  send({ status, headers, body }: Answer, { closesConnection = this.#isUnread } = {}): void {
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    const hint = closesConnection && this.connection.session === undefined ? { connection: 'close' } : {};
    this.#writeHead(status, { ...headers, ...(status === 204 ? {} : length), ...hint });
    this.#response.end(body, () => {
      // RFC 9113 §8.1: the response is complete, so tell the sender to stop sending the request
      if (this.#isUnread && 'stream' in this.#response) this.#response.stream.close(0);
    });
  }

  async sendLines(status: number, contentType: string, lines: Iterable<string>): Promise<void> {
    this.#writeHead(status, { 'content-type': contentType });
    // sending fails if the client closes the connection
    await pipeline(Readable.from(pagesOf(lines)), this.#response).catch(() => undefined);
  }

  /** Announces the length of the whole body, sends half of the body, and breaks off. */
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
    // TypeScript cannot unify the signatures of the two response classes
    (this.#response as { writeHead(status: number, headers: Record<string, string>): unknown }).writeHead(
      status,
      headers,
    );
  }
}

/** Joins lines into strings of about 64 KiB. */
function* pagesOf(lines: Iterable<string>): Generator<string> {
  let page = '';
  for (const line of lines) {
    page += `${line}\n`;
    if (page.length < 64 * 1024) continue;
    yield page;
    page = '';
  }
  yield page;
}
