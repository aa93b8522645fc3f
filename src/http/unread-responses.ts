// Clients that do not read their responses. Node's own time-out is reset for every request, which takes a tenth of the time
// of a small response; checking all connections at an interval takes none.
import type { FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';

/** Closes connections with waiting output of which nothing was sent between two checks. */
export function closeUnreadResponses(app: FastifyInstance, readTimeoutMs: number): void {
  /** Bytes that each open connection had taken at the last check. */
  const taken = new Map<Socket, number>();
  const watch = (socket: Socket): void => {
    taken.set(socket, 0);
    socket.once('close', () => taken.delete(socket));
  };
  // Over TLS, output waits in the socket of the second, and nothing ever in that of the first.
  app.server.on('connection', watch).on('secureConnection', watch);
  const timer = setInterval(() => {
    for (const [socket, before] of taken) {
      const now = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength > 0 && now === before) socket.destroy();
      else taken.set(socket, now);
    }
  }, readTimeoutMs).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}
