// An origin as a whole: queue, connections, pacing and breaker against servers that fail, slow down and recover.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';

import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import type { Transport } from '../../src/transport/create-transport.ts';
import { maxQueued } from '../../src/transport/origin.ts';
import type { ResolvedAddress, TransportResult } from '../../src/transport/transport.ts';
import { ManualClock } from './manual-clock.ts';
import { certificate, respond, startHttp, startHttp2, startServer } from './peers.ts';
import {
  describe,
  openTransport,
  pushBody,
  pushHeaders,
  sendMany,
  sendOne,
  tally,
  openPeer,
} from './sending.ts';
import { until } from '../../tools/until.ts';

const sameRequest = (origin: string) => ({ origin, path: '/', headers: pushHeaders, body: pushBody });

/** Comes back when a deferred result says so, as delivery does, until there is another result. */
async function sendUntilTaken(
  transport: Transport,
  origin: string,
): Promise<Exclude<TransportResult, { kind: 'deferred' }>> {
  for (;;) {
    const result = await sendOne(transport, origin);
    if (result.kind !== 'deferred') return result;
    await delay(result.afterMs);
  }
}

test('a result never comes before send returns, whatever it is', async () => {
  await using transport = openTransport({});
  for (const origin of ['nonsense', 'http://127.0.0.1:1', 'https://127.0.0.1:1']) {
    let isBack = false;
    const result = new Promise<boolean>((resolve) => {
      transport.send(sameRequest(origin), () => resolve(isBack));
    });
    isBack = true;
    assert.equal(await result, true);
  }
});

test('a push service that is down fails who waited for the connection, defers the others, and is found again', async () => {
  const origin = 'http://push.example.org';
  // nothing listens on port 1
  let port = 1;
  const connectOverride = () => ({ host: '127.0.0.1', port });
  await using transport = openTransport({ pushServices: [origin], connectOverride });
  const results = await sendMany(transport, origin, 20, 20);
  assert.deepEqual(tally(results), { ERR_CONNECTION: 20 });
  const deferred = await sendOne(transport, origin);
  assert.ok(deferred.kind === 'deferred');
  assert.ok(deferred.afterMs > 0 && deferred.afterMs <= 1200, `${deferred.afterMs} ms`);
  assert.match(deferred.detail, /ECONNREFUSED/);

  const hosts = new Set<string | undefined>();
  await using peer = await startHttp((response) => {
    hosts.add(response.req.headers.host);
    response.writeHead(201).end();
  });
  port = Number(new URL(peer.origin).port);
  assert.equal(describe(await sendUntilTaken(transport, origin)), '201');
  assert.deepEqual(tally(await sendMany(transport, origin, 100, 10)), { 201: 100 });
  assert.deepEqual([...hosts], ['push.example.org'], 'wherever it was overridden to');
});

test('after an outage, a message that ends before there is a connection leaves the next one to try it', async () => {
  await using peer = await startHttp((response) => response.writeHead(201).end());
  const origin = `http://push.example.org:${new URL(peer.origin).port}`;
  const endings = {
    ERR_TIMEOUT: (_: Transport, clock: ManualClock) => clock.advance(500),
    deferred: (transport: Transport) => transport.withdraw(),
  };
  for (const [result, end] of Object.entries(endings)) {
    const clock = new ManualClock();
    const lookups: PromiseWithResolvers<ResolvedAddress[]>[] = [];
    const resolve = (): Promise<ResolvedAddress[]> => {
      const lookup = Promise.withResolvers<ResolvedAddress[]>();
      lookups.push(lookup);
      return lookup.promise;
    };
    await using transport = openTransport({ ...clock, pushServices: [origin], resolve });
    const down = sendOne(transport, origin);
    (await until(() => lookups.shift(), 'the first connection attempt')).resolve([]);
    assert.equal(describe(await down), 'ERR_CONNECTION');
    clock.advance(1000);
    const ended = new Promise<TransportResult>((done) => {
      transport.send(sameRequest(origin), done, 500);
    });
    const lookup = await until(() => lookups.shift(), 'the second connection attempt');
    end(transport, clock);
    assert.equal(describe(await ended), result);
    lookup.resolve([{ address: '127.0.0.1', family: 4 }]);
    await until(() => transport.snapshot()[0]?.connections, 'a connection');
    assert.equal(describe(await sendOne(transport, origin)), '201', `after ${result}`);
    assert.equal(transport.snapshot()[0]?.breaker, 'closed');
  }
});

test('what is handed back while a push service has asked to wait is not sent', async () => {
  let requests = 0;
  await using peer = await startHttp2((stream) => {
    requests += 1;
    if (requests <= 10) respond(stream, 429, { 'retry-after': '60' });
    else if (requests === 50) stream.session?.goaway(0, 19);
  });
  await using transport = openTransport({ pushServices: [peer.origin] });
  const results = await sendMany(transport, peer.origin, 50, 50);
  assert.deepEqual(tally(results), { 429: 10, deferred: 40 });
  const handedBack = results.find(({ kind }) => kind === 'deferred');
  assert.ok(handedBack?.kind === 'deferred' && handedBack.afterMs > 50_000);
  assert.match(handedBack.detail, /answers with status 429/);
  assert.equal(requests, 50);
});

