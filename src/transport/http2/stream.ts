// One request and its answer on an HTTP/2 connection.
import type { PushResponse } from '../../protocol/push-response.ts';
import { maxResponseBodyBytes, type Exchange } from '../exchange.ts';
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
  #body: Buffer[] | undefined;
  #bodyBytes = 0;

  constructor(id: number, exchange: Exchange, sentAtMs: number) {
    this.id = id;
    this.exchange = exchange;
    this.sentAtMs = sentAtMs;
  }

  get isWhollySent(): boolean {
    return this.sentBytes === this.exchange.request.body.length;
  }

  /** @returns false where there is more than anybody needs */
  addBody(bytes: Buffer, start: number, end: number): boolean {
    const kept = Math.min(end, start + maxResponseBodyBytes - this.#bodyBytes);
    // Copied: the frame lies in a buffer that is used again.
    if (kept > start) (this.#body ??= []).push(Buffer.from(bytes.subarray(start, kept)));
    this.#bodyBytes += kept - start;
    return kept === end;
  }

  response({ status, headers }: HeaderBlock): PushResponse {
    const body = this.#body === undefined ? '' : Buffer.concat(this.#body).toString();
    return { status, headers, body };
  }
}
