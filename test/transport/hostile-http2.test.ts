// Push services that break HTTP/2, by mistake or on purpose: every request still gets its one result, and the push
// service hears by GOAWAY or RST_STREAM what it did wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import type { TransportRules } from '../../src/transport/create-transport.ts';
import type { TransportOptions, TransportResult } from '../../src/transport/transport.ts';
import {
  answer,
  endHeaders,
  endStream,
  field,
  frame,
  settings,
  startWire,
  status201,
  type,
  uint32,
  type Wire,
} from './http2-wire.ts';
import { ManualClock } from './manual-clock.ts';
import { describe, pushBody, pushHeaders, tally, openPeer } from './sending.ts';
import { until, within } from '../../tools/until.ts';
import { pluck } from '../../tools/pluck.ts';

const code = { protocol: 1, flowControl: 3, frameSize: 6, compression: 9, enhanceYourCalm: 11 } as const;
const headers = (block: Buffer, flags = endHeaders | endStream): Buffer =>
  frame(type.headers, flags, 1, block);
const headersOn = (streamId: number, block: Buffer): Buffer =>
  frame(type.headers, endHeaders | endStream, streamId, block);
const repeated = (bytes: Buffer, times: number): Buffer =>
  Buffer.concat(Array.from({ length: times }, () => bytes));
const huffman = (name: string, bytes: number[]): Buffer =>
  Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([0x80 | bytes.length, ...bytes]),
  ]);

/** A server whose connections run `script`, and a transport to it. */
const openWire = async (
  script: (wire: Wire, connection: number) => void,
  options: TransportOptions = {},
  rules?: TransportRules,
) => openPeer(await startWire(script), { responseTimeoutMs: 10_000, ...options }, rules);

/** Sends `count` requests at once, and calls `advance` until all have their results. */
async function sendMeanwhile(peer: ReturnType<typeof openPeer>, count: number, advance: () => void) {
  let isDone = false;
  const sent = peer.sendMany(count, count).finally(() => (isDone = true));
  await until(() => {
    if (!isDone) advance();
    return isDone;
  }, 'all results');
  return sent;
}

/** Also after an error: what is reset is closed too. */
async function closed({ socket }: Wire): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

/** Greets, and does the same for each request. */
const onEachRequest =
  (react: (wire: Wire, streamId: number, connection: number) => void) =>
  (wire: Wire, connection: number): void => {
    wire.greet();
    wire.onRequest = (streamId) => react(wire, streamId, connection);
  };
const saying = (...bytes: Buffer[]) => onEachRequest((wire) => wire.send(...bytes));
const answering = onEachRequest((wire, streamId) => wire.send(answer(streamId)));

