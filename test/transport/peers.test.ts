// The transport against other people's servers.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createSecureServer, type ServerHttp2Stream, type Settings } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { test } from 'node:test';
import * as fc from 'fast-check';

import { go, nghttpd, nginx, skipWithout } from '../../scripts/install-test-tools.ts';
import {
  certificate,
  respond,
  startGoServer,
  startHttp2,
  startNghttpd,
  startNginx,
  startServer,
} from './peers.ts';
import { pushBody, pushHeaders, tally, openPeer } from './sending.ts';

const noNginx = skipWithout('this test', [nginx]);
const noNghttpd = skipWithout('this test', [nghttpd]);
const noGo = skipWithout('this test', [go]);

test(
  'nginx says GOAWAY every 1000 requests: each of 6,000 messages is processed exactly once',
  { skip: noNginx },
  async () => {
    await using peer = openPeer(await startNginx('keepalive_requests 1000;'));
    const paths = Array.from({ length: 6000 }, (_, index) => `/wpush/v2/${index}`);
    const results = await peer.sendMany(paths.length, 1000, (index) => ({
      path: paths[index] as string,
    }));
    assert.deepEqual(tally(results), { 201: 6000 });
    assert.deepEqual(peer.requests().sort(), paths.sort());
  },
);

for (const [what, options] of [
  ['its defaults', []],
  ['padded answers', ['--padding=255']],
  ['trailers behind its answers', ['--trailer', 'x-end: yes']],
] as const) {
  test(`nghttpd with ${what} answers every message`, { skip: noNghttpd }, async () => {
    await using peer = openPeer(await startNghttpd(...options));
    const results = await peer.sendMany(1000, 200);
    assert.deepEqual(tally(results), { 404: 1000 });
    const [first] = results;
    assert.ok(first?.kind === 'response' && first.response.body.includes('404'));
  });
}

test('Go gets every body whole and unchanged, from 0 to 200,000 bytes', { skip: noGo }, async () => {
  await using peer = openPeer(await startGoServer());
  const sizes = [0, 1, 4095, 4096, 16_384, 16_385, 65_535, 65_536, 200_000];
  const bodies = Array.from({ length: 90 }, (_, index) => randomBytes(sizes[index % 9] as number));
  const results = await peer.sendMany(bodies.length, 30, (index) => ({
    path: `/wpush/${index}?a=%2B+`,
    body: bodies[index] as Buffer,
  }));
  for (const [index, result] of results.entries()) {
    assert.ok(result.kind === 'response', `message ${index}: ${JSON.stringify(result)}`);
    const { status, headers } = result.response;
    assert.equal(status, 201);
    assert.equal(headers['location'], `/wpush/${index}?a=%2B+`);
    assert.equal(headers['x-protocol'], 'HTTP/2.0');
    assert.equal(headers['x-ttl'], '2419200');
    assert.equal(
      headers['x-sha256'],
      createHash('sha256')
        .update(bodies[index] as Buffer)
        .digest('hex'),
    );
  }
});

const fieldValue = fc
  .string({
    unit: fc.constantFrom(...'abcXYZ019 -_=.,;:/~!#$%&*+?@^|<>()[]{}"\\`'),
    maxLength: 60,
  })
  .map((text) => text.trim());
const fieldSets = fc.sample(fc.dictionary(fc.stringMatching(/^x-[a-z]{1,3}$/), fieldValue, { maxKeys: 8 }), {
  numRuns: 60,
  seed: 7541,
});
const serverSettings: [what: string, settings: Settings][] = [
  ...[0, 64, 200, 500, 4096, 65_536].map((headerTableSize): [string, Settings] => [
    `a header table of ${headerTableSize} bytes`,
    { headerTableSize },
  ]),
  ['a stream window of 0', { initialWindowSize: 0 }],
  ['a stream window of 100 bytes', { initialWindowSize: 100 }],
  ['three streams at a time', { maxConcurrentStreams: 3 }],
];
for (const [what, settings] of serverSettings) {
  test(`a Node server with ${what} gets every header field and body, and its own fields are read`, async () => {
    const server = createSecureServer({ ...certificate, settings });
    server.on('session', (session) => {
      // With a window of 0 nothing moves until there is more.
      if (settings.initialWindowSize !== 0) return;
      setTimeout(() => session.settings({ initialWindowSize: 65_535 }), 50);
    });
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      let length = 0;
      stream.on('data', (chunk: Buffer) => (length += chunk.length));
      stream.on('end', () => {
        const own = Object.entries(headers).filter(([name]) => name.startsWith('x-'));
        respond(stream, 201, { ...Object.fromEntries(own), got: JSON.stringify([headers, length]) });
      });
    });
    await using peer = openPeer(await startServer(server, 'https'));
    const all = fieldSets.map((fields, index) => ({ ...(index % 2 === 0 && pushHeaders), ...fields }));
    const results = await peer.sendMany(600, 100, (index) => ({
      path: `/${index}`,
      headers: all[(index * 7) % 60]!,
      body: pushBody.subarray(0, index % 320),
    }));
    for (const [index, result] of results.entries()) {
      assert.ok(result.kind === 'response', JSON.stringify(result));
      const { got: sent, ...headers } = result.response.headers;
      const [got, length] = JSON.parse(sent!) as [Record<string, string>, number];
      assert.equal(length, index % 320);
      assert.deepEqual(got, {
        ':method': 'POST',
        ':scheme': 'https',
        ':authority': peer.origin.slice('https://'.length),
        ':path': `/${index}`,
        'content-length': String(index % 320),
        ...all[(index * 7) % 60],
      });
      const own = Object.entries(headers).filter(([name]) => name.startsWith('x-'));
      assert.deepEqual(Object.fromEntries(own), { ...fieldSets[(index * 7) % 60] });
    }
  });
}

test('a body of more than 4096 bytes is cut there and the session goes on', async () => {
  const server = await startHttp2((stream) => {
    stream.respond({ ':status': 400 });
    stream.end('ü'.repeat(50_000));
  });
  await using peer = openPeer(server);
  for (let round = 0; round < 40; round += 1) {
    const result = await peer.sendOne();
    assert.ok(result.kind === 'response');
    assert.equal(result.response.body, 'ü'.repeat(2048));
  }
});

test('a server without HTTP/2 is spoken to in HTTP/1.1 over TLS', async () => {
  const server = createHttpsServer(certificate, (request, response) => {
    request.resume().on('end', () => {
      response.writeHead(201, { 'x-version': request.httpVersion, location: request.url });
      response.end();
    });
  });
  await using peer = openPeer(await startServer(server, 'https'));
  const results = await peer.sendMany(500, 50, (index) => ({ path: `/${index}` }));
  for (const [index, result] of results.entries()) {
    assert.ok(result.kind === 'response');
    assert.equal(result.response.headers['x-version'], '1.1');
    assert.equal(result.response.headers['location'], `/${index}`);
  }
});
