// A socket without a network, for sessions that are to be fed bytes in exact pieces.
import { Duplex } from 'node:stream';
import type { Socket } from 'node:net';

import { systemClock } from '../../src/transport/clock.ts';
import { type Connection, SocketReader } from '../../src/transport/connect.ts';
import type { Exchange, SessionSettings } from '../../src/transport/exchange.ts';
import { pushBody, pushHeaders } from './sending.ts';

/** No time limit ends within a test. */
export const sessionSettings: SessionSettings = {
  ...systemClock,
  connectTimeoutMs: 60_000,
  responseTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
};

export const newExchange = (): Exchange => ({
  request: { origin: 'https://push.example.org', path: '/x', headers: pushHeaders, body: pushBody },
  done: () => {},
  timesRefused: 0,
  writtenAtMs: 0,
  isSettled: false,
});

/** Counts what is written to it. */
export class MemorySocket extends Duplex {
  writtenBytes = 0;
  readonly #reader = new SocketReader();

  connection(protocol: Connection['protocol']): Connection {
    return { socket: this as unknown as Socket, reader: this.#reader, protocol };
  }

  /** The peer has sent this. */
  receive(piece: Uint8Array): void {
    this.#reader.onread.callback(piece.length, Buffer.from(piece));
  }

  override _read(): void {}
  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.writtenBytes += chunk.length;
    callback();
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  destroySoon(): void {
    this.end();
    this.destroy();
  }
}
