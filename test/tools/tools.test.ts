// Waiting in tests, and ports for programs that cannot pick one themselves.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, Server as BaseServer, createServer } from 'node:net';
import { after, describe, test } from 'node:test';
import { claimPort, freePort, listenOnNewPort } from '../../tools/listening.ts';
import { until, within } from '../../tools/until.ts';

describe('waiting', () => {
  test('for a condition gives what it held with, or says what did not come, and how far it was', async () => {
    let asked = 0;
    assert.equal(await until(() => (asked += 1) >= 3 && 'third', 'the third question'), 'third');
    const late = until(
      async () => ((asked += 1), false),
      () => `the moon, asked ${asked > 3 ? 'often' : 'once'}`,
      50,
    );
    await assert.rejects(late, { message: 'Waited 0.05 s in vain for the moon, asked often' });
    await assert.rejects(
      until(() => assert.fail('it has ended'), 'nothing'),
      /it has ended/,
    );
  });

  test('for a promise gives its value or fault, or says what did not come', async () => {
    assert.equal(await within(Promise.resolve(1), 'one'), 1);
    await assert.rejects(within(Promise.reject(new Error('broken')), 'one'), /broken/);
    const { promise } = Promise.withResolvers();
    await assert.rejects(within(promise, 'the moon', 10), { message: 'Waited 0.01 s in vain for the moon' });
  });
});

// Ports for programs that cannot pick one themselves.

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

test('a port is claimed once, also when its server is gone', async () => {
  const [first, second] = [createServer(), createServer()];
  after(() => second.close());
  const port = await listenOnNewPort(first);
  assert.equal((first.address() as AddressInfo).port, port);
  await once(first.close(), 'close');
  await once(second.listen(port, '127.0.0.1'), 'listening');
  assert.equal(claimPort(second), undefined);
});

test('a server that is given a port of before listens on another', async () => {
  let [given, asked] = [0, 0];
  /** The system gives it the port of the first for the second time. */
  class Server extends BaseServer {
    override listen(): this {
      asked += 1;
      return super.listen(asked === 1 ? given : 0, '127.0.0.1');
    }
  }
  const [first, second] = [createServer(), new Server()];
  after(() => second.close());
  given = await listenOnNewPort(first);
  await once(first.close(), 'close');
  assert.notEqual(await listenOnNewPort(second), given);
  assert.equal(asked, 2);
});