// Each breaks the rules of the connection: GOAWAY with this error code, and the request is in doubt.
const connectionErrors: Readonly<Record<keyof typeof code, Readonly<Record<string, readonly Buffer[]>>>> = {
  protocol: {
    'DATA on stream 0': [frame(type.data, 0, 0, Buffer.alloc(1))],
    'HEADERS on stream 0': [frame(type.headers, endHeaders, 0, status201)],
    'HEADERS on a stream of its own': [frame(type.headers, endHeaders, 2, status201)],
    'HEADERS on a stream that is not open yet': [frame(type.headers, endHeaders, 3, status201)],
    'DATA on a stream that is not open yet': [frame(type.data, 0, 5, Buffer.alloc(1))],
    'RST_STREAM on a stream that is not open yet': [frame(type.rstStream, 0, 7, uint32(0))],
    'WINDOW_UPDATE of 0 for the connection': [frame(type.windowUpdate, 0, 0, uint32(0))],
    'SETTINGS on a stream': [frame(type.settings, 0, 1)],
    ENABLE_PUSH: [settings([2, 1])],
    'a MAX_FRAME_SIZE of 16,383': [settings([5, 16_383])],
    'a MAX_FRAME_SIZE of 2^24': [settings([5, 2 ** 24])],
    'PING on a stream': [frame(type.ping, 0, 1, Buffer.alloc(8))],
    'GOAWAY on a stream': [frame(type.goaway, 0, 1, Buffer.alloc(8))],
    PUSH_PROMISE: [frame(type.pushPromise, endHeaders, 1, Buffer.alloc(4))],
    'CONTINUATION without HEADERS': [frame(type.continuation, endHeaders, 1, status201)],
    'PING between HEADERS and CONTINUATION': [headers(status201, 0), frame(type.ping, 0, 0, Buffer.alloc(8))],
    'CONTINUATION of another stream': [headers(status201, 0), frame(type.continuation, 4, 3, status201)],
    'more padding than payload': [frame(type.data, 8, 1, Buffer.from([9, 0, 0]))],
    'HEADERS with more padding than payload': [headers(Buffer.from([9, 0]), 8 | endHeaders)],
  },
  flowControl: {
    'a connection window over 2^31-1': [frame(type.windowUpdate, 0, 0, uint32(2 ** 31 - 1))],
    'an INITIAL_WINDOW_SIZE of 2^31': [settings([4, 2 ** 31])],
    'more data than its window': [answer(1), repeated(frame(type.data, 0, 1, Buffer.alloc(16_384)), 5)],
  },
  frameSize: {
    'a frame of 16,385 bytes': [frame(type.data, 0, 1, Buffer.alloc(16_385))],
    'HTTP/1.1': [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    'RST_STREAM of 3 bytes': [frame(type.rstStream, 0, 1, Buffer.alloc(3))],
    'WINDOW_UPDATE of 5 bytes': [frame(type.windowUpdate, 0, 0, Buffer.alloc(5))],
    'SETTINGS of 5 bytes': [frame(type.settings, 0, 0, Buffer.alloc(5))],
    'an acknowledgement of SETTINGS with content': [frame(type.settings, 1, 0, Buffer.alloc(6))],
    'PING of 7 bytes': [frame(type.ping, 0, 0, Buffer.alloc(7))],
    'GOAWAY of 7 bytes': [frame(type.goaway, 0, 0, Buffer.alloc(7))],
    'padding without its length': [frame(type.data, 8, 1)],
    'HEADERS too short for its priority': [headers(Buffer.alloc(4), 0x20 | endHeaders)],
  },
  compression: {
    'index 0': [headers(Buffer.from([0x80]))],
    'an index beyond the header table': [headers(Buffer.from([0x80 | 62]))],
    'an integer without end': [headers(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]))],
    'a block that ends within an integer': [headers(Buffer.from([0x7f]))],
    'a block that ends within a field': [headers(Buffer.from([0x00, 0x05, 0x61]))],
    'a name without value': [headers(Buffer.from([0x00, 0x01, 0x61]))],
    'a value that ends behind the block': [headers(Buffer.from([0x00, 0x01, 0x61, 0x05, 0x62])), answer(1)],
    'a header table of 4097 bytes': [headers(Buffer.from([0x3f, 0xe2, 0x1f]))],
    'a table size behind a field': [headers(Buffer.concat([status201, Buffer.from([0x20])]))],
    'Huffman code with EOS in it': [headers(huffman('a', [0xff, 0xff, 0xff, 0xff]))],
    'Huffman code filled up with zeros': [headers(huffman('a', [0x00, 0x00]))],
    'Huffman code filled up with a whole byte': [headers(huffman('a', [0x1f, 0xff]))],
  },
  enhanceYourCalm: {
    'a header list that swells': [headers(Buffer.concat([status201, Buffer.alloc(2000, 0x80 | 20)]))],
    'a header block without end': [
      headers(status201, 0),
      repeated(frame(type.continuation, 0, 1, Buffer.alloc(16_000, 0x80 | 20)), 4),
    ],
    'empty CONTINUATION frames without end': [
      headers(status201, 0),
      repeated(frame(type.continuation, 0, 1), 10_000),
    ],
    'SETTINGS without end': [repeated(settings(), 5000)],
    'PING without end': [repeated(frame(type.ping, 0, 0, Buffer.alloc(8)), 5000)],
    'empty DATA without end': [headers(status201, 4), repeated(frame(type.data, 0, 1), 5000)],
    'WINDOW_UPDATE without end': [repeated(frame(type.windowUpdate, 0, 0, uint32(1)), 5000)],
    'PRIORITY without end': [repeated(frame(type.priority, 0, 1, Buffer.alloc(5)), 5000)],
    'unknown frames without end': [repeated(frame(0xfa, 0, 0), 5000)],
    'interim answers without end': [repeated(headers(field(':status', '103'), 4), 5000)],
  },
};

