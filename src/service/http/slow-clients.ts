// Clients that do not read what they are sent. Node's own time-out for this is set anew for every request, which costs
// a tenth of a small answer; looking at all connections once in a while costs nothing.
import type { FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';

/** Ends connections on which answers wait and none of them has gone out between two looks. */
export function closeSlowClients(app: FastifyInstance, readTimeoutMs: number): void {
  /** Bytes that each open connection had taken when it was looked at last. */
  const taken = new Map<Socket, number>();
  app.server.on('connection', (socket) => {
    taken.set(socket, 0);
    socket.once('close', () => taken.delete(socket));
  });
  const timer = setInterval(() => {
    for (const [socket, before] of taken) {
      const now = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength > 0 && now === before) socket.destroy();
      else taken.set(socket, now);
    }
  }, readTimeoutMs).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}
