// HPACK and its Huffman code: the RFC's own examples, and whatever another encoder writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FrameWriter } from '../../src/transport/http2/frame-writer.ts';
import { decodeHuffman, HpackDecoder } from '../../src/transport/http2/hpack-decoder.ts';
import { HpackEncoder, staticTable } from '../../src/transport/http2/hpack-encoder.ts';
import { Http2Fault } from '../../src/transport/http2/protocol.ts';
import { pushHeaders } from './sending.ts';

const huffman = (hex: string): string | undefined => {
  const bytes = Buffer.from(hex, 'hex');
  return decodeHuffman(bytes, 0, bytes.length);
};

test('Huffman: long codes of RFC 7541 appendix B, and what ends wrongly', () => {
  // 19 bits of `\`, 28 of 249, 30 of LF, filled up with ones.
  assert.equal(huffman('fffe1f'), '\\');
  assert.equal(huffman('ffffffef'), '\u00f9');
  assert.equal(huffman('fffffff3'), '\n');
  assert.equal(huffman(''), '');
  for (const hex of ['ff', '1fff', '00', 'fffffffff0', 'fffffffc'])
    assert.equal(huffman(hex), undefined, hex);
});

/** RFC 7541 appendix C.5 and C.6: three answers over one table of 256 bytes, without and with Huffman code. */
const appendixC = [
  [
    'C.5',
    [
      '4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d',
      '4803333037c1c0bf',
      '88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31',
    ],
  ],
  [
    'C.6',
    [
      '488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3',
      '4883640effc1c0bf',
      '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
    ],
  ],
] as const;

/** A block with status 200 and the entry of the dynamic table that is so old. */
const ofAge = (age: number): Buffer => Buffer.from([0x88, 0x80 | (62 + age)]);

for (const [section, blocks] of appendixC) {
  test(`the dynamic table: the answers of RFC 7541 appendix ${section}, entries evicted`, () => {
    const decoder = new HpackDecoder(256);
    const decode = (hex: string): Record<string, unknown> => {
      const block = Buffer.from(hex, 'hex');
      const { status, headers, fault } = decoder.decode(block, 0, block.length);
      assert.equal(fault, undefined);
      return { status, ...headers };
    };
    const shared = {
      'cache-control': 'private',
      date: 'Mon, 21 Oct 2013 20:13:21 GMT',
      location: 'https://www.example.com',
    };
    assert.deepEqual(blocks.slice(0, 2).map(decode), [
      { status: 302, ...shared },
      { status: 307, ...shared },
    ]);
    assert.deepEqual(decode(blocks[2]), {
      status: 200,
      ...shared,
      date: 'Mon, 21 Oct 2013 20:13:22 GMT',
      'content-encoding': 'gzip',
      'set-cookie': 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
    });
    // The table of C.5.3 holds three entries; the fourth is gone.
    assert.equal(decoder.decode(ofAge(2), 0, 2).headers['date'], 'Mon, 21 Oct 2013 20:13:22 GMT');
    assert.throws(() => decoder.decode(ofAge(3), 0, 2), Http2Fault);
  });
}

// An HPACK encoder for tests (RFC 7541), written to be compared with and not to be fast: it uses every representation,
// in whatever order a test asks for, and keeps the dynamic table as a plain list.
type Entry = readonly [name: string, value: string];

/** How one field is to be written. */
type FieldChoice =
  /** An entry of one of the tables; `pick` selects it. */
  | { readonly kind: 'indexed'; readonly pick: number }
  /** A literal; with `namePick` its name is that of an entry. */
  | {
      readonly kind: 'inserted' | 'not inserted' | 'never inserted';
      readonly namePick?: number;
      readonly name: string;
      readonly value: string;
    };

const patterns = { inserted: [0x40, 6], 'not inserted': [0x00, 4], 'never inserted': [0x10, 4] } as const;

class ModelEncoder {
  /** The newest first. */
  #table: Entry[] = [];
  #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** A block with `:status: 200` and the fields, and what a reader should make of them. */
  block(choices: readonly FieldChoice[], tableBytes?: number): { bytes: Buffer; fields: Entry[] } {
    const bytes: number[] = [];
    if (tableBytes !== undefined) {
      this.#maxBytes = tableBytes;
      this.#evict();
      bytes.push(...integer(0x20, 5, tableBytes));
    }
    bytes.push(0x88);
    const fields = choices.map((choice) => this.#field(bytes, choice));
    return { bytes: Buffer.from(bytes), fields };
  }

  #field(bytes: number[], choice: FieldChoice): Entry {
    if (choice.kind === 'indexed') {
      const [index, entry] = this.#pick(choice.pick);
      bytes.push(...integer(0x80, 7, index));
      return entry;
    }
    const [pattern, prefixBits] = patterns[choice.kind];
    const [index, [name]] = choice.namePick === undefined ? [0, [choice.name]] : this.#pick(choice.namePick);
    bytes.push(...integer(pattern, prefixBits, index));
    if (index === 0) bytes.push(...string(name));
    bytes.push(...string(choice.value));
    const entry: Entry = [name, choice.value];
    if (choice.kind === 'inserted') {
      this.#table.unshift(entry);
      this.#evict();
    }
    return entry;
  }

