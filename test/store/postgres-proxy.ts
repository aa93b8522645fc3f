// Stands between a test and PostgreSQL, and breaks connections at a moment that the test chooses.
import { closing } from '../../tools/closing.ts';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface Proxy extends AsyncDisposable {
  /** The database, through this. */
  readonly url: string;
  /** The next request with this text reaches the server, and the connection breaks before its answer comes back. */
  loseAnswerTo(text: string): void;
  lostAnswers(): number;
  close(): Promise<void>;
}

/** @param database its URL */
export async function openProxy(database: string): Promise<Proxy> {
  let wanted: string | undefined;
  let isLosing = false;
  let lost = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = connect(Number(new URL(database).port), '127.0.0.1');
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
  const url = new URL(database);
  url.port = String((server.address() as AddressInfo).port);
  return closing({
    url: url.href,
    loseAnswerTo: (text: string) => (wanted = text),
    lostAnswers: () => lost,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  });
}
