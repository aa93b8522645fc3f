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
  const { content, inputKeyingMaterial: key } = examples[0];
  for (let at = 0; at < content.length; at += 1) {
    const changed = Buffer.from(content);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    // The record size alone may differ: one record shorter than it is still the last one.
    if (at >= 16 && at < 20) continue;
    assert.throws(() => decodeAes128gcm(changed, key), { code: 'ERR_DECRYPTION_FAILED' }, `byte ${at}`);
  }
});

/** A content whose records hold what is given, delimiters included, sealed as RFC 8188 §2 says. */
function contentOf(records: readonly Buffer[], recordSizeBytes: number): Buffer {
  const { salt, inputKeyingMaterial: material } = examples[1];
  const derive = (info: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', material, salt, `Content-Encoding: ${info}\0`, length));
  const header = Buffer.alloc(5);
  header.writeUInt32BE(recordSizeBytes);
  const sealed = records.map((record, sequence) => {
    const nonce = derive('nonce', 12);
    nonce.writeUInt8(nonce.readUInt8(11) ^ sequence, 11);
    const cipher = createCipheriv('aes-128-gcm', derive('aes128gcm', 16), nonce);
    return Buffer.concat([cipher.update(record), cipher.final(), cipher.getAuthTag()]);
  });
  return Buffer.concat([salt, header, ...sealed]);
}

test('records that are sealed as they should be are read', () => {
  const content = contentOf([Buffer.from('abc\x01'), Buffer.from('de\x02\0')], 20);
  assert.equal(String(Buffer.from(decodeAes128gcm(content, inputKeyingMaterial))), 'abcde');
});

const malformed: readonly [string, readonly string[], number, RegExp][] = [
  ['a record follows the last one', ['abc\x02', 'de\x02'], 20, /^Further bytes follow the last record/],
  ['a record has no delimiter', ['\0\0\0\0'], 20, /^A record has no delimiter/],
  ['a record has another delimiter', ['abc\x03'], 20, /^A record has no delimiter/],
  [
    'the last record has the delimiter of the others',
    ['abc\x01'],
    20,
    /^The content ends before its last record/,
  ],
];
for (const [what, records, recordSizeBytes, message] of malformed) {
  test(`a content is refused although its tags are right: ${what}`, () => {
    const content = contentOf(
      records.map((record) => Buffer.from(record, 'latin1')),
      recordSizeBytes,
    );
    assert.throws(() => decodeAes128gcm(content, inputKeyingMaterial), {
      code: 'ERR_DECRYPTION_FAILED',
      message,
    });
  });
}

test('a record that is too short for a tag is refused', () => {
  const content = Buffer.concat([contentOf([], 20), Buffer.alloc(16)]);
  assert.throws(() => decodeAes128gcm(content, inputKeyingMaterial), {
    message: 'A record of 16 bytes is too short.',
  });
});

test('an empty content is one record', () => {
  const parameters = examples[0];
  const empty = encodeAes128gcm(Buffer.alloc(0), parameters);
  assert.equal(empty.length, 21 + 1 + 16);
  assert.equal(decodeAes128gcm(empty, parameters.inputKeyingMaterial).length, 0);
});