test('each breach of the connection is answered with GOAWAY and its error code', async () => {
  const breaches = Object.entries(connectionErrors).flatMap(([name, cases]) =>
    Object.entries(cases).map(([what, bytes]) => [what, code[name as keyof typeof code], bytes] as const),
  );
  for (const [what, errorCode, bytes] of breaches) {
    await using peer = await openWire(saying(...bytes));
    // Where the answer itself is good, it counts.
    const expected = what === 'more data than its window' ? '201' : 'ERR_PROTOCOL in doubt';
    // A half answer whose status is known counts too.
    const result = await peer.sendOne();
    const isHalf = what === 'empty DATA without end';
    assert.equal(describe(result), isHalf ? '201' : expected, what);
    const [wire] = peer.wires;
    assert.ok(wire);
    await closed(wire);
    assert.deepEqual(wire.goaways, [errorCode], what);
  }
});

// Each breaks the rules of one stream: the request is in doubt, and the connection goes on.
const streamErrors: readonly (readonly [what: string, bytes: Buffer[]])[] = [
  ['no status', [headers(field('server', 'x'))]],
  ['a status of two digits', [headers(field(':status', '20'))]],
  ['a status that is no number', [headers(field(':status', '2xx'))]],
  ['two statuses', [headers(Buffer.concat([status201, status201]))]],
  ['a status behind a field', [headers(Buffer.concat([field('server', 'x'), status201]))]],
  ['the path of a request', [headers(Buffer.concat([status201, field(':path', '/')]))]],
  ['an upper-case name', [headers(Buffer.concat([status201, field('Server', 'x')]))]],
  ['an empty name', [headers(Buffer.concat([status201, field('', 'x')]))]],
  ['a name with a space', [headers(Buffer.concat([status201, field('a b', 'x')]))]],
  ['a value with a line break', [headers(Buffer.concat([status201, field('a', 'x\r\ny: z')]))]],
  ['a value with NUL', [headers(Buffer.concat([status201, field('a', 'x\0')]))]],
  ['a value that begins with a space', [headers(Buffer.concat([status201, field('a', ' x')]))]],
  ['a connection field', [headers(Buffer.concat([status201, field('connection', 'close')]))]],
  ['transfer-encoding', [headers(Buffer.concat([status201, field('transfer-encoding', 'chunked')]))]],
  ['status 101', [headers(field(':status', '101'), endHeaders)]],
  ['an interim answer that ends the stream', [headers(field(':status', '100'))]],
  ['a body before the header', [frame(type.data, endStream, 1, Buffer.from('x'))]],
  ['a second header that does not end the stream', [headers(status201, 4), headers(field('a', 'b'), 4)]],
  ['a trailer with a status', [headers(status201, 4), headers(status201, 5)]],
  ['a stream window over 2^31-1', [frame(type.windowUpdate, 0, 1, uint32(2 ** 31 - 1))]],
  ['a stream window of 0 more', [frame(type.windowUpdate, 0, 1, uint32(0))]],
];

test('each breach of one stream is answered with RST_STREAM, and the connection goes on', async () => {
  for (const [what, bytes] of streamErrors) {
    const script = onEachRequest((wire, streamId) =>
      wire.send(...(streamId === 1 ? bytes : [answer(streamId)])),
    );
    await using peer = await openWire(script);
    assert.equal(await peer.send(), 'ERR_PROTOCOL in doubt', what);
    assert.equal(await peer.send(), '201', what);
    assert.equal(peer.wires.length, 1, what);
    assert.deepEqual(pluck(peer.wires[0]!.resets, 'streamId'), [1], what);
  }
});

test('a connection that does not begin with SETTINGS takes no request', async () => {
  for (const bytes of [
    frame(type.ping, 0, 0, Buffer.alloc(8)),
    Buffer.from('HTTP/1.1 400 \r\n\r\n'),
    answer(1),
  ]) {
    const script = (wire: Wire): void => wire.send(bytes);
    await using peer = await openWire(script);
    assert.equal(await peer.send(), 'ERR_PROTOCOL');
  }
});

