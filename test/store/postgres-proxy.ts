// Stands between a test and PostgreSQL, and breaks connections at a moment that the test chooses.
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface Proxy {
  readonly port: number;
  /** The next request with this text reaches the server, and the connection breaks before its answer comes back. */
  loseAnswerTo(text: string): void;
  lostAnswers(): number;
  close(): Promise<void>;
}

/** @param target the server's port */
export async function openProxy(target: number): Promise<Proxy> {
  let wanted: string | undefined;
  let isLosing = false;
  let lost = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('data', (chunk: Buffer) => {
      if (wanted !== undefined && chunk.includes(wanted)) {
        wanted = undefined;
        isLosing = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!isLosing) {
        client.write(chunk);
        return;
      }
      isLosing = false;
      lost += 1;
      client.destroy();
      upstream.destroy();
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    loseAnswerTo: (text) => (wanted = text),
    lostAnswers: () => lost,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
