// The examples of RFC 8188 §3, and what a reader must refuse.
import assert from 'node:assert/strict';
import { createCipheriv, hkdfSync } from 'node:crypto';
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
    content: bytes(
      'uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA',
    ),
  },
] as const;

test('the example of one record is written byte for byte', () => {
  const { content, ...parameters } = examples[0];
  assert.deepEqual(Buffer.from(encodeAes128gcm(walrus, parameters)), content);
});

for (const { section, content, inputKeyingMaterial } of examples) {
  test(`the example of ${section} is read back`, () => {
    assert.deepEqual(Buffer.from(decodeAes128gcm(content, inputKeyingMaterial)), walrus);
  });
}

test('the header names salt, record size and key id', () => {
  const header = readAes128gcmHeader(examples[1].content);
  assert.equal(header.recordSizeBytes, 25);
  assert.equal(Buffer.from(header.keyId).toString(), 'a1');
  assert.deepEqual(Buffer.from(header.salt), examples[1].salt);
});

const { content: twoRecords, inputKeyingMaterial } = examples[1];
const headerBytes = 16 + 4 + 1 + 2;
const withRecordSize = (size: number): Buffer => {
  const changed = Buffer.from(twoRecords);
  changed.writeUInt32BE(size, 16);
  return changed;
};

const endsEarly = 'The content ends before its last record.';
const changed = 'A record was changed, or was encrypted for another key.';
const refused: readonly [what: string, content: Buffer, message: string][] = [
  ['nothing at all', Buffer.alloc(0), 'The content has 0 bytes, less than its header.'],
  ['a header cut short', twoRecords.subarray(0, 20), 'The content has 20 bytes, less than its header.'],
  ['a key id cut short', twoRecords.subarray(0, 22), 'The content has 22 bytes, less than its header.'],
  ['no records', twoRecords.subarray(0, headerBytes), endsEarly],
  ['the last record missing', twoRecords.subarray(0, headerBytes + 25), endsEarly],
  ['the last record cut short', twoRecords.subarray(0, -1), changed],
  [
    'a last record of less than delimiter and tag',
    twoRecords.subarray(0, headerBytes + 25 + 16),
    'A record of 16 bytes is too short.',
  ],
  [
    'records in another order',
    Buffer.concat([twoRecords.subarray(0, headerBytes), twoRecords.subarray(-25)]),
    changed,
  ],
  ['a record size that leaves no room', withRecordSize(17), 'The record size is 17; at least 18 is needed.'],
  ['a record size of zero', withRecordSize(0), 'The record size is 0; at least 18 is needed.'],
];

for (const [what, content, message] of refused) {
  test(`${what} is refused`, () => {
    assert.throws(() => decodeAes128gcm(content, inputKeyingMaterial), {
      code: 'ERR_DECRYPTION_FAILED',
      message,
    });
  });
}

test('any changed bit is refused', () => {
  const { content, inputKeyingMaterial: key } = examples[0];
  for (let at = 0; at < content.length; at += 1) {
    const flipped = Buffer.from(content);
    flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at);
    // The record size alone may differ: one record shorter than it is still the last one.
    if (at >= 16 && at < 20) continue;
    assert.throws(() => decodeAes128gcm(flipped, key), { code: 'ERR_DECRYPTION_FAILED' }, `byte ${at}`);
  }
});

/** A content whose records of 20 bytes hold what is given, delimiters included, sealed as RFC 8188 §2 says. */
function contentOf(records: readonly Buffer[]): Buffer {
  const { salt, inputKeyingMaterial: material } = examples[1];
  const derive = (info: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', material, salt, `Content-Encoding: ${info}\0`, length));
  const header = Buffer.alloc(5);
  header.writeUInt32BE(20);
  const sealed = records.map((record, sequence) => {
    const nonce = derive('nonce', 12);
    nonce.writeUInt8(nonce.readUInt8(11) ^ sequence, 11);
    const cipher = createCipheriv('aes-128-gcm', derive('aes128gcm', 16), nonce);
    return Buffer.concat([cipher.update(record), cipher.final(), cipher.getAuthTag()]);
  });
  return Buffer.concat([salt, header, ...sealed]);
}

const malformed: readonly [what: string, records: readonly string[], message: string][] = [
  ['a record follows the last one', ['abc\x02', 'de\x02'], 'Further bytes follow the last record.'],
  ['a record has no delimiter', ['\0\0\0\0'], 'A record has no delimiter.'],
  ['a record has another delimiter', ['abc\x03'], 'A record has no delimiter.'],
  ['the last record has the delimiter of the others', ['abc\x01'], endsEarly],
];
for (const [what, records, message] of malformed) {
  test(`a content is refused although its tags are right: ${what}`, () => {
    const content = contentOf(records.map((record) => Buffer.from(record, 'latin1')));
    assert.throws(() => decodeAes128gcm(content, inputKeyingMaterial), {
      code: 'ERR_DECRYPTION_FAILED',
      message,
    });
  });
}
