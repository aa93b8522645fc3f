// HTTP/1.1 answers, good and hostile: read the same whole, cut in two at every byte, and one byte at a time; then
// servers on real sockets that end, stall and flood.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { Http1Session } from '../../src/transport/http1.ts';
import type { TransportOptions } from '../../src/transport/transport.ts';
import { ManualClock } from './manual-clock.ts';
import { MemorySocket, newExchange, sessionSettings } from './memory-socket.ts';
import { startServer } from './peers.ts';
import { describe, tally, openPeer } from './sending.ts';

type Expected = readonly [status: number, body: string, isReusable: boolean];

const goodAnswers: readonly (readonly [what: string, text: string, expected: Expected])[] = [
  ['no body', 'HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n', [201, '', true]],
  ['no reason phrase', 'HTTP/1.1 201 \r\ncontent-length: 0\r\n\r\n', [201, '', true]],
  ['no reason and no space', 'HTTP/1.1 201\r\ncontent-length: 0\r\n\r\n', [201, '', true]],
  ['a body', 'HTTP/1.1 400 No\r\nContent-Length: 5\r\n\r\nhello', [400, 'hello', true]],
  ['connection: close', 'HTTP/1.1 201 C\r\nconnection: Close\r\ncontent-length: 0\r\n\r\n', [201, '', false]],
  ['HTTP/1.0', 'HTTP/1.0 201 C\r\ncontent-length: 0\r\n\r\n', [201, '', false]],
  [
    'HTTP/1.0 that stays',
    'HTTP/1.0 201 C\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n',
    [201, '', true],
  ],
  ['204', 'HTTP/1.1 204 N\r\ncontent-length: 9\r\n\r\n', [204, '', true]],
  ['304', 'HTTP/1.1 304 N\r\n\r\n', [304, '', true]],
  [
    '100 and 103 before it',
    'HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 E\r\nlink: x\r\n\r\nHTTP/1.1 201 C\r\ncontent-length: 1\r\n\r\nx',
    [201, 'x', true],
  ],
  [
    'chunks',
    'HTTP/1.1 400 N\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n',
    [400, 'abcd', true],
  ],
  [
    'chunks in capitals with trailers',
    'HTTP/1.1 400 N\r\nTransfer-Encoding: Chunked\r\n\r\n00A\r\n0123456789\r\n0\r\nx-end: 1\r\ny: 2\r\n\r\n',
    [400, '0123456789', true],
  ],
  ['UTF-8', 'HTTP/1.1 400 N\r\ncontent-length: 4\r\n\r\n\u00c3\u00bc\u00c3\u00b6', [400, 'üö', true]],
];

const malformedBodies: readonly (readonly [what: string, text: string])[] = [
  ['a chunk without size', 'HTTP/1.1 201 C\r\ntransfer-encoding: chunked\r\n\r\n\r\n'],
  ['a chunk with a sign', 'HTTP/1.1 201 C\r\ntransfer-encoding: chunked\r\n\r\n+1\r\n'],
  ['a chunk of 9 digits', 'HTTP/1.1 201 C\r\ntransfer-encoding: chunked\r\n\r\n123456789\r\n'],
  ['a chunk longer than it says', 'HTTP/1.1 201 C\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n'],
  ['a malformed trailer', 'HTTP/1.1 201 C\r\ntransfer-encoding: chunked\r\n\r\n0\r\na b\r\n\r\n'],
  ['a chunk line without end', `HTTP/1.1 201 C\r\ntransfer-encoding: chunked\r\n\r\n1;${'x'.repeat(300)}`],
  [
    'trailers without end',
    `HTTP/1.1 201 C\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(4000)}`,
  ],
];

