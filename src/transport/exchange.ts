// A request in progress, and the session that carries it. A session handles one connection and its protocol; the origin
// above it handles the queue and decides what may be sent.
import type { DeskbellError } from '../errors/deskbell-error.ts';
import type { PushResponse } from '../protocol/outcome.ts';
import type { Clock, Timer } from './clock.ts';
import type { PushRequest, TransportResult } from './transport.ts';

/** One request from `send` until its result. */
export interface Exchange {
  readonly request: PushRequest;
  readonly done: (result: TransportResult) => void;
  /** How often a push service has refused it. */
  timesRefused: number;
  /** When it was written to a connection, by the monotonic clock; 0 if it was not. */
  writtenAtMs: number;
  /** Ends it, if its sender set a time limit. */
  timeout?: Timer | undefined;
  isSettled: boolean;
}

/** What an open connection accepts, and how full it is. Nothing is written before `flush`. */
export interface Session {
  /** How many requests it carries at a time; undefined until the push service has said so. */
  readonly capacity: number | undefined;
  readonly freeCapacity: number;
  /** It accepts requests, or will when there is capacity. */
  readonly isOpen: boolean;
  /** Whether it was ever given a request. */
  readonly wasUsed: boolean;
  add(exchange: Exchange): void;
  /** Writes everything that was added, and the protocol's own frames, to the socket at once. */
  flush(): void;
  /** Accepts no more requests, and closes when those in flight are answered. */
  drain(): void;
  /** Closes at once: requests in flight fail with `error`, in doubt. */
  destroy(error: DeskbellError): void;
}

/** Reports of a session. Each exchange that was added is reported exactly once, by one of the first three. */
export interface SessionEvents {
  answered(exchange: Exchange, response: PushResponse, latencyMs: number): void;
  failed(exchange: Exchange, error: DeskbellError, inDoubt: boolean): void;
  /**
   * The push service certainly did not process it, so it may be sent again.
   *
   * @param refusal how it was refused, if not at once: the push service accepts no request now, or not as many
   */
  handedBack(exchange: Exchange, refusal: string | undefined): void;
  /** There may be more capacity, or none any more, or something to flush. */
  changed(session: Session): void;
  /** The connection has ended. Called once, last. */
  closed(session: Session, reason: DeskbellError): void;
}

export interface SessionSettings extends Clock {
  readonly connectTimeoutMs: number;
  readonly responseTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** Reports the first result. An error thrown by `done` must not reach the connection's reader: it becomes an uncaught one. */
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

// The beginning of an answer's body: the push service's reason as text. It is kept in one buffer of fixed size, so that a body in thousands
// of pieces takes no more memory than a whole one.

export const maxResponseBodyBytes = 4096;

/** Spare buffers: allocating one costs more than reading a short body. */
const spareBuffers: Buffer[] = [];
const maxSpareBuffers = 16;

export class ResponseBody {
  #bytes: Buffer | undefined;
  #length = 0;

  /**
   * Copies a piece of the body.
   *
   * @returns false if the body is longer than what is kept: the rest need not be read
   */
  add(piece: Buffer, start = 0, end = piece.length): boolean {
    if (start === end) return true;
    this.#bytes ??= spareBuffers.pop() ?? Buffer.allocUnsafeSlow(maxResponseBodyBytes);
    const copied = piece.copy(this.#bytes, this.#length, start, end);
    this.#length += copied;
    return copied === end - start;
  }

  /** The text, as UTF-8; a character cut at the limit becomes U+FFFD. The body is empty afterwards. */
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
