// Ports for programs that cannot pick one themselves.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, test } from 'node:test';
import { freePort } from '../../tools/listening.ts';

test('a process is given forty ports, none that is taken, and told when all are', async () => {
  const servers = Array.from({ length: 40 }, () => createServer());
  after(() => servers.forEach((server) => server.close()));
  const ports = new Set<number>();
  for (const server of servers) {
    const port = await freePort();
    ports.add(port);
    await once(server.listen(port, '127.0.0.1'), 'listening');
  }
  assert.equal(ports.size, 40);
  await assert.rejects(freePort(), { message: 'Each of the 40 ports that this process may use is taken.' });
});
