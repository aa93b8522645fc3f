// On most machines `localhost` is 127.0.0.1 and ::1, and a Node server listens only on the first. Fastify would open a
// second server without our limits, so connections to the other address are handed to the one server.
import type { FastifyInstance } from 'fastify';
import { lookup } from 'node:dns/promises';
import { createServer as createTcpServer, type ListenOptions, type Server } from 'node:net';

export type FindAddresses = (host: string) => Promise<readonly { readonly address: string }[]>;

/** @param isSecure the server speaks TLS */
export function serveAllOfLocalhost(
  app: FastifyInstance,
  isSecure: boolean,
  findAddresses: FindAddresses = (host) => lookup(host, { all: true }),
): void {
  const { server } = app;
  const listen = server.listen.bind(server) as (options: ListenOptions) => unknown;
  const close = server.close.bind(server);
  const others: Server[] = [];
  let isClosed = false;

  const listenOnAll = async (options: ListenOptions): Promise<void> => {
    const [first, ...rest] = await findAddresses('localhost');
    if (isClosed) return;
    server.once('listening', () => {
      for (const { address } of rest) others.push(handConnectionsTo(app, isSecure, address));
    });
    listen({ ...options, host: first?.address ?? 'localhost' });
  };

  Object.assign(server, {
    listen(options: ListenOptions) {
      if (options.host === 'localhost') {
        listenOnAll(options).catch((error: unknown) => server.emit('error', error));
      } else listen(options);
      return server;
    },
    close(done?: (error?: Error) => void) {
      let open = 1 + others.length;
      const ended = (error?: Error): void => {
        open -= 1;
        if (open === 0) done?.(error);
      };
      for (const other of others) other.close(() => ended());
      return close(ended);
    },
  });
  app.addHook('preClose', async () => {
    isClosed = true;
  });
}

/** Listens on the server's port at another address, unless the machine does not have it. */
function handConnectionsTo({ server }: FastifyInstance, isSecure: boolean, host: string): Server {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const options = { allowHalfOpen: !isSecure, noDelay: true };
  const other = createTcpServer(options, (socket) => void server.emit('connection', socket));
  other.maxConnections = server.maxConnections;
  return other.on('error', () => {}).listen({ host, port });
}
