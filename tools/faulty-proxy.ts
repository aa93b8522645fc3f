// A TCP proxy in front of a database, whose network can be made to fail: connections are reset, stall, or get slow.
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface FaultyProxy {
  readonly port: number;
  /** Ends all connections without a word. */
  reset(): void;
  /** Nothing gets through for so long, in either direction; no connection ends. */
  stall(ms: number): void;
  /** All that is sent within the next `forMs` arrives `ms` later. */
  delay(ms: number, forMs: number): void;
  close(): void;
}

export async function startFaultyProxy(targetPort: number): Promise<FaultyProxy> {
  const sockets = new Set<Socket>();
  let stalledUntilMs = 0;
  let slowUntilMs = 0;
  let slowMs = 0;

  const waitMs = (): number => {
    const nowMs = performance.now();
    return Math.max(stalledUntilMs - nowMs, nowMs < slowUntilMs ? slowMs : 0);
  };
  /** Chunks keep their order: one waits for the one before. */
  const createPipe = () =>
    new Transform({
      transform(chunk, _encoding, done) {
        const ms = waitMs();
        if (ms <= 0) done(null, chunk);
        else setTimeout(() => done(null, chunk), ms).unref();
      },
    });

  const server = createServer((client) => {
    const database = connect(targetPort, '127.0.0.1');
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(createPipe()).pipe(other);
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });

  const reset = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    reset,
    stall: (ms) => (stalledUntilMs = performance.now() + ms),
    delay: (ms, forMs) => {
      slowMs = ms;
      slowUntilMs = performance.now() + forMs;
    },
    close: () => {
      server.close();
      reset();
    },
  };
}
