// The way through an HTTP proxy, against proxies that behave and proxies that do not.
import assert from 'node:assert/strict';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';

import { createTransport } from '../../src/transport/create-transport.ts';
import { isProxyBypassed, parseProxy, proxyFromEnvironment } from '../../src/transport/proxy.ts';
import { certificate, respond, startHttp, startHttp2, startServer, type Peer } from './peers.ts';
import { describe, openTransport, sendMany, sendOne, tally } from './sending.ts';

interface TestProxy extends Peer {
  readonly asked: { authority: string; authorization: string | undefined }[];
}

/** A proxy that leads everything to one port. */
async function startProxy(scheme: 'http' | 'https', targetPort: number): Promise<TestProxy> {
  const asked: TestProxy['asked'] = [];
  const server = scheme === 'http' ? createHttpServer() : createHttpsServer(certificate);
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push({ authority: request.url ?? '', authorization: request.headers['proxy-authorization'] });
    const target = connect(targetPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    socket.on('error', () => target.destroy()).on('close', () => target.destroy());
    target.on('error', () => socket.destroy());
  });
  return { ...(await startServer(server, scheme)), asked };
}

const portOf = ({ origin }: Peer) => Number(new URL(origin).port);
const startPushService = () => startHttp2((stream) => stream.resume().on('end', () => respond(stream)));

for (const scheme of ['http', 'https'] as const) {
  test(`an ${scheme} proxy is asked for a tunnel, and HTTP/2 goes through it`, async () => {
    await using push = await startPushService();
    await using proxy = await startProxy(scheme, portOf(push));
    await using transport = openTransport({
      proxy: proxy.origin.replace('//', '//user:p%40ss@'),
      resolve: (hostname) => {
        assert.equal(hostname, 'localhost', 'only the proxy is resolved here');
        return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      },
    });
    // without its authority nothing is asked of it
    const distrusted = proxy.origin.replace('//', '//user:p%40ss@');
    await using distrustful = openTransport({ ca: [], proxy: distrusted });
    const [known, other] = ['https://push.example.org', 'https://other.example.org'];
    assert.equal(describe(await sendOne(transport, known)), '201');
    // The certificate is checked against the push service's name, not the proxy's.
    assert.equal(describe(await sendOne(transport, other)), 'ERR_TLS');
    const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    assert.deepEqual(proxy.asked, [
      { authority: 'push.example.org:443', authorization },
      { authority: 'other.example.org:443', authorization },
    ]);
    if (scheme === 'https') assert.equal(describe(await sendOne(distrustful, known)), 'ERR_TLS');
    assert.equal(proxy.asked.length, 2);
  });
}

