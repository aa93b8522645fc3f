import type { Server } from 'node:http';
import type { Socket } from 'node:net';

import { clientOf, type IsTrusted } from './client-address.ts';
import { isLoopback } from './loopback.ts';

/**
 * Closes a client's connections beyond `max` at once. This machine and trusted proxies, which stand for many clients,
 * have no limit.
 */
export function limitConnectionsOfClients(server: Server, max: number, isTrusted: IsTrusted): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: ip } = socket;
    // a connection that has already ended has no address
    if (ip === undefined || isTrusted(ip, 0)) return;
    const client = clientOf({ ip });
    if (isLoopback(client) || client === loopbackNetwork) return;
    const others = open.get(client) ?? 0;
    if (others >= max) return void socket.destroy();
    open.set(client, others + 1);
    socket.once('close', () => {
      const left = open.get(client)! - 1;
      if (left === 0) open.delete(client);
      else open.set(client, left);
    });
  });
}

const loopbackNetwork = clientOf({ ip: '::1' });