test('a push service that has asked to wait is not forgotten for others, nor is it kept for ever', async () => {
  const clock = new ManualClock();
  await using transport = openTransport({
    ...clock,
    resolve: () => Promise.reject(new Error('no such host')),
  });
  const waiting = 'https://fcm.googleapis.com';
  transport.pause(waiting, 3_600_000);
  // each of them is not to be connected to for a second
  for (let number = 0; number < 2500; number += 1) {
    await sendOne(transport, `https://h${number}.push.apple.com`);
  }
  assert.ok(transport.snapshot().length <= 1000);
  assert.equal(describe(await sendOne(transport, waiting)), 'deferred');
  clock.advance(3_600_000);
  for (let number = 0; number < 1000; number += 1) {
    await sendOne(transport, `https://n${number}.push.apple.com`);
  }
  assert.ok(!transport.snapshot().some(({ origin }) => origin === waiting));
});

test('what a push service answers to a message, many times in a row, says nothing against the origin', async () => {
  const statuses = [404, 410, 413, 400, 403, 408, 421, 425];
  const [inRow, count] = [30, 30 * statuses.length];
  await using peer = openPeer(
    await startHttp((response, request) =>
      response.writeHead(statuses[Math.floor((request % count) / inRow)]!).end(),
    ),
  );
  const results = await peer.sendMany(count, 50);
  assert.deepEqual(tally(results), Object.fromEntries(statuses.map((status) => [status, inRow])));
});

test('a full queue defers what it cannot take', async () => {
  await using peer = await startHttp(() => {});
  await using transport = openTransport({ pushServices: [peer.origin] });
  const results: TransportResult[] = [];
  for (let count = 0; count < maxQueued + 300; count += 1) {
    transport.send(sameRequest(peer.origin), (result) => results.push(result));
  }
  await until(() => results.length >= 300, 'what is not taken');
  assert.equal(results.length, 300);
  assert.ok(results.every(({ kind }) => kind === 'deferred'));
  await transport.close(0);
  assert.equal(results.length, maxQueued + 300);
  const counts = tally(results);
  assert.equal((counts['ERR_CLOSED'] ?? 0) + (counts['ERR_CLOSED in doubt'] ?? 0), maxQueued);
});

test('an origin gets at most 30 HTTP/2 connections, or 32 of HTTP/1.1, however much waits', async () => {
  const held: (() => void)[] = [];
  await using http1 = await startHttp((response) => held.push(() => response.writeHead(201).end()));
  await using http2 = await startHttp2((stream) => held.push(() => respond(stream)));
  await using transport = openTransport({ pushServices: [http1.origin, http2.origin] });
  for (const [peer, most, requests] of [
    [http1, 32, 800],
    [http2, 30, maxQueued],
  ] as const) {
    const answers: TransportResult[] = [];
    for (let count = 0; count < requests; count += 1) {
      transport.send(sameRequest(peer.origin), (result) => answers.push(result));
    }
    // Answering in waves makes pacing allow more, up to its bound.
    await until(() => {
      for (const answer of held.splice(0)) answer();
      return answers.length >= requests;
    }, 'all answers');
    assert.ok(
      peer.connections() > most / 12 && peer.connections() <= most,
      `${peer.connections()} connections`,
    );
  }
});

test('close waits for what is in flight and takes nothing new', async () => {
  await using peer = await startHttp((response) => setTimeout(() => response.writeHead(201).end(), 100));
  await using transport = openTransport({ pushServices: [peer.origin] });
  const sent = sendMany(transport, peer.origin, 50, 50);
  const closed = transport.close();
  assert.equal(describe(await sendOne(transport, peer.origin)), 'ERR_CLOSED');
  await closed;
  assert.deepEqual(tally(await sent), { 201: 50 });
});

test('close ends a connection attempt that hangs', async () => {
  const transport = openTransport({ resolve: () => new Promise(() => {}) });
  const sent = sendOne(transport, 'https://push.example.org');
  await transport.close(50);
  assert.equal(describe(await sent), 'ERR_CLOSED');
});

