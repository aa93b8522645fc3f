// One request and its answer on an HTTP/2 connection.
import type { PushResponse } from '../../protocol/push-response.ts';
import type { Exchange } from '../exchange.ts';
import { ResponseBody } from '../response-body.ts';
import type { HeaderBlock } from './hpack-decoder.ts';

export class Stream {
  readonly id: number;
  readonly exchange: Exchange;
  readonly sentAtMs: number;
  /** Bytes of the body that were written, and how many the push service allowed beyond its initial window. */
  sentBytes = 0;
  grantedBytes = 0;
  /** The final header block, once it has come. */
  answer: HeaderBlock | undefined;
  #body: ResponseBody | undefined;

  constructor(id: number, exchange: Exchange, sentAtMs: number) {
    this.id = id;
    this.exchange = exchange;
    this.sentAtMs = sentAtMs;
  }

  get isWhollySent(): boolean {
    return this.sentBytes === this.exchange.request.body.length;
  }

  /** @returns false where the body is longer than what is kept */
  addBody(bytes: Buffer, start: number, end: number): boolean {
    return (this.#body ??= new ResponseBody()).add(bytes, start, end);
  }

  /** The same object for answers with the same header block and no body. */
  response(header: HeaderBlock): PushResponse {
    const { status, headers } = header;
    if (this.#body !== undefined) return { status, headers, body: this.#body.take() };
    return (header.response ??= { status, headers, body: '' });
  }
}