const malformedHeads: readonly (readonly [what: string, text: string])[] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9\r\n\r\n'],
  ['HTTP/2 in words', 'HTTP/2 201\r\n\r\n'],
  ['two digits', 'HTTP/1.1 20 x\r\n\r\n'],
  ['four digits', 'HTTP/1.1 2010 x\r\n\r\n'],
  ['lines that end with LF', 'HTTP/1.1 201 C\ncontent-length: 0\n\n\r\n\r\n'],
  ['a line that ends with LF', 'HTTP/1.1 201 C\r\na: b\nc: d\r\n\r\n'],
  ['a folded line', 'HTTP/1.1 201 C\r\na: b\r\n c\r\n\r\n'],
  ['a space before the colon', 'HTTP/1.1 201 C\r\na : b\r\n\r\n'],
  ['no colon', 'HTTP/1.1 201 C\r\nab\r\n\r\n'],
  ['no name', 'HTTP/1.1 201 C\r\n: b\r\n\r\n'],
  ['NUL in a value', 'HTTP/1.1 201 C\r\na: b\0\r\n\r\n'],
  ['a negative length', 'HTTP/1.1 201 C\r\ncontent-length: -1\r\n\r\n'],
  ['a length with a sign', 'HTTP/1.1 201 C\r\ncontent-length: +1\r\n\r\n'],
  ['a length in hexadecimal', 'HTTP/1.1 201 C\r\ncontent-length: 0x1\r\n\r\n'],
  ['the same length twice', 'HTTP/1.1 201 C\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 201 C\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
  ['an empty length', 'HTTP/1.1 201 C\r\ncontent-length:\r\n\r\n'],
  ['a length and chunks', 'HTTP/1.1 201 C\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n'],
  ['101', 'HTTP/1.1 101 Switching\r\n\r\n'],
  ['099', 'HTTP/1.1 099 x\r\n\r\n'],
  ['interim answers without end', 'HTTP/1.1 100 Go\r\n\r\n'.repeat(17)],
  ['a header without end', `HTTP/1.1 201 C\r\n${'a: b\r\n'.repeat(10_000)}`],
  ['a line without end', `HTTP/1.1 201 C\r\na: ${'b'.repeat(20_000)}`],
];

/** What one request gets from a peer that sends `pieces` and then nothing, with the session that it leaves. */
async function exchangeWith(
  pieces: readonly Uint8Array[],
): Promise<{ outcome: string; isReusable: boolean }> {
  const socket = new MemorySocket();
  let outcome = 'nothing';
  const session = new Http1Session(
    socket.connection('http/1.1'),
    'push.example.org',
    {
      answered: (_exchange, { status, body }) => (outcome = `${status} ${body}`),
      failed: (_exchange, error, inDoubt) => (outcome = `${error.code}${inDoubt ? ' in doubt' : ''}`),
      handedBack: () => {},
      changed: () => {},
      closed: () => {},
    },
    sessionSettings,
  );
  session.add(newExchange());
  for (const piece of pieces) {
    await new Promise((resolve) => setImmediate(resolve));
    socket.receive(piece);
  }
  await new Promise((resolve) => setImmediate(resolve));
  const isReusable = session.freeCapacity === 1;
  socket.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  return { outcome, isReusable };
}

const inBytes = (bytes: Buffer): Buffer[] => Array.from(bytes, (byte) => Buffer.from([byte]));

test('good answers are read alike however they are cut', async () => {
  for (const [what, text, [status, body, isReusable]] of goodAnswers) {
    const bytes = Buffer.from(text, 'latin1');
    const expected = { outcome: `${status} ${body}`, isReusable };
    assert.deepEqual(await exchangeWith([bytes]), expected, what);
    for (let at = 1; at < bytes.length; at += 1) {
      const cut = [bytes.subarray(0, at), bytes.subarray(at)];
      assert.deepEqual(await exchangeWith(cut), expected, `${what}, cut at ${at}`);
    }
    assert.deepEqual(await exchangeWith(inBytes(bytes)), expected, what);
  }
});