test('what is unusual and allowed is understood', async () => {
  const padded = Buffer.concat([Buffer.from([3]), status201, Buffer.alloc(3)]);
  const prioritised = Buffer.concat([Buffer.alloc(5), status201]);
  const cases: readonly (readonly [what: string, bytes: Buffer[]])[] = [
    ['padding', [headers(padded, 8 | 5)]],
    ['priority', [headers(prioritised, 0x20 | 5)]],
    [
      'a block in pieces',
      [headers(status201.subarray(0, 4), 1), frame(9, 0, 1), frame(9, 4, 1, status201.subarray(4))],
    ],
    ['103 before the answer', [headers(field(':status', '103'), 4), answer(1)]],
    ['trailers', [headers(status201, 4), headers(field('x-end', 'yes'), 5)]],
    ['an empty body', [headers(status201, 4), frame(type.data, endStream, 1)]],
    ['a padded body', [headers(status201, 4), frame(type.data, 9, 1, Buffer.from([2, 65, 0, 0]))]],
    ['unknown frames and settings', [frame(0x16, 0xff, 1), settings([0x99, 7]), answer(1)]],
    ['a table size of 4096', [headers(Buffer.concat([Buffer.from([0x3f, 0xe1, 0x1f]), status201]))]],
    ['a table size of 0', [headers(Buffer.concat([Buffer.from([0x20]), status201]))]],
    [
      'a field to be put into the table, which we do not offer, as h2o 2.2.5 does it',
      [headers(Buffer.concat([Buffer.from([0x48, 3]), Buffer.from('201')]))],
    ],
    ['PING before the answer', [frame(type.ping, 0, 0, Buffer.alloc(8)), answer(1)]],
    ['GOAWAY before the answer', [frame(type.goaway, 0, 0, uint32(1, 0)), answer(1)]],
    ['RST_STREAM behind the answer', [answer(1), frame(type.rstStream, 0, 1, uint32(0))]],
    ['a half answer and RST_STREAM', [headers(status201, 4), frame(type.rstStream, 0, 1, uint32(2))]],
  ];
  for (const [what, bytes] of cases) {
    // The same, one byte at a time.
    const dripping = (wire: Wire): void => {
      wire.greet();
      wire.socket.setNoDelay(true);
      wire.onRequest = () => void drip(wire, Buffer.concat(bytes));
    };
    for (const script of [saying(...bytes), dripping]) {
      await using peer = await openWire(script);
      assert.equal(await peer.send(), '201', what);
    }
  }
});

