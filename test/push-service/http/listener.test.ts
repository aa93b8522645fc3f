// One port for everything: HTTP/1.1, HTTP/2 with and without TLS, WebSocket; and the end of it all.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { createServer, connect as connectTcp, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { createUserAgent, startPushService, type PushService } from '../../../src/push-service/index.ts';
import { connectRaw, hello, sendByHttp1, sendByHttp2, sendOn, start, push } from '../harness.ts';
import { until } from '../../../tools/until.ts';
import { listenOnNewPort } from '../../../tools/listening.ts';
import { pluck } from '../../../tools/pluck.ts';

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

test('with TLS the protocol is agreed by ALPN, and the certificate is trusted through ca', async (t) => {
  const service = await start(t, { tls: true });
  const { origin, port } = service;
  const ca = [...service.ca];
  assert.equal(ca.length, 1);
  assert.match(origin, /^https:/);
  assert.match(service.webSocketUrl, /^wss:/);
  const [{ endpoint } = { endpoint: '' }] = service.createSinks(1);

  for (const host of ['127.0.0.1', 'localhost']) {
    const session = connectHttp2(`https://${host}:${port}`, { ca });
    t.after(() => session.destroy());
    assert.equal((await sendOn(session, endpoint, push)).status, 201);
    assert.equal(session.alpnProtocol, 'h2');
  }
  const status = await new Promise((resolve, reject) => {
    const request = httpsRequest(
      endpoint,
      { method: 'POST', headers: push.headers, ca, agent: false },
      (response) => {
        response.resume();
        resolve([response.statusCode, response.httpVersion]);
      },
    );
    request.on('error', reject);
    request.end(push.body);
  });
  assert.deepEqual(status, [201, '1.1']);

  const agent = await createUserAgent({ webSocketUrl: service.webSocketUrl, ca });
  t.after(() => agent.close());
  assert.match((await agent.subscribe()).endpoint, /^https:/);

  const untrusted = connectHttp2(origin);
  const [error] = (await once(untrusted, 'error')) as [Error & { code?: string }];
  assert.match(String(error.code), /SELF_SIGNED|UNABLE_TO_VERIFY/);
});

test('a user agent trusts the authorities that it is given besides those that Node trusts', async (t) => {
  const [given, trusted] = [await start(t, { tls: true }), await start(t, { tls: true })];
  const connect = async ({ webSocketUrl }: PushService): Promise<void> => {
    const agent = await createUserAgent({ webSocketUrl, ca: given.ca });
    await agent.close();
  };
  await connect(given);
  await assert.rejects(connect(trusted), ({ cause }) => /self-signed/.test(String(cause)));
  const known = getCACertificates('default');
  t.after(() => setDefaultCACertificates(known));
  setDefaultCACertificates([...known, ...trusted.ca]);
  await connect(trusted);
});

test('over TLS a reset is a reset of the TCP connection, for both versions', async (t) => {
  const service = await start(t, { tls: true });
  const ca = [...service.ca];
  const [{ endpoint } = { endpoint: '' }] = service.createSinks(1);
  service.faults.inject({ kind: 'reset', times: 2 });
  const session = connectHttp2(service.origin, { ca });
  session.on('error', () => undefined);
  await assert.rejects(sendOn(session, endpoint, push), { code: 'ECONNRESET' });
  const request = httpsRequest(endpoint, { method: 'POST', headers: push.headers, ca, agent: false });
  request.end(push.body);
  const [error] = (await once(request, 'error')) as [Error & { code?: string }];
  assert.equal(error.code, 'ECONNRESET');
});

test('a certificate of one’s own is taken as it is', async (t) => {
  const { makeCertificate } = await import('../../../src/push-service/http/certificate.ts');
  const { key, cert } = makeCertificate(['localhost']);
  const service = await start(t, { tls: { key, cert }, origin: 'https://localhost' });
  assert.deepEqual([service.ca, service.origin], [[], 'https://localhost']);
  const session = connectHttp2(`https://localhost:${service.port}`, { ca: cert });
  t.after(() => session.destroy());
  assert.equal((await sendOn(session, `${service.origin}/`, { method: 'GET' })).status, 200);
});