  /** Pseudo-header fields and fields that HTTP/2 does not have are left out. */
  #pick(pick: number): [index: number, entry: Entry] {
    const entries = [...staticTable, ...this.#table];
    const legal = entries.flatMap((entry, at): [number, Entry][] =>
      entry[0].startsWith(':') || entry[0] === 'transfer-encoding' ? [] : [[at + 1, entry]],
    );
    // From the end, so that small picks select entries of the dynamic table.
    return legal[legal.length - 1 - (pick % legal.length)] as [number, Entry];
  }

  #evict(): void {
    const size = (): number =>
      this.#table.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
    while (size() > this.#maxBytes) this.#table.pop();
  }
}

/** RFC 7541 §5.1. */
function integer(pattern: number, prefixBits: number, value: number): number[] {
  const mask = 2 ** prefixBits - 1;
  if (value < mask) return [pattern | value];
  const bytes = [pattern | mask];
  let rest = value - mask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

function string(text: string): number[] {
  return [...integer(0, 7, text.length), ...Buffer.from(text, 'latin1')];
}

const fieldValue = fc.oneof(fc.constantFrom('', '1', 'nginx', 'x'), fc.stringMatching(/^[!-~]{0,300}$/));
const literal = fc.record(
  {
    kind: fc.constantFrom('inserted', 'inserted', 'not inserted', 'never inserted'),
    namePick: fc.nat(120),
    name: fc.constantFrom('a', 'server', 'x-y'),
    value: fieldValue,
  },
  { requiredKeys: ['kind', 'name', 'value'] },
);
const choice: fc.Arbitrary<FieldChoice> = fc.oneof(
  literal,
  fc.record({ kind: fc.constant('indexed'), pick: fc.nat(120) }),
);
const blockChoice = fc.tuple(
  fc.array(choice, { maxLength: 6 }),
  fc.option(fc.nat(4096), { nil: undefined, freq: 6 }),
);

test('whatever an encoder writes is read as it was meant, with tables of every size', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(blockChoice, fc.integer({ min: 1, max: 3 })), { maxLength: 30 }),
      (blocks) => {
        const encoder = new ModelEncoder(4096);
        const decoder = new HpackDecoder();
        for (const [[choices, tableBytes], times] of blocks) {
          // The same choices again: answers repeat, and the reader remembers the last one.
          for (let time = 0; time < times; time += 1) {
            const { bytes, fields } = encoder.block(choices, time === 0 ? tableBytes : undefined);
            const expected: Record<string, string> = {};
            for (const [name, text] of fields) {
              expected[name] = expected[name] === undefined ? text : `${expected[name]}, ${text}`;
            }
            const { status, headers, fault } = decoder.decode(bytes, 0, bytes.length);
            assert.deepEqual({ status, fault, ...headers }, { status: 200, fault: undefined, ...expected });
          }
        }
      },
    ),
    { numRuns: 500 },
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

/** Writes a PING of one byte repeated, and takes it. */
function takePing(writer: FrameWriter, byte: number): { readonly bytes: Buffer; readonly done: () => void } {
  writer.acknowledgePing(Buffer.alloc(8, byte));
  let taken: ReturnType<typeof takePing> | undefined;
  writer.take((bytes, done) => (taken = { bytes, done }));
  assert.ok(taken);
  return taken;
}

test('what the socket still reads stays as it is, however much is written meanwhile', () => {
  const writer = new FrameWriter('push.example.org');
  const pings = Array.from({ length: 10_000 }, (_, index) => takePing(writer, index % 256));
  // Those in the middle are done with.
  for (const { done } of pings.slice(100, 9900)) done();
  const later = Array.from({ length: 10_000 }, () => takePing(writer, 0xff));
  for (const [index, { bytes }] of [...pings.slice(0, 100), ...pings.slice(9900)].entries()) {
    const place = index < 100 ? index : 9800 + index;
    assert.deepEqual(bytes.subarray(-8), Buffer.alloc(8, place % 256), `PING ${place}`);
  }
  assert.equal(later.length, 10_000);
});

test('what is written in time needs one slab', () => {
  const writer = new FrameWriter('push.example.org');
  const slabs = new Set<ArrayBufferLike>();
  for (let index = 0; index < 10_000; index += 1) {
    const { bytes, done } = takePing(writer, index % 256);
    slabs.add(bytes.buffer);
    done();
  }
  assert.equal(slabs.size, 1);
});
