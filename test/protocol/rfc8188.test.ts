// The examples of RFC 8188 §3, and what a reader must refuse.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decodeAes128gcm, encodeAes128gcm, readAes128gcmHeader } from '../../src/protocol/aes128gcm.ts';

const bytes = (base64url: string): Buffer => Buffer.from(base64url, 'base64url');
const walrus = Buffer.from('I am the walrus');

const examples = [
  {
    section: '§3.1, one record',
    inputKeyingMaterial: bytes('yqdlZ-tYemfogSmv7Ws5PQ'),
    salt: bytes('I1BsxtFttlv3u_Oo94xnmw'),
    recordSizeBytes: 4096,
    keyId: Buffer.alloc(0),
    paddingBytes: 0,
    content: bytes('I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg'),
  },
  {
    section: '§3.2, two records with one byte of padding in the first',
    inputKeyingMaterial: bytes('BO3ZVPxUlnLORbVGMpbT1Q'),
    salt: bytes('uNCkWiNYzKTnBN9ji3-qWA'),
    recordSizeBytes: 25,
    keyId: Buffer.from('a1'),
    paddingBytes: 1,
    content: bytes(
      'uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA',
    ),
  },
];

for (const { section, content, ...parameters } of examples) {
  test(`the example of ${section} is written byte for byte`, () => {
    assert.deepEqual(Buffer.from(encodeAes128gcm(walrus, parameters)), content);
  });

  test(`the example of ${section} is read back`, () => {
    assert.deepEqual(Buffer.from(decodeAes128gcm(content, parameters.inputKeyingMaterial)), walrus);
  });
}

test('the header names salt, record size and key id', () => {
  const header = readAes128gcmHeader(examples[1]!.content);
  assert.equal(header.recordSizeBytes, 25);
  assert.equal(Buffer.from(header.keyId).toString(), 'a1');
  assert.deepEqual(Buffer.from(header.salt), examples[1]!.salt);
});

const { content: twoRecords, inputKeyingMaterial } = examples[1]!;
const headerBytes = 16 + 4 + 1 + 2;
const withRecordSize = (size: number): Buffer => {
  const changed = Buffer.from(twoRecords);
  changed.writeUInt32BE(size, 16);
  return changed;
};

const refused: readonly [string, Buffer][] = [
  ['nothing at all', Buffer.alloc(0)],
  ['a header cut short', twoRecords.subarray(0, 20)],
  ['a key id cut short', twoRecords.subarray(0, 22)],
  ['no records', twoRecords.subarray(0, headerBytes)],
  ['the last record missing', twoRecords.subarray(0, headerBytes + 25)],
  ['the last record cut short', twoRecords.subarray(0, -1)],
  ['a last record of less than delimiter and tag', twoRecords.subarray(0, headerBytes + 25 + 16)],
  ['something behind the last record', Buffer.concat([twoRecords, twoRecords.subarray(-25)])],
  [
    'records in another order',
    Buffer.concat([twoRecords.subarray(0, headerBytes), twoRecords.subarray(-25)]),
  ],
  ['a record size that leaves no room', withRecordSize(17)],
  ['a record size of zero', withRecordSize(0)],
];

for (const [what, content] of refused) {
  test(`${what} is refused`, () => {
    assert.throws(() => decodeAes128gcm(content, inputKeyingMaterial), { code: 'ERR_DECRYPTION_FAILED' });
  });
}

test('any changed bit is refused', () => {
  const { content, inputKeyingMaterial: key } = examples[0]!;
  for (let at = 0; at < content.length; at += 1) {
    const changed = Buffer.from(content);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    // The record size alone may differ: one record shorter than it is still the last one.
    if (at >= 16 && at < 20) continue;
    assert.throws(() => decodeAes128gcm(changed, key), { code: 'ERR_DECRYPTION_FAILED' }, `byte ${at}`);
  }
});

const outOfBounds: readonly [string, string, object][] = [
  ['salt', '15 bytes', { salt: Buffer.alloc(15) }],
  ['recordSizeBytes', '17', { recordSizeBytes: 17 }],
  ['recordSizeBytes', 'a fraction', { recordSizeBytes: 25.5 }],
  ['recordSizeBytes', '2^32', { recordSizeBytes: 2 ** 32 }],
  ['recordSizeBytes', 'NaN', { recordSizeBytes: Number.NaN }],
  ['The length of keyId', '256', { keyId: Buffer.alloc(256) }],
  ['paddingBytes', '-1', { paddingBytes: -1 }],
  ['paddingBytes', 'a fraction', { paddingBytes: 1.5 }],
];
for (const [name, what, parameter] of outOfBounds) {
  test(`a parameter out of its bounds is refused: ${name}, ${what}`, () => {
    assert.throws(() => encodeAes128gcm(walrus, { ...examples[0]!, ...parameter }), {
      code: 'ERR_MESSAGE_INVALID',
      message: new RegExp(`^${name} `),
    });
  });
}

test('an empty content is one record', () => {
  const parameters = examples[0]!;
  const empty = encodeAes128gcm(Buffer.alloc(0), parameters);
  assert.equal(empty.length, 21 + 1 + 16);
  assert.equal(decodeAes128gcm(empty, parameters.inputKeyingMaterial).length, 0);
});
