import type { FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';

/** Closes connections with waiting output of which nothing was sent between two checks. */
export function closeUnreadResponses(app: FastifyInstance, readTimeoutMs: number): void {
  const taken = new Map<Socket, number>();
  const watch = (socket: Socket): void => {
    taken.set(socket, 0);
    socket.once('close', () => taken.delete(socket));
  };
  // Over TLS, output waits in the second event's socket, never in the first's.
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