test('many messages go through a proxy to a named origin, over HTTP/2 and in plain HTTP/1.1', async () => {
  await using secure = await startPushService();
  await using plain = await startHttp((response) => response.writeHead(201).end());
  for (const [scheme, port] of [
    ['https', portOf(secure)],
    ['http', portOf(plain)],
  ] as const) {
    await using proxy = await startProxy('http', port);
    const origin = `${scheme}://push.example.org:${port}`;
    await using transport = openTransport({
      pushServices: [origin],
      proxy: proxy.origin,
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    const results = await sendMany(transport, origin, 300, 50);
    assert.deepEqual(tally(results), { 201: 300 });
    const authority = origin.slice(scheme.length + 3);
    assert.ok(proxy.asked.length > 0);
    assert.ok(
      proxy.asked.every((asked) => asked.authority === authority && asked.authorization === undefined),
    );
  }
});

test('a proxy that refuses, talks nonsense, says too much, hangs up or resets is a connection error; a silent one a time-out', async () => {
  const cases = [
    ['HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 'ERR_CONNECTION'],
    ['HTTP/1.1 301 Moved\r\nlocation: http://127.0.0.1/\r\n\r\n', 'ERR_CONNECTION'],
    ['SSH-2.0\r\n\r\n', 'ERR_CONNECTION'],
    ['HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 201 Created\r\n\r\n', 'ERR_CONNECTION'],
    [`HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(5000)}`, 'ERR_CONNECTION'],
    ['', 'ERR_CONNECTION'],
    ['reset', 'ERR_CONNECTION'],
    ['silence', 'ERR_TIMEOUT'],
  ] as const;
  for (const [text, code] of cases) {
    const server = createServer((socket) => {
      if (text === 'silence') return;
      socket.once('data', () => (text === 'reset' ? socket.resetAndDestroy() : socket.end(text)));
    });
    await using proxy = await startServer(server, 'http');
    await using transport = openTransport({
      proxy: proxy.origin,
      connectTimeoutMs: text === 'silence' ? 200 : 5000,
    });
    const result = await sendOne(transport, 'https://push.example.org');
    assert.equal(describe(result), code, text.slice(0, 40));
  }
});

test('loopback and what noProxy names are reached without the proxy', async () => {
  await using push = await startPushService();
  await using transport = openTransport({ pushServices: [push.origin], proxy: 'http://127.0.0.1:1' });
  assert.equal(describe(await sendOne(transport, push.origin)), '201');

  for (const [hostname, noProxy, expected] of [
    ['localhost', [], true],
    ['a.localhost', [], true],
    ['127.0.0.9', [], true],
    ['[::1]', [], true],
    ['push.example.org', [], false],
    ['push.example.org', ['*'], true],
    ['push.example.org', ['push.example.org'], true],
    ['push.example.org', ['example.org'], true],
    ['push.example.org', ['.Example.org'], true],
    ['push.example.org', ['*.example.org'], true],
    ['example.org', ['.example.org'], true],
    ['badexample.org', ['example.org'], false],
    ['push.example.org', ['ush.example.org'], false],
    ['10.0.0.1', ['10.0.0.1'], true],
    ['10.0.0.1', ['0.0.1'], false],
  ] as const) {
    assert.equal(isProxyBypassed(hostname, noProxy), expected, `${hostname} ${noProxy.join()}`);
  }
});

test('the proxy of the environment', () => {
  assert.deepEqual(proxyFromEnvironment({}), { proxy: undefined, noProxy: undefined });
  assert.deepEqual(proxyFromEnvironment({ HTTPS_PROXY: 'http://a:1', NO_PROXY: 'b, .c  d' }), {
    proxy: 'http://a:1',
    noProxy: ['b', '.c', 'd'],
  });
  assert.deepEqual(proxyFromEnvironment({ https_proxy: 'http://a', HTTPS_PROXY: 'http://b' }), {
    proxy: 'http://a',
    noProxy: undefined,
  });
  assert.equal(proxyFromEnvironment({ ALL_PROXY: 'http://a', https_proxy: '' }).proxy, 'http://a');
  assert.equal(
    proxyFromEnvironment({ HTTPS_PROXY: 'proxy.example.org:3128' }).proxy,
    'http://proxy.example.org:3128',
  );
  assert.equal(proxyFromEnvironment({ HTTP_PROXY: 'http://a', http_proxy: 'http://b' }).proxy, undefined);
  for (const [variable, value] of [
    ['ALL_PROXY', 'socks5://user:secret@a'],
    ['https_proxy', 'http://'],
  ] as const) {
    assert.throws(
      () => proxyFromEnvironment({ [variable]: value }),
      ({ code, message }: { code: string; message: string }) =>
        code === 'ERR_CONFIGURATION' && message.startsWith(`${variable}: `) && !message.includes('secret'),
    );
  }
});

test('a proxy is an http or https URL, and a bad one is not repeated in the error', () => {
  assert.deepEqual(parseProxy('http://proxy.example.org'), {
    hostname: 'proxy.example.org',
    port: 80,
    isSecure: false,
    authorization: undefined,
  });
  const { hostname, port, isSecure } = parseProxy('https://[::1]:3128');
  assert.deepEqual([hostname, port, isSecure], ['::1', 3128, true]);
  for (const text of ['', 'proxy:3128', 'socks5://user:secret@proxy:1080', 'http://', 'ftp://proxy']) {
    assert.throws(
      () => createTransport({ proxy: text }),
      (error: Error) =>
        'code' in error && error.code === 'ERR_CONFIGURATION' && !error.message.includes('secret'),
      text,
    );
  }
  for (const text of ['http://ann:%secret@proxy:3128', 'http://secret%:x@proxy:3128']) {
    const message =
      'The user or password of the proxy has a "%" that is not part of an escape. Write it as %25.';
    assert.throws(() => createTransport({ proxy: text }), { code: 'ERR_CONFIGURATION', message });
  }
  const { authorization = '' } = parseProxy('http://ann:100%25%20%C3%A4@proxy:3128');
  assert.equal(Buffer.from(authorization.replace('Basic ', ''), 'base64').toString(), 'ann:100% ä');
});