test('the preface of HTTP/2 is recognised byte by byte, and so is a request of HTTP/1.1', async (t) => {
  const service = await start(t);
  const drip = connectTcp(service.port, '127.0.0.1');
  t.after(() => drip.destroy());
  drip.setNoDelay();
  for (const byte of Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1')) {
    drip.write(Buffer.of(byte));
    await sleep(2);
  }
  const [settings] = (await once(drip, 'data')) as [Buffer];
  assert.equal(settings[3], 4, 'the answer begins with a SETTINGS frame');

  const puts = connectTcp(service.port, '127.0.0.1');
  puts.setNoDelay();
  for (const part of ['P', 'R', 'OPFIND / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n']) {
    puts.write(part);
    await sleep(5);
  }
  assert.match(await readAll(puts), /^HTTP\/1\.1 /);
});

test('an offer to upgrade to h2c, as Java makes it, is answered over HTTP/1.1', async (t) => {
  const service = await start(t);
  const socket = connectTcp(service.port, '127.0.0.1');
  socket.write(
    'GET / HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings, close\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n\r\n',
  );
  assert.match(await readAll(socket), /^HTTP\/1\.1 200 /);
});

test('what is neither is answered with 400 and does no harm', async (t) => {
  const service = await start(t);
  const socket = connectTcp(service.port, '127.0.0.1');
  socket.write('nonsense\r\n\r\n');
  assert.match(await readAll(socket), /^HTTP\/1\.1 400 /);
  const early = connectTcp(service.port, '127.0.0.1');
  early.write('PR');
  // what came before has been read as soon as another one is answered
  await fetch(service.origin);
  early.resetAndDestroy();
  const badUpgrade = connectTcp(service.port, '127.0.0.1');
  badUpgrade.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  assert.match(await readAll(badUpgrade), /^HTTP\/1\.1 400 /);
  const [{ endpoint } = { endpoint: '' }] = service.createSinks(1);
  assert.equal((await sendByHttp1(endpoint, push)).status, 201);
});

test('a sender that leaves in the middle of its body does no harm', async (t) => {
  const service = await start(t);
  const [{ endpoint } = { endpoint: '' }] = service.createSinks(1);
  const socket = connectTcp(service.port, '127.0.0.1');
  socket.write(
    `POST ${new URL(endpoint).pathname} HTTP/1.1\r\nhost: x\r\nttl: 60\r\ncontent-length: 500\r\n\r\nhalf`,
  );
  // what came before has been read as soon as another one is answered
  await fetch(service.origin);
  socket.resetAndDestroy();
  assert.equal((await sendByHttp1(endpoint, push)).status, 201);
  assert.equal(service.tallySinks()[0]?.messages, 1);
});

test('there are so many connections and no more', async (t) => {
  const service = await start(t, { limits: { maxConnections: 1 } });
  const agent = await connectRaw(t, service);
  await agent.ask(hello);
  await assert.rejects(sendByHttp1(service.origin, { method: 'GET' }));
});

for (const [title, tls] of [
  ['HTTP/2 announces its limit of streams', false],
  ['HTTP/2 over TLS announces its limit of streams', true],
] as const) {
  test(title, async (t) => {
    const service = await start(t, { tls, limits: { maxConcurrentStreams: 7 } });
    const session = connectHttp2(service.origin, { ca: [...service.ca] });
    t.after(() => session.destroy());
    const [settings] = (await once(session, 'remoteSettings')) as [{ maxConcurrentStreams: number }];
    assert.equal(settings.maxConcurrentStreams, 7);
  });
}

test('IPv6 and wildcard addresses give URLs that can be connected to', async (t) => {
  const wildcard = await start(t, { host: '0.0.0.0' });
  assert.equal(wildcard.origin, `http://127.0.0.1:${wildcard.port}`);
  assert.equal(wildcard.webSocketUrl, `ws://127.0.0.1:${wildcard.port}/`);
  assert.deepEqual(wildcard.ca, []);
  const six = await startPushService({ host: '::1' }).catch(() => undefined);
  if (six === undefined) return t.diagnostic('no IPv6 here');
  t.after(() => six.close());
  assert.equal(six.origin, `http://[::1]:${six.port}`);
  assert.equal((await sendByHttp1(six.origin, { method: 'GET' })).status, 200);
});