test('a resolver that hangs or a TCP peer that says nothing costs the connect time-out', async () => {
  const clock = new ManualClock();
  const asked = Promise.withResolvers<void>();
  const server = createServer();
  const accepted = once(server, 'connection');
  await using silent = await startServer(server, 'https');
  await using transport = openTransport({
    ...clock,
    pushServices: [silent.origin],
    resolve: (hostname) => {
      if (hostname === 'localhost') return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const results = Promise.all([
    sendOne(transport, 'https://hanging.example.org'),
    sendOne(transport, silent.origin),
  ]);
  await Promise.all([asked.promise, accepted]);
  clock.advance(11_000);
  assert.deepEqual((await results).map(describe), ['ERR_TIMEOUT', 'ERR_TIMEOUT']);
});

test('a name without an address, and one whose first address is dead', async () => {
  await using peer = await startHttp((response) => response.writeHead(201).end());
  const { port } = new URL(peer.origin);
  const origins = [
    `http://none.example.org:${port}`,
    `http://gone.example.org:${port}`,
    `http://two.example.org:${port}`,
  ];
  await using transport = openTransport({
    pushServices: origins,
    resolve: (hostname) => {
      if (hostname.startsWith('none')) return Promise.resolve([]);
      if (hostname.startsWith('gone'))
        return Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' }));
      return Promise.resolve([
        { address: '127.0.0.9', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ]);
    },
  });
  const results = await Promise.all(origins.map((origin) => sendOne(transport, origin)));
  assert.deepEqual(results.map(describe), ['ERR_CONNECTION', 'ERR_CONNECTION', '201']);
  assert.ok(results[1]?.kind === 'failure' && results[1].error.message.includes('ENOTFOUND'));
});

test('authorities in `ca` are trusted besides those that Node trusts', async (t) => {
  const usual = getCACertificates('default');
  t.after(() => setDefaultCACertificates(usual));
  const other = makeCertificate(['localhost']);
  await using one = await startHttp2((stream) => respond(stream));
  await using another = await startHttp2((stream) => respond(stream), other);
  setDefaultCACertificates([...usual, certificate.cert]);
  const pushServices = [one.origin, another.origin];
  for (const [ca, expected] of [
    [[other.cert], ['201', '201']],
    [[], ['201', 'ERR_TLS']],
  ] as const) {
    await using transport = openTransport({ pushServices, ca });
    const results = await Promise.all(pushServices.map((origin) => sendOne(transport, origin)));
    assert.deepEqual(results.map(describe), expected);
  }
});

test('each way for TLS to fail is ERR_TLS, and nothing is in doubt', async () => {
  const other = makeCertificate(['other.example.org']);
  const trusting = { ca: [certificate.cert, other.cert] };
  const cases = [
    ['a certificate that nobody vouches for', certificate, {}],
    ['a certificate for another host', other, trusting],
    [
      'TLS 1.1',
      { ...certificate, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' },
      trusting,
    ],
    ['no common protocol', { ...certificate, ALPNProtocols: ['spdy/3'] }, trusting],
  ] as const;
  for (const [what, tls, options] of cases) {
    await using peer = await startServer(
      createTlsServer({
        ...tls,
        ...('ALPNProtocols' in tls && { ALPNProtocols: [...tls.ALPNProtocols] }),
      } as object),
      'https',
    );
    await using transport = openTransport({ ca: [], ...options, pushServices: [peer.origin] });
    assert.equal(describe(await sendOne(transport, peer.origin)), 'ERR_TLS', what);
  }
  await using plain = await startServer(
    createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    'https',
  );
  await using transport = openTransport({ pushServices: [plain.origin] });
  assert.equal(describe(await sendOne(transport, plain.origin)), 'ERR_TLS');
});

test('a transport that has nothing in flight does not keep the process alive', async () => {
  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  await using peer = await startHttp((response) => response.writeHead(201).end());
  const module = new URL('../../src/transport/create-transport.ts', import.meta.url).href;
  const program = `
    const { createTransport } = await import(${JSON.stringify(module)});
    const origin = ${JSON.stringify(peer.origin)};
    const transport = createTransport({ pushServices: [origin] });
    const request = { origin, path: '/', headers: {}, body: new Uint8Array(3) };
    transport.send(request, ({ response }) => console.log(response.status));`;
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    timeout: 20_000,
  });
  assert.equal((await run).stdout, '201\n');
});

test('what waits for its turn can be withdrawn; what is in flight is answered', async () => {
  const held: ServerResponse[] = [];
  await using server = await startHttp((response) => held.push(response));
  await using transport = openTransport({ pushServices: [server.origin] });
  const results: TransportResult[] = [];
  for (let count = 0; count < 100; count += 1) {
    transport.send(sameRequest(server.origin), (result) => results.push(result));
  }
  await until(() => held.length, 'a request');
  transport.withdraw();
  await delay(0);
  const withdrawn = results.length;
  assert.ok(withdrawn > 0 && withdrawn < 100);
  assert.ok(results.every(({ kind }) => kind === 'deferred'));
  const answering = setInterval(() => held.splice(0).forEach((response) => response.end()), 5);
  await transport.close();
  clearInterval(answering);
  assert.equal(results.length, 100);
  assert.deepEqual(new Set(results.slice(withdrawn).map(({ kind }) => kind)), new Set(['response']));
});
