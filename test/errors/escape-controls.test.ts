// Text of strangers made safe to print: by ranges of code points that are written out here, not by what the code uses.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { escapeControls, escapeProse } from '../../src/errors/untrusted-text.ts';

/** Code points from the first to the last. */
const ranges: Readonly<Record<string, readonly [first: number, last: number]>> = {
  'C0 controls': [0x00, 0x1f],
  'DEL and C1 controls': [0x7f, 0x9f],
  'the soft hyphen': [0xad, 0xad],
  'the Arabic letter mark': [0x61c, 0x61c],
  'zero width characters and direction marks': [0x200b, 0x200f],
  'line and paragraph separators, bidirectional embeddings': [0x2028, 0x202e],
  'word joiner and invisible operators': [0x2060, 0x2064],
  'bidirectional isolates': [0x2066, 0x206f],
  'the byte order mark': [0xfeff, 0xfeff],
  'interlinear annotations': [0xfff9, 0xfffb],
  tags: [0xe0020, 0xe007f],
};

describe('escapeControls', () => {
  for (const [what, [first, last]] of Object.entries(ranges)) {
    test(`escapes ${what}, and JSON text keeps its meaning`, () => {
      for (let code = first; code <= last; code += 1) {
        const character = String.fromCodePoint(code);
        const escaped = escapeControls(`a${character}b`);
        assert.match(escaped, /^a(?:\\u[0-9a-f]{4}){1,2}b$/);
        assert.equal(JSON.parse(`"${escaped}"`), `a${character}b`);
      }
    });
  }

  test('escapes each half of a surrogate pair that stands alone', () => {
    assert.equal(escapeControls('\ud83d-\udd14'), String.raw`\ud83d-\udd14`);
  });

  test('leaves text that people read as it is', () => {
    const text = 'GET /api/get "Zoë 🔔" 日本語 العربية עברית é $¢ \\ ~';
    assert.equal(escapeControls(text), text);
  });
});

describe('escapeProse', () => {
  test('escapes controls and what turns further text around', () => {
    for (const [first, last] of [
      [0x00, 0x08],
      [0x0b, 0x1f],
      [0x7f, 0x9f],
      [0x2028, 0x202e],
      [0x2066, 0x2069],
    ] as const) {
      for (let code = first; code <= last; code += 1)
        assert.match(escapeProse(`a${String.fromCodePoint(code)}b`), /^a\\u[0-9a-f]{4}b$/, code.toString(16));
    }
    assert.equal(escapeProse('\ud83d-'), String.raw`\ud83d-`);
  });

  test('leaves line breaks, joiners and marks of direction as they are', () => {
    const text = 'two\nlines,\ta family 👨‍👩‍👧, می‌خواهم, \u200f!';
    assert.equal(escapeProse(text), text);
  });
});
