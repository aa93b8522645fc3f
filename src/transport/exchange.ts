// A request in progress, and the session that carries it. A session handles one connection and its protocol; the
// origin above it has the queue and decides what may be sent.
import type { DeskbellError } from '../errors/deskbell-error.ts';
import type { PushResponse } from '../protocol/outcome.ts';
import type { Clock, Timer } from './clock.ts';
import type { Protocol } from './connect.ts';
import type { PushRequest, TransportResult } from './transport.ts';

/** One request, from the call of `send` to its result. */
export interface Exchange {
  readonly request: PushRequest;
  readonly done: (result: TransportResult) => void;
  /** How many times the push service has refused the request. */
  timesRefused: number;
  /** The monotonic time at which the request was written to a connection; 0 if it was not written. */
  writtenAtMs: number;
  /** Ends the exchange when the sender's time limit is over. */
  timeout?: Timer | undefined;
  isSettled: boolean;
}

/** An open connection. Nothing is written before `flush`. */
export interface Session {
  readonly protocol: Protocol;
  /** How many requests may be in flight. Undefined until the push service has announced a number. */
  readonly capacity: number | undefined;
  readonly freeCapacity: number;
  /** True if the session accepts requests now, or will when it has capacity again. */
  readonly isOpen: boolean;
  readonly wasUsed: boolean;
  add(exchange: Exchange): void;
  /** Writes all added requests and the protocol's own frames to the socket at once. */
  flush(): void;
  /** Accepts no more requests, and closes when the requests in flight have their responses. */
  drain(): void;
  /** Closes the connection at once. Requests in flight fail with `error`, but may have been delivered. */
  destroy(error: DeskbellError): void;
}

/** Events of a session. Each added exchange ends with one call of `answered`, `failed` or `handedBack`. */
export interface SessionEvents {
  answered(exchange: Exchange, response: PushResponse, latencyMs: number): void;
  failed(exchange: Exchange, error: DeskbellError, inDoubt: boolean): void;
  /**
   * The push service has definitely not processed the request, so it may be sent again.
   *
   * @param refusal how the push service refused the request; `undefined` if the request can be sent again at once
   */
  handedBack(exchange: Exchange, refusal: string | undefined): void;
  /** Called when the session may have more capacity, has none left, or has something to flush. */
  changed(session: Session): void;
  /** The connection has ended. This is the last call, made once. */
  closed(session: Session, reason: DeskbellError): void;
}

export interface SessionSettings extends Clock {
  readonly connectTimeoutMs: number;
  readonly responseTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/**
 * Reports the first result. If `done` throws, the error must not reach the connection's reader, so it is thrown again
 * as an uncaught exception.
 */
export function settle(exchange: Exchange, result: TransportResult): void {
  if (exchange.isSettled) return;
  exchange.isSettled = true;
  exchange.timeout?.cancel();
  try {
    exchange.done(result);
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}

// Collects the beginning of a response's body, in which push services say why they refuse a message. The buffer has a
// fixed size, so a body in thousands of pieces takes no more memory than one in a single piece.

export const maxResponseBodyBytes = 4096;

/** Buffers for reuse, because allocating one costs more than reading a short body. */
const spareBuffers: Buffer[] = [];
const maxSpareBuffers = 16;

export class ResponseBody {
  #bytes: Buffer | undefined;
  #length = 0;

  /**
   * Copies a piece of the body.
   *
   * @returns false if the body is longer than the buffer; the rest need not be read
   */
  add(piece: Buffer, start = 0, end = piece.length): boolean {
    if (start === end) return true;
    this.#bytes ??= spareBuffers.pop() ?? Buffer.allocUnsafeSlow(maxResponseBodyBytes);
    const copied = piece.copy(this.#bytes, this.#length, start, end);
    this.#length += copied;
    return copied === end - start;
  }

  /** Returns the body as UTF-8 and empties the buffer. A character that is cut at the limit becomes U+FFFD. */
  take(): string {
    const bytes = this.#bytes;
    if (bytes === undefined) return '';
    const text = bytes.toString('utf8', 0, this.#length);
    if (spareBuffers.length < maxSpareBuffers) spareBuffers.push(bytes);
    this.#bytes = undefined;
    this.#length = 0;
    return text;
  }
}
