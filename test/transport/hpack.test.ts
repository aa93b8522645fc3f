// HPACK and its Huffman code: the RFC's own examples, and what Node's server says and understands.
import assert from 'node:assert/strict';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { test } from 'node:test';
import * as fc from 'fast-check';

import { createTransport } from '../../src/transport/create-transport.ts';
import { HpackDecoder } from '../../src/transport/http2/hpack-decoder.ts';
import { HpackEncoder } from '../../src/transport/http2/hpack-encoder.ts';
import { decodeHuffman } from '../../src/transport/http2/huffman.ts';
import { certificate, serverTls, startServer } from './peers.ts';
import { pushHeaders, sendMany } from './sending.ts';

const huffman = (hex: string): string | undefined => {
  const bytes = Buffer.from(hex, 'hex');
  return decodeHuffman(bytes, 0, bytes.length);
};

test('Huffman: the strings of RFC 7541 appendix C', () => {
  for (const [hex, text] of [
    ['f1e3c2e5f23a6ba0ab90f4ff', 'www.example.com'],
    ['a8eb10649cbf', 'no-cache'],
    ['25a849e95ba97d7f', 'custom-key'],
    ['25a849e95bb8e8b4bf', 'custom-value'],
    ['6402', '302'],
    ['640eff', '307'],
    ['aec3771a4b', 'private'],
    ['d07abe941054d444a8200595040b8166e082a62d1bff', 'Mon, 21 Oct 2013 20:13:21 GMT'],
    ['9d29ad171863c78f0b97c8e9ae82ae43d3', 'https://www.example.com'],
    [
      '94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
      'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
    ],
  ] as const) {
    assert.equal(huffman(hex), text);
  }
});

test('Huffman: long codes of RFC 7541 appendix B, and what ends wrongly', () => {
  // 19 bits of `\`, 28 of 249, 30 of LF, filled up with ones.
  assert.equal(huffman('fffe1f'), '\\');
  assert.equal(huffman('ffffffef'), '\u00f9');
  assert.equal(huffman('fffffff3'), '\n');
  assert.equal(huffman(''), '');
  for (const hex of ['ff', '1fff', '00', 'fffffffff0', 'fffffffc'])
    assert.equal(huffman(hex), undefined, hex);
});

test('a static field, a literal with an indexed name, and a name that comes twice', () => {
  const block = Buffer.from('890f0d013040017804616263640001780161', 'hex');
  const decoder = new HpackDecoder();
  for (let round = 0; round < 2; round += 1) {
    const { status, headers, fault } = decoder.decode(
      Buffer.concat([Buffer.alloc(7), block]),
      7,
      7 + block.length,
    );
    assert.deepEqual(
      { status, fault, ...headers },
      { status: 204, fault: undefined, 'content-length': '0', x: 'abcd, a' },
    );
  }
});

/** A block with status 200 and literal fields. */
const encodeFields = (fields: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat([
    Buffer.from([0x88]),
    ...fields.map(([name, value]) =>
      Buffer.concat([
        Buffer.from([0, name.length]),
        Buffer.from(name),
        Buffer.from([value.length]),
        Buffer.from(value),
      ]),
    ),
  ]);

test('what was remembered of the last block changes nothing in the next', () => {
  const literal = fc.tuple(
    fc.constantFrom('a', 'server', 'x-y'),
    fc.constantFrom('', '1', 'nginx', 'nginx/1', 'x'),
  );
  fc.assert(
    fc.property(fc.array(fc.array(literal, { maxLength: 5 }), { maxLength: 12 }), (blocks) => {
      const decoder = new HpackDecoder();
      for (const fields of blocks) {
        const block = encodeFields(fields);
        const known = decoder.decode(block, 0, block.length);
        const fresh = new HpackDecoder().decode(block, 0, block.length);
        assert.deepEqual(known, fresh);
      }
    }),
  );
});

test('shared fields cost a byte each from the second block on, until a table of another size begins anew', () => {
  const encoder = new HpackEncoder('push.example.org');
  const size = (): number => {
    const { pseudo, fields } = encoder.encode(pushHeaders);
    return pseudo.length + fields.length;
  };
  assert.ok(size() > 400);
  assert.equal(size(), 3 + 5);
  assert.equal(size(), 3 + 5);
  encoder.resize(4096);
  assert.equal(size(), 3 + 5);
  encoder.resize(0);
  const plain = size();
  assert.ok(plain > 400);
  assert.equal(size(), plain - 2, 'the two size updates come once');
  encoder.resize(65_536);
  assert.ok(size() > 400);
  assert.equal(size(), 3 + 5);
});

test("Node's server understands what we write, and we what it writes, whatever the fields and the table's size", async () => {
  const value = fc.string({
    unit: fc.constantFrom(...'abcXYZ019 -_=.,;:/~!#$%&*+?@^|<>()[]{}"\\`'),
    maxLength: 60,
  });
  const fields = fc.dictionary(
    fc.stringMatching(/^x-[a-z]{1,3}$/),
    value.map((text) => text.trim()),
    { maxKeys: 8 },
  );
  const requests = fc.sample(fields, { numRuns: 60, seed: 7541 });
  for (const headerTableSize of [0, 64, 500, 4096, 65_536]) {
    const server = createSecureServer({ ...serverTls, settings: { headerTableSize } });
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      const own = Object.entries(headers).filter(([name]) => name.startsWith('x-'));
      stream.respond({ ':status': 201, ...Object.fromEntries(own) });
      stream.end();
    });
    const peer = await startServer(server, 'https');
    const transport = createTransport({ pushServices: [peer.origin], ca: [certificate.cert] });
    const results = await sendMany(transport, 600, 40, (index) => ({
      origin: peer.origin,
      path: `/${index}`,
      headers: requests[(index * 7) % 60] as Record<string, string>,
      body: new Uint8Array(0),
    }));
    for (const [index, result] of results.entries()) {
      assert.ok(result.kind === 'response', JSON.stringify(result));
      const own = Object.entries(result.response.headers).filter(([name]) => name.startsWith('x-'));
      assert.deepEqual(Object.fromEntries(own), { ...requests[(index * 7) % 60] });
    }
    await transport.close();
    await peer.close();
  }
});