test('malformed answers leave the request in doubt and end the connection, however they are cut', async () => {
  const expected = { outcome: 'ERR_PROTOCOL in doubt', isReusable: false };
  for (const [what, text] of malformedHeads) {
    const bytes = Buffer.from(text, 'latin1');
    const middle = bytes.length >> 1;
    assert.deepEqual(await exchangeWith([bytes]), expected, what);
    assert.deepEqual(await exchangeWith([bytes.subarray(0, middle), bytes.subarray(middle)]), expected, what);
    if (bytes.length < 1000) assert.deepEqual(await exchangeWith(inBytes(bytes)), expected, what);
  }
});

test('an answer whose body is malformed counts with its status, and ends the connection', async () => {
  for (const [what, text] of malformedBodies) {
    for (const pieces of [
      [Buffer.from(text, 'latin1')],
      inBytes(Buffer.from(text.slice(0, 1000), 'latin1')),
    ]) {
      const { outcome, isReusable } = await exchangeWith(pieces);
      assert.match(outcome, /^201/, what);
      assert.equal(isReusable, false, what);
    }
  }
});

test('a body of more than 4096 bytes is cut there, and ends the connection', async () => {
  const body = 'x'.repeat(100_000);
  for (const text of [
    `content-length: 100000\r\n\r\n${body}`,
    `transfer-encoding: chunked\r\n\r\n186a0\r\n${body}`,
    `\r\n${body}`,
  ]) {
    const { outcome, isReusable } = await exchangeWith([Buffer.from(`HTTP/1.1 400 N\r\n${text}`)]);
    assert.equal(outcome, `400 ${'x'.repeat(4096)}`);
    assert.equal(isReusable, false);
  }
});

/** A server that runs `script` for each request that has come whole. */
async function openScript(script: (socket: Socket, request: number) => void, options: TransportOptions = {}) {
  let requests = 0;
  const server = createServer((socket) => {
    let held = '';
    socket.on('data', (chunk: Buffer) => {
      held += chunk.toString('latin1');
      for (;;) {
        const head = held.indexOf('\r\n\r\n');
        const length = Number(/content-length: (\d+)/.exec(held)?.[1] ?? Number.NaN);
        if (head === -1 || held.length < head + 4 + length) return;
        held = held.slice(head + 4 + length);
        requests += 1;
        script(socket, requests);
      }
    });
  });
  return openPeer(await startServer(server, 'http'), options);
}

const created = 'HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n';

test('a connection that closes after every answer loses nothing', async () => {
  await using peer = await openScript((socket) =>
    socket.end('HTTP/1.1 201 Created\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'),
  );
  assert.deepEqual(tally(await peer.sendMany(200, 20)), { 201: 200 });
  assert.equal(peer.connections(), 200);
});

test('each way to end without a status leaves the request in doubt', async () => {
  const endings: readonly ((socket: Socket) => void)[] = [
    (socket) => socket.end(),
    (socket) => socket.destroy(),
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end('HTTP/1.1 20'),
    (socket) => socket.end('HTTP/1.1 201 Created\r\ncontent-le'),
  ];
  for (const end of endings) {
    await using peer = await openScript(end);
    assert.equal(await peer.send(), 'ERR_CONNECTION in doubt', end.toString());
  }
});

test('a half answer whose status is known counts', async () => {
  const halves = [
    'content-length: 10\r\n\r\nhalf',
    'transfer-encoding: chunked\r\n\r\n8\r\nhalf',
    'x: y\r\n\r\nhalf',
  ];
  for (const half of halves) {
    await using peer = await openScript((socket) => socket.end(`HTTP/1.1 410 Gone\r\n${half}`));
    const result = await peer.sendOne();
    assert.ok(result.kind === 'response');
    assert.equal(result.response.status, 410);
    assert.equal(result.response.body, 'half');
  }
});