test('a port that is taken, a wrong origin and a wrong limit are said at once', async (t) => {
  const taken = createServer();
  const port = await listenOnNewPort(taken);
  t.after(() => taken.close());
  await assert.rejects(startPushService({ port }), { code: 'EADDRINUSE' });
  for (const origin of ['push.test', 'ftp://push.test', 'http://push.test/path', 'http://u@push.test', '']) {
    await assert.rejects(startPushService({ origin }), { name: 'TypeError', message: /origin/ });
  }
  for (const [name, value] of [
    ['maxBodyBytes', 0],
    ['maxSinks', 1.5],
    ['maxConnections', '7'],
    ['maxFun', 1],
  ]) {
    const limits = { [String(name)]: value } as object;
    await assert.rejects(startPushService({ limits }), {
      name: 'RangeError',
      message: new RegExp(String(name)),
    });
  }
});

test('"tls" is true, false, or key and certificate as texts', async () => {
  for (const tls of ['yes', 1, null, {}, { key: 'x' }, { key: Buffer.from('x'), cert: 'x' }]) {
    await assert.rejects(startPushService({ tls } as object), {
      name: 'TypeError',
      message: /^"tls" must be true, false, or/,
    });
  }
});

test('a request needs exactly one Host, which is a host with an optional port', async (t) => {
  const service = await start(t);
  const statusFor = async (lines: string, version = '1.1'): Promise<number> => {
    const socket = connectTcp(service.port, '127.0.0.1');
    socket.end(`GET / HTTP/${version}\r\n${lines}\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    return Number(Buffer.concat(chunks).toString().slice(9, 12));
  };
  const upgrade =
    'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';
  for (const lines of [
    '',
    'Host: a\r\nHost: a\r\n',
    'host: a\r\nHOST: b\r\n',
    'Host: a b/@\r\n',
    'Host:\r\n',
    'Host: a:b\r\n',
    'Host: user@a\r\n',
    'Host: a/b\r\n',
    `Host: a\r\nHost: b\r\n${upgrade}`,
    `Host: a b\r\n${upgrade}`,
  ]) {
    assert.equal(await statusFor(lines), 400, JSON.stringify(lines));
  }
  for (const host of ['a', 'localhost:80', '127.0.0.1:8090', '[::1]:1', 'xn--bcher-kva.example']) {
    assert.equal(await statusFor(`Host: ${host}\r\nconnection: close\r\n`), 200, host);
  }
  assert.equal(await statusFor('', '1.0'), 200, 'HTTP/1.0 needs none');
});

test('close ends every kind of connection and frees the port', async () => {
  const service = await startPushService();
  const { port } = service;
  const [{ endpoint } = { endpoint: '' }] = service.createSinks(1);
  service.faults.inject({ kind: 'hang', times: 2 });
  const silent = connectTcp(port, '127.0.0.1');
  const half = connectTcp(port, '127.0.0.1');
  half.write('PR');
  const session = connectHttp2(service.origin);
  session.on('error', () => undefined);
  const webSocket = new WebSocket(service.webSocketUrl, 'push-notification');
  await once(webSocket, 'open');
  const hanging = [sendOn(session, endpoint, push), sendByHttp1(endpoint, push)].map((sending) =>
    sending.then(
      () => 'answered',
      () => 'broken',
    ),
  );
  await until(() => (service.statistics().events.fault ?? 0) >= 2, 'both faults');
  const webSocketClosed = once(webSocket, 'close') as Promise<[number]>;
  const ended = Promise.all(
    [silent, half].map((socket) =>
      once(
        socket.on('error', () => undefined),
        'close',
      ),
    ),
  );
  silent.resume();
  half.resume();
  await service.close();
  assert.deepEqual(await Promise.all(hanging), ['broken', 'broken']);
  assert.equal((await webSocketClosed)[0], 1001);
  await ended;
  const again = await startPushService({ port });
  await again.close();
});

test('close lets a request that is under way have its answer', async () => {
  const service = await startPushService();
  const [{ endpoint } = { endpoint: '' }] = service.createSinks(1);
  service.faults.inject({ kind: 'delay', ms: 100 });
  const answers = [sendByHttp1(endpoint, push), sendByHttp2(endpoint, push)];
  await until(() => (service.statistics().events.fault ?? 0) >= 2, 'both faults');
  await service.close();
  assert.deepEqual(pluck(await Promise.all(answers), 'status'), [201, 201]);
});
