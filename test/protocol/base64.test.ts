import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { decodeBase64, encodeBase64url } from '../../src/protocol/base64.ts';

const refused: readonly [string, string][] = [
  ['a space', 'QUJD QUJD'],
  ['a leading space', ' QUJD'],
  ['a trailing line break', 'QUJD\n'],
  ['a line break inside', 'QUJD\r\nQUJD'],
  ['a tab', 'QUJD\t'],
  ['mixed alphabets', '-+-+'],
  ['one character', 'Q'],
  ['length mod 4 = 1', 'QUJDQ'],
  ['padding that makes no multiple of 4', 'QUI=='],
  ['too little padding', 'QQ='],
  ['three padding characters', 'Q==='],
  ['padding alone', '='],
  ['padding alone, twice', '=='],
  ['padding inside', 'QQ==QUJD'],
  ['padding behind full groups', 'QUJD===='],
  ['an asterisk', 'QUJ*'],
  ['a full stop', 'QUJ.'],
  ['a percent-encoded slash', 'QUJD%2F'],
  ['a letter beyond ASCII', 'QUJÄ'],
  ['a zero byte', 'QUJD\0'],
];
for (const [what, text] of refused) {
  test(`${what} is refused`, () => assert.equal(decodeBase64(text), undefined));
}

test('nothing is no bytes', () => assert.deepEqual(decodeBase64(''), new Uint8Array(0)));

test('any bytes come back from both alphabets, padded or not', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const standard = Buffer.from(bytes).toString('base64');
      const urlSafe = encodeBase64url(bytes);
      const texts = [
        standard,
        standard.replaceAll('=', ''),
        urlSafe,
        urlSafe.padEnd(Math.ceil(urlSafe.length / 4) * 4, '='),
      ];
      for (const text of texts) assert.deepEqual(decodeBase64(text), bytes);
    }),
  );
});

test('a view into a larger buffer is written alone', () => {
  assert.equal(encodeBase64url(Buffer.from('xABCx').subarray(1, 4)), 'QUJD');
});