test('no answer costs the response time-out, by default thirty seconds, and that connection', async () => {
  const clock = new ManualClock();
  const asked = Promise.withResolvers<void>();
  let ended: Promise<unknown> | undefined;
  await using peer = await openScript((socket, request) => {
    if (request > 1) return void socket.write(created);
    ended = once(socket, 'close');
    asked.resolve();
  }, clock);
  let result = 'nothing yet';
  const sent = peer.send().then((its) => (result = its));
  await asked.promise;
  clock.advance(29_000);
  await delay(0);
  assert.equal(result, 'nothing yet');
  clock.advance(2000);
  assert.equal(await sent, 'ERR_TIMEOUT in doubt');
  assert.equal(await peer.send(), '201');
  assert.equal(peer.connections(), 2);
  await ended;
});

test('dripped bytes without end cost the response time-out', async () => {
  const clock = new ManualClock();
  const drip = async (socket: Socket): Promise<void> => {
    socket.write('HTTP/1.1 201 Created\r\nx: ');
    for (let second = 1; second <= 30; second += 1) {
      socket.write('x');
      await delay(2);
      clock.advance(1000);
    }
  };
  await using peer = await openScript((socket) => void drip(socket), clock);
  assert.equal(await peer.send(), 'ERR_TIMEOUT in doubt');
});

test('an answer without a request ends the connection, and the next request is not answered by it', async () => {
  let first: Socket | undefined;
  await using peer = await openScript((socket) => {
    first ??= socket;
    socket.write(created);
  });
  assert.equal(await peer.send(), '201');
  assert.ok(first);
  first.write('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n');
  await once(first, 'close');
  assert.equal(await peer.send(), '201');
  assert.equal(peer.connections(), 2);
});

test('what follows an answer in the same read never answers the next request', async () => {
  const gone = 'HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n';
  for (const extra of [gone, gone.repeat(50), gone.slice(0, 12), gone.slice(0, -2), 'nonsense']) {
    await using peer = await openScript((socket, request) =>
      socket.write(request === 1 ? created + extra : created),
    );
    assert.match(await peer.send(), /^201$|^ERR_(PROTOCOL|CONNECTION) in doubt$/);
    const next = await peer.send();
    assert.match(next, /^201$|^ERR_(PROTOCOL|CONNECTION) in doubt$/, `after ${JSON.stringify(extra)}`);
  }
});

test('repeated fields are joined, and a field may be called constructor', async () => {
  const fields = 'A: 1\r\na:2 \r\nretry-after: 3\r\nretry-after: 4\r\nconstructor: x\r\n__proto__: y\r\n';
  await using peer = await openScript((socket) =>
    socket.write(`HTTP/1.1 201 C\r\n${fields}content-length: 0\r\n\r\n`),
  );
  const result = await peer.sendOne();
  assert.ok(result.kind === 'response');
  const { headers } = result.response;
  assert.equal(headers['a'], '1, 2');
  assert.equal(headers['retry-after'], '3, 4');
  assert.equal(headers['constructor'], 'x');
  assert.equal(headers['__proto__'], 'y');
  assert.equal(Object.getPrototypeOf(headers), null);
});

test('an idle connection is closed after its time', async () => {
  const clock = new ManualClock();
  let ended: Promise<unknown> | undefined;
  await using peer = await openScript((socket) => {
    ended = once(socket, 'end');
    socket.write(created);
  }, clock);
  assert.equal(await peer.send(), '201');
  clock.advance(59_000);
  assert.equal(await peer.send(), '201');
  assert.equal(peer.connections(), 1);
  clock.advance(61_000);
  await ended;
});

test('a slow answer delays no other connection of the origin', async () => {
  let slow: Socket | undefined;
  await using peer = await openScript((socket, request) => {
    if (request === 1) slow = socket;
    else socket.write(created);
  });
  const late = peer.sendOne();
  assert.deepEqual(tally(await peer.sendMany(20, 5)), { 201: 20 });
  slow?.write(created);
  assert.equal(describe(await late), '201');
});