async function drip(wire: Wire, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    wire.send(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
}

test('PING is answered with the same bytes, and SETTINGS is acknowledged', async () => {
  const payload = Buffer.from('deskbell');
  const seen: string[] = [];
  await using peer = await openWire((wire: Wire): void => {
    wire.send(settings([3, 7]), frame(type.ping, 0, 0, payload));
    wire.onFrame = (frameType, flags, streamId, bytes) => {
      if (flags === 1 && streamId === 0) seen.push(`${frameType} ${bytes.toString()}`);
    };
    wire.onRequest = (streamId) => wire.send(answer(streamId));
  });
  assert.equal(await peer.send(), '201');
  assert.deepEqual(seen, [`${type.settings} `, `${type.ping} deskbell`]);
});

// `:status: 201`, to be put into the dynamic table, and as its entry of the given age.
const inserted201 = Buffer.from([0x48, 3, ...Buffer.from('201')]);
const indexed201 = (age: number): Buffer => Buffer.from([0x80 | (62 + age)]);

test('an answer that comes too late still changes the header table', async () => {
  const clock = new ManualClock();
  await using peer = await openWire(
    onEachRequest((wire, streamId) => {
      if (streamId === 1) clock.advance(11_000);
      else wire.send(headersOn(1, inserted201), headersOn(streamId, indexed201(0)));
    }),
    clock,
  );
  assert.equal(await peer.send(), 'ERR_TIMEOUT in doubt');
  assert.equal(await peer.send(), '201');
  assert.equal(peer.wires.length, 1);
});

test('GOAWAY on every connection after its first request: what waits goes out, however often it is handed back', async () => {
  let processed = 0;
  await using peer = await openWire(
    onEachRequest((wire, streamId) => {
      if (streamId > 1) return;
      processed += 1;
      wire.send(frame(type.goaway, 0, 0, uint32(1, 0)), answer(1));
    }),
  );
  assert.deepEqual(tally(await peer.sendMany(60, 60)), { 201: 60 });
  assert.equal(processed, 60);
  assert.equal(peer.wires.length, 60);
});

test('closing does not wait for a message whose time is over and that was handed back', async () => {
  const requested = Promise.withResolvers<Wire>();
  await using peer = await openWire(onEachRequest(requested.resolve));
  const { transport, origin } = peer;
  const request = { origin, path: '/', headers: pushHeaders, body: pushBody };
  const result = new Promise<TransportResult>((resolve) => transport.send(request, resolve, 200));
  const wire = await requested.promise;
  assert.equal(describe(await result), 'ERR_TIMEOUT in doubt');
  const closing = transport.close(10_000);
  wire.send(frame(type.goaway, 0, 0, uint32(0, 0)));
  await within(closing, 'that it is closed', 5000);
});

test('a retired connection that still awaits an answer does not delay new requests', async () => {
  await using peer = await openWire(
    onEachRequest((wire, streamId, connection) => {
      wire.send(connection === 1 ? frame(type.goaway, 0, 0, uint32(streamId, 0)) : answer(streamId));
    }),
  );
  const owed = peer.sendOne();
  const first = await until(() => peer.wires[0]?.onRequest && peer.wires[0], 'the first connection');
  await delay(50);
  assert.equal(await peer.send(), '201');
  first.send(answer(1));
  assert.equal(describe(await owed), '201');
});

test('REFUSED_STREAM is sent again on the same connection; other resets are in doubt', async () => {
  await using peer = await openWire(
    onEachRequest((wire, streamId) => {
      if (streamId === 1) wire.send(frame(type.rstStream, 0, 1, uint32(7)));
      else if (streamId === 5) wire.send(frame(type.rstStream, 0, 5, uint32(8)));
      else wire.send(answer(streamId));
    }),
  );
  assert.equal(await peer.send(), '201');
  assert.equal(await peer.send(), 'ERR_CONNECTION in doubt');
  assert.equal(await peer.send(), '201');
  assert.equal(peer.wires.length, 1);
});

const refused = (streamId: number): Buffer => frame(type.rstStream, 0, streamId, uint32(7));

test('what is refused goes out again after a pause, which doubles, and other messages do not wait for it', async () => {
  const clock = new ManualClock();
  let requests = 0;
  await using peer = await openWire(
    onEachRequest((wire, streamId) => {
      requests += 1;
      wire.send(requests < 4 ? refused(streamId) : answer(streamId));
    }),
    clock,
  );
  const refusedOne = peer.sendOne();
  for (const [tries, pauseMs] of [20, 40, 80].entries()) {
    await until(() => peer.transport.snapshot()[0]?.queued === 1 && requests > tries, 'the refusal');
    if (tries === 2) assert.equal(await peer.send(), '201');
    clock.advance(pauseMs - 1);
    await delay(10);
    assert.equal(requests, tries === 2 ? 4 : tries + 1);
    clock.advance(1);
  }
  assert.equal(describe(await refusedOne), '201');
});

test('a push service that refuses requests for half a second is left alone for a while', async () => {
  const clock = new ManualClock();
  let requests = 0;
  const script = onEachRequest((wire, streamId) => {
    requests += 1;
    wire.send(refused(streamId));
  });
  await using peer = await openWire(script, clock);
  const results = await sendMeanwhile(peer, 400, () => clock.advance(20));
  assert.deepEqual(tally(results), { deferred: 400 });
  assert.ok(requests < 2000, `${requests} requests, where each message is sent ten times`);
  const result = await peer.sendOne();
  assert.ok(result.kind === 'deferred' && result.obstacle === undefined);
  assert.match(result.detail, /refuses requests \(HTTP\/2 error 7\)/);
  assert.deepEqual(
    peer.wires.flatMap(({ goaways }) => goaways),
    [],
  );
});

test('more than a push service takes before its SETTINGS have come is refused, and sent again', async () => {
  let requests = 0;
  const script = onEachRequest((wire, streamId) => {
    requests += 1;
    wire.send(requests <= 50 ? answer(streamId) : requests <= 100 ? refused(streamId) : answer(streamId));
  });
  await using peer = await openWire(script);
  assert.deepEqual(tally(await peer.sendMany(100, 100)), { 201: 100 });
});

test('any number of refusals breaks no rule of HTTP/2', async () => {
  const clock = new ManualClock();
  let requests = 0;
  const script = onEachRequest((wire, streamId) => {
    requests += 1;
    const ping = frame(type.ping, 0, 0, Buffer.alloc(8));
    wire.send(ping, requests <= 900 ? refused(streamId) : answer(streamId));
  });
  await using peer = await openWire(script, clock, { hasBreaker: false });
  const results = await sendMeanwhile(peer, 400, () => clock.advance(200));
  assert.deepEqual(tally(results), { 201: 400 });
  assert.deepEqual(
    peer.wires.flatMap(({ goaways }) => goaways),
    [],
  );
});

test('a push service whose GOAWAY hands back the first request of each connection is left alone for a while', async () => {
  const clock = new ManualClock();
  const script = onEachRequest((wire) => wire.send(frame(type.goaway, 0, 0, uint32(0, 0))));
  await using peer = await openWire(script, clock);
  const results = await sendMeanwhile(peer, 50, () => clock.advance(200));
  const { ERR_CONNECTION: failed = 0, deferred = 0 } = tally(results);
  assert.equal(failed + deferred, 50);
  assert.ok(peer.wires.length <= 10, `${peer.wires.length} connections`);
  const result = await peer.sendOne();
  assert.ok(result.kind === 'deferred' && result.obstacle === undefined);
  assert.match(result.detail, /refuses requests \(HTTP\/2 GOAWAY before the first one\)/);
});

test('a push service that sends GOAWAY at once is not connected to again and again', async () => {
  await using peer = await openWire((wire: Wire): void => {
    wire.send(settings(), frame(type.goaway, 0, 0, uint32(0, 0)));
    wire.socket.end();
  });
  assert.equal(await peer.send(), 'ERR_CONNECTION');
  assert.equal(await peer.send(), 'deferred');
  assert.equal(peer.wires.length, 1);
});

test('a push service that breaks HTTP/2 on every connection gets three of them, then a pause and an alarm', async () => {
  await using peer = await openWire(
    // As h2o 2.2.5 does it: an entry of a table that it was told not to use, after some good answers.
    onEachRequest((wire, streamId) =>
      wire.send(streamId < 21 ? answer(streamId) : headersOn(streamId, indexed201(9))),
    ),
  );
  const results = await peer.sendMany(200, 5);
  const counts = tally(results);
  assert.equal(peer.wires.length, 3);
  assert.equal(counts['201'], 30);
  assert.ok((counts['ERR_PROTOCOL in doubt'] ?? 0) <= 15, JSON.stringify(counts));
  for (const result of results)
    if (result.kind === 'failure')
      assert.partialDeepStrictEqual(result.outcome, { reason: 'protocol-error' });
  const deferred = results.filter((result) => result.kind === 'deferred');
  assert.ok(deferred.length >= 155);
  for (const { obstacle, afterMs } of deferred) {
    assert.ok(obstacle === 'protocol-error' && afterMs >= 59_000, `${afterMs} ms`);
  }
});

test('resets of everything leave no request without its result, and open the breaker', async () => {
  await using peer = await openWire(
    onEachRequest((wire, streamId) => wire.send(frame(type.rstStream, 0, streamId, uint32(2)))),
  );
  const counts = tally(await peer.sendMany(500, 500));
  const failed = counts['ERR_CONNECTION in doubt'] ?? 0;
  assert.ok(failed >= 10 && failed < 120, `${failed} failed`);
  assert.equal(counts['deferred'], 500 - failed);
});

test('an answer before the body is sent ends the request, whatever window opens later', async () => {
  const types: number[] = [];
  await using peer = await openWire((wire: Wire): void => {
    wire.greet([4, 0]);
    wire.onFrame = (frameType, _flags, streamId) => {
      types.push(frameType);
      const tooLarge = field(':status', '413');
      if (frameType === type.headers)
        wire.send(frame(type.headers, endHeaders | endStream, streamId, tooLarge));
    };
  });
  assert.equal(await peer.send(), '413');
  await until(() => peer.wires[0]?.resets.length, 'the reset');
  assert.deepEqual(peer.wires[0]?.resets, [{ streamId: 1, code: 8 }]);
  peer.wires[0].send(settings([4, 65_535]), frame(type.ping, 0, 0, Buffer.alloc(8)));
  await until(() => types.includes(type.ping), 'the answer to PING');
  assert.ok(!types.includes(type.data));
});

test('a push service that says nothing after TLS costs the connect time-out, and nothing is in doubt', async () => {
  const clock = new ManualClock();
  await using peer = await openWire(
    // The preface has come, so the session waits for SETTINGS.
    (wire) => void wire.socket.once('data', () => clock.advance(11_000)),
    clock,
  );
  assert.equal(await peer.send(), 'ERR_TIMEOUT');
});

test('a push service that stops answering costs the response time-out, and the next connection is a new one', async () => {
  const clock = new ManualClock();
  await using peer = await openWire(
    onEachRequest((wire, streamId, connection) => {
      if (connection === 1 && streamId > 1) clock.advance(11_000);
      else wire.send(answer(streamId));
    }),
    clock,
  );
  assert.equal(await peer.send(), '201');
  clock.advance(1);
  assert.equal(await peer.send(), 'ERR_TIMEOUT in doubt');
  assert.equal(await peer.send(), '201');
  assert.equal(peer.wires.length, 2);
  const first = peer.wires[0] as Wire;
  await closed(first);
  assert.deepEqual(first.resets, [{ streamId: 3, code: 8 }]);
});

test('one request without an answer does not delay the others on its connection', async () => {
  const clock = new ManualClock();
  await using peer = await openWire(
    onEachRequest((wire, streamId) => {
      if (streamId !== 1) wire.send(answer(streamId));
    }),
    clock,
  );
  const late = peer.sendOne();
  for (let count = 0; count < 20; count += 1) {
    assert.equal(await peer.send(), '201');
    clock.advance(1000);
  }
  assert.equal(describe(await late), 'ERR_TIMEOUT in doubt');
  assert.equal(peer.wires.length, 1);
});

test('windows that never open cost the response time-out and the connection', async () => {
  const clock = new ManualClock();
  await using peer = await openWire((wire: Wire): void => {
    wire.greet([4, 0]);
    wire.onFrame = (frameType) => {
      if (frameType === type.headers) clock.advance(11_000);
    };
  }, clock);
  for (let count = 0; count < 2; count += 1) assert.equal(await peer.send(), 'ERR_TIMEOUT in doubt');
  assert.equal(peer.wires.length, 2);
});

test('a push service that allows few streams gets more connections, one that allows none does not', async () => {
  for (const [streams, least, most] of [
    [5, 10, 60],
    // The one that replaces the first when that has been idle too long.
    [0, 1, 2],
  ] as const) {
    await using peer = await openWire(
      (wire) => {
        wire.greet([3, streams]);
        wire.onRequest = (streamId) => void setTimeout(() => wire.send(answer(streamId)), 20);
      },
      { idleTimeoutMs: 500 },
    );
    const { wires } = peer;
    const results = await peer.sendMany(400, 400);
    assert.ok('ERR_CONNECTION' in tally(results) === (streams === 0));
    assert.ok(wires.length >= least && wires.length <= most, `${wires.length} connections`);
  }
});

test('an idle connection is closed after its time, with GOAWAY', async () => {
  const clock = new ManualClock();
  await using peer = await openWire(answering, clock);
  assert.equal(await peer.send(), '201');
  const wire = peer.wires[0] as Wire;
  clock.advance(61_000);
  await closed(wire);
  assert.deepEqual(wire.goaways, [0]);
  assert.equal(await peer.send(), '201');
  assert.equal(peer.wires.length, 2);
});

test('a push service that does not read stops being written to', async () => {
  await using peer = await openWire((wire: Wire): void => {
    wire.greet([4, 2 ** 31 - 1]);
    wire.socket.pause();
  });
  const inFlight = () => peer.transport.snapshot()[0]?.inFlight;
  const body = Buffer.alloc(10_000_000);
  void peer.sendOne({ body });
  await until(() => inFlight() === 1, 'the first request');
  void peer.sendMany(60, 60, () => ({ body }));
  await delay(50);
  assert.equal(inFlight(), 1);
});
