// Random bytes, and good conversations with some of their bytes changed, cut at random: whatever a push service
// sends, nothing is thrown, every request gets exactly one result, and nothing grows without bound.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';

import type { Exchange, SessionEvents } from '../../src/transport/exchange.ts';
import { Http1Session } from '../../src/transport/http1.ts';
import { FrameReader } from '../../src/transport/http2/frame-reader.ts';
import { Http2Fault } from '../../src/transport/http2/protocol.ts';
import { Http2Session } from '../../src/transport/http2/session.ts';
import {
  answer,
  endHeaders,
  endStream,
  field,
  frame,
  settings,
  status201,
  type,
  uint32,
} from './http2-wire.ts';
import { MemorySocket, newExchange, sessionSettings } from './memory-socket.ts';

const requests = 6;

/** Feeds the chunks to a session, ends the connection, and checks what must hold. */
async function converse(protocol: 'h2' | 'http/1.1', chunks: readonly Uint8Array[]): Promise<string[]> {
  const socket = new MemorySocket();
  const results = new Map<Exchange, string[]>();
  const report = (exchange: Exchange, result: string): void => void results.get(exchange)?.push(result);
  let isClosed = false;
  const events: SessionEvents = {
    answered: (exchange, { status }) => report(exchange, String(status)),
    failed: (exchange) => report(exchange, 'failed'),
    handedBack: (exchange) => report(exchange, 'refused'),
    changed: () => {},
    closed: () => (isClosed = true),
  };
  const connection = socket.connection(protocol);
  const SessionOfProtocol = protocol === 'h2' ? Http2Session : Http1Session;
  const session = new SessionOfProtocol(connection, 'push.example.org', events, sessionSettings);
  let received = 0;
  for (const chunk of chunks) {
    while (session.freeCapacity > 0 && results.size < requests) {
      const exchange = newExchange();
      results.set(exchange, []);
      session.add(exchange);
    }
    session.flush();
    // node:http takes up a request, and what has come, a turn later.
    if (protocol === 'http/1.1') await new Promise((resolve) => setImmediate(resolve));
    socket.receive(chunk);
    received += chunk.length;
  }
  session.flush();
  socket.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(isClosed, 'the session has noticed the end');
  for (const result of results.values()) assert.equal(result.length, 1, 'one result for each request');
  // Our requests, an acknowledgement for what asks for one, and a last word.
  assert.ok(
    socket.writtenBytes <= 100 + requests * 1200 + 3 * received,
    `${socket.writtenBytes} bytes written`,
  );
  return [...results.values()].flat();
}

/** Cuts bytes at the given places, taken as parts of a thousand. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = places.map((place) => Math.floor((place * bytes.length) / 1000)).sort((a, b) => a - b);
  return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
}

const places = fc.array(fc.nat(1000), { maxLength: 8 });
const streamId = fc.constantFrom(0, 1, 1, 3, 3, 5, 7, 9, 11, 2, 13, 2 ** 31 - 1);
const payload = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.constantFrom(status201, uint32(7), uint32(0, 0)),
);

/** Frames as a push service may say them, right and wrong. */
const anyFrame = fc.oneof(
  fc.constantFrom(1, 3, 5, 7, 9, 11).map((id) => answer(id)),
  fc.constantFrom(1, 3, 5).map((id) => frame(type.headers, endHeaders, id, status201)),
  fc.constantFrom(1, 3, 5).map((id) => frame(type.data, endStream, id, Buffer.from('no'))),
  fc.constantFrom(1, 3, 5).map((id) => frame(type.headers, 0, id, status201)),
  fc.constantFrom(1, 3, 5).map((id) => frame(type.continuation, endHeaders, id, field('a', 'b'))),
  fc.tuple(fc.nat(6), fc.nat(2 ** 32 - 1)).map(([setting, value]) => settings([setting, value])),
  fc.constant(frame(type.ping, 0, 0, Buffer.alloc(8))),
  fc.nat(12).map((last) => frame(type.goaway, 0, 0, uint32(last, 0))),
  fc
    .tuple(fc.constantFrom(1, 3, 5), fc.nat(13))
    .map(([id, code]) => frame(type.rstStream, 0, id, uint32(code))),
  fc.tuple(fc.nat(11), fc.nat(255), streamId, payload).map((parts) => frame(...parts)),
);

