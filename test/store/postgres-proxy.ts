// Stands between a test and PostgreSQL, and breaks connections at a moment that the test chooses.
import { closing } from '../../tools/closing.ts';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface Proxy extends AsyncDisposable {
  /** The database, through this. */
  readonly url: string;
  /** The next request with this text reaches the server, and the connection breaks before its answer comes back. */
  loseAnswerTo(text: string): void;
  lostAnswers(): number;
  /** From now on nothing comes through, neither data nor the end of a connection. */
  cutOff(): void;
  close(): Promise<void>;
}

/** @param database its URL */
export async function openProxy(database: string): Promise<Proxy> {
  let wanted: string | undefined;
  let isLosing = false;
  let isCutOff = false;
  let lost = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(Number(new URL(database).port), '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    const end = (): void => {
      if (isCutOff) return;
      client.destroy();
      upstream.destroy();
    };
    client.on('data', (chunk: Buffer) => {
      if (isCutOff) return;
      if (wanted !== undefined && chunk.includes(wanted)) {
        wanted = undefined;
        isLosing = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (isCutOff) return;
      if (!isLosing) {
        client.write(chunk);
        return;
      }
      isLosing = false;
      lost += 1;
      end();
    });
    client.on('end', end).on('close', end);
    upstream.on('close', end);
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
    cutOff: () => (isCutOff = true),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  });
}
