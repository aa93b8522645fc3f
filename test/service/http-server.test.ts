// What holds for every listener, over HTTP and over TLS: clients that read nothing, and the end of the server.
import assert from 'node:assert/strict';
import dns from 'node:dns/promises';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls, type Server as TlsServer } from 'node:tls';
import { mock, test, type TestContext } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { operatorErrors } from '../../src/errors/catalogue.ts';
import { createHttpServer, type HttpServerOptions } from '../../src/http/create-http-server.ts';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { until, within } from '../../tools/until.ts';

const rules = { errors: operatorErrors, headers: {}, filters: [], preflightHeaders: () => undefined };
/** What `localhost` resolves to here: two addresses that a Linux machine has, and one that it does not have. */
const localAddresses = ['127.0.0.1', '127.0.0.2', '192.0.2.1'].map((address) => ({ address }));
const tls = makeCertificate(['127.0.0.1', '127.0.0.2']);
const patient = { headersTimeoutMs: 600_000, requestTimeoutMs: 600_000 };
/** More than the system keeps for a client that reads nothing. */
const largeAnswer = Buffer.alloc(32 * 1024 * 1024);

function lookUpBy(find: () => Promise<readonly { readonly address: string }[]>): void {
  mock.method(dns, 'lookup', find as never);
  syncBuiltinESMExports();
}
lookUpBy(async () => localAddresses);

async function startListener(
  t: TestContext,
  isSecure: boolean,
  options: HttpServerOptions,
  host = '127.0.0.1',
): Promise<{ readonly app: FastifyInstance; readonly port: number }> {
  const app = createHttpServer(options, rules, isSecure ? { tls } : {});
  app.get('/large', (_request, reply) => reply.send(largeAnswer));
  await app.listen({ host, port: 0 });
  t.after(() => app.close());
  return { app, port: (app.server.address() as AddressInfo).port };
}

async function openSocket(
  t: TestContext,
  isSecure: boolean,
  port: number,
  host = '127.0.0.1',
): Promise<Socket> {
  const socket = isSecure ? connectTls({ port, host, ca: tls.cert }) : connectTcp(port, host);
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, isSecure ? 'secureConnect' : 'connect');
  return socket;
}

const answered = (socket: Socket): Promise<unknown> => {
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return once(socket, 'data');
};

test('one client gets as many connections as it may have; this machine and trusted proxies are excepted', async (t) => {
  let remoteAddress = '';
  const open = async (address: string, port: number): Promise<Socket> => {
    remoteAddress = address;
    const socket = await openSocket(t, false, port);
    // a connection that is refused ends before this
    await Promise.race([once(socket, 'close'), answered(socket)]);
    return socket;
  };
  const { app, port } = await startListener(t, false, {
    ...patient,
    maxConnectionsPerClient: 2,
    trustProxy: ['203.0.113.7'],
  });
  app.server.prependListener('connection', (socket: Socket) =>
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress }),
  );
  for (const address of ['192.0.2.1', '2001:db8:1:2::1']) {
    const first = await open(address, port);
    const second = await open(address.replace('::1', '::2'), port);
    assert.ok(!first.destroyed && !second.destroyed);
    assert.ok((await open(address, port)).destroyed, address);
    first.destroy();
    while ((await open(address, port)).destroyed);
    assert.ok((await open('192.0.2.9', port)).readyState === 'open');
  }
  for (const address of ['203.0.113.7', '127.0.0.1', '::1', '::ffff:127.0.0.1'])
    for (let count = 0; count < 3; count += 1)
      assert.equal((await open(address, port)).readyState, 'open', address);
});

for (const [scheme, isSecure] of [
  ['HTTP', false],
  ['TLS', true],
] as const) {
  test(`over ${scheme}, a client that does not read its answer is disconnected`, async (t) => {
    const { app, port } = await startListener(t, isSecure, { readTimeoutMs: 300 });
    const socket = await openSocket(t, isSecure, port);
    socket.pause();
    socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    let connections = 1;
    const count = setInterval(() => {
      app.server.getConnections((_error, open) => (connections = open));
    }, 50);
    t.after(() => clearInterval(count));
    await until(() => connections === 0, 'the connection to be closed');
  });

  test(`over ${scheme}, a connection that says nothing keeps no server that is closed`, async (t) => {
    const { app, port } = await startListener(t, isSecure, { closeGraceMs: 300, ...patient });
    // over TLS, one that never begins its handshake
    const socket = await openSocket(t, false, port);
    const closed = once(socket.resume(), 'close');
    await until(
      () =>
        new Promise<boolean>((resolve) => app.server.getConnections((_error, open) => resolve(open === 1))),
      'the connection',
    );
    await within(app.close(), 'the end of the server');
    await within(closed, 'the end of the connection');
  });

  test(`over ${scheme}, all addresses of localhost are served alike`, async (t) => {
    const { app, port } = await startListener(t, isSecure, { closeGraceMs: 300, ...patient }, 'localhost');
    for (const { address } of localAddresses.slice(0, 2)) {
      const socket = await openSocket(t, isSecure, port, address);
      socket.write('no HTTP\r\n\r\n');
      assert.match(await text(socket), /^HTTP\/1.1 400 [^]*"code":"ERR_REQUEST_INVALID"/, address);
    }
    const silent = await openSocket(t, isSecure, port, '127.0.0.2');
    silent.write('GET /large HTTP/1.1\r\n');
    const closed = new Promise((resolve) => silent.resume().once('close', resolve));
    await within(app.close(), 'the end of the server');
    await within(closed, 'the end of the connection');
    await assert.rejects(openSocket(t, isSecure, port, '127.0.0.2'));
  });
}

test('a listener does not start with a schema that nothing would check', async () => {
  const app = createHttpServer({}, rules);
  app.post('/forgotten', { schema: { body: { type: 'object', required: ['name'] } } }, () => 'unchecked');
  await assert.rejects(async () => app.ready(), /has set no validator/);
});

test('a server that is closed while it looks up localhost does not listen', async (t) => {
  const { promise, resolve } = Promise.withResolvers<typeof localAddresses>();
  lookUpBy(() => promise);
  t.after(() => lookUpBy(async () => localAddresses));
  const app = createHttpServer({}, rules);
  app.listen({ host: 'localhost', port: 0 }).catch(() => {});
  await app.ready();
  await app.close();
  resolve(localAddresses);
  await nextTurn();
  assert.equal(app.server.listening, false);
});

test('a TLS handshake may take as long as headers', async (t) => {
  const { app, port } = await startListener(t, true, { headersTimeoutMs: 300 });
  let fault: unknown;
  (app.server as unknown as TlsServer).on('tlsClientError', (error) => (fault = error));
  const socket = await openSocket(t, false, port);
  await within(once(socket.resume(), 'close'), 'the end of the connection');
  assert.equal((fault as NodeJS.ErrnoException).code, 'ERR_TLS_HANDSHAKE_TIMEOUT');
});