const changes = fc.array(fc.tuple(fc.nat(1000), fc.nat(255), fc.constantFrom('set', 'drop', 'insert')), {
  maxLength: 4,
});

function change(bytes: Buffer, list: readonly (readonly [number, number, string])[]): Buffer {
  return list.reduce((changed, [place, byte, how]) => {
    const at = Math.floor((place * changed.length) / 1000);
    const rest = changed.subarray(how === 'insert' ? at : at + 1);
    return Buffer.concat([changed.subarray(0, at), Buffer.from(how === 'drop' ? [] : [byte]), rest]);
  }, bytes);
}

test('HTTP/2: random bytes', async () => {
  const bytes = fc.uint8Array({ maxLength: 400 });
  await fc.assert(
    fc.asyncProperty(fc.boolean(), bytes, places, async (isGreeted, random, at) => {
      await converse('h2', [...(isGreeted ? [settings()] : []), ...cut(random, at)]);
    }),
    { numRuns: 800 },
  );
});

test('HTTP/2: conversations with bytes changed, cut anywhere', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyFrame, { maxLength: 25 }), changes, places, async (frames, list, at) => {
      await converse('h2', [settings(), ...cut(change(Buffer.concat(frames), list), at)]);
    }),
    { numRuns: 1500 },
  );
});

/** Each frame as text, up to the first fault. */
function readFrames(chunks: readonly Uint8Array[]): string[] {
  const seen: string[] = [];
  const see = (...parts: readonly unknown[]): void => void seen.push(parts.join(' '));
  const reader = new FrameReader({
    isOurs: () => true,
    data: (id, endsStream, flowBytes, bytes, start, end) =>
      see('DATA', id, endsStream, flowBytes, bytes.toString('hex', start, end)),
    headers: ({ streamId: id, endsStream, bytes, start, end }) =>
      see('HEADERS', id, endsStream, bytes.toString('hex', start, end)),
    reset: (id, code) => see('RST_STREAM', id, code),
    settings: (bytes, start, end) => see('SETTINGS', bytes.toString('hex', start, end)),
    ping: (bytes) => see('PING', bytes.join()),
    goaway: (id) => see('GOAWAY', id),
    windowUpdate: (id, increment) => see('WINDOW_UPDATE', id, increment),
  });
  try {
    for (const chunk of chunks) reader.read(Buffer.from(chunk));
  } catch (error) {
    assert.ok(error instanceof Http2Fault);
    see(error.message);
  }
  return seen;
}

test('HTTP/2: frames are the same however they are cut', () => {
  fc.assert(
    fc.property(
      fc.array(anyFrame, { maxLength: 20 }),
      fc.array(fc.nat(1000), { maxLength: 60 }),
      (frames, at) => {
        const whole = Buffer.concat([settings(), ...frames]);
        assert.deepEqual(readFrames(cut(whole, at)), readFrames([whole]));
      },
    ),
  );
});

const line = fc.constantFrom(
  'HTTP/1.1 201 Created\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.0 410 Gone\r\n',
  'content-length: 5\r\n',
  'content-length: 0\r\n',
  'transfer-encoding: chunked\r\n',
  'connection: close\r\n',
  'a: b\r\n',
  '\r\n',
  '5\r\nhello\r\n',
  '0\r\n\r\n',
  'hello',
);

test('HTTP/1.1: random lines and bytes, changed and cut anywhere', async () => {
  const text = fc.array(line, { maxLength: 12 }).map((lines) => Buffer.from(lines.join('')));
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(text, fc.uint8Array({ maxLength: 200 })),
      changes,
      places,
      async (bytes, list, at) => {
        await converse('http/1.1', cut(change(Buffer.from(bytes), list), at));
      },
    ),
    { numRuns: 2000 },
  );
});
