// Text made safe to print, and callbacks of the application that throw.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { guardCallback } from '../../src/errors/check-options.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { escapeControls, escapeProse, hidePasswords } from '../../src/errors/untrusted-text.ts';

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

// Passwords of URLs, in whatever text they stand.

test('a password is hidden, in a URL that is one and in one that is none', () => {
  for (const [text, shown] of [
    ['postgres://ada:secret@host:5432/push', 'postgres://ada:***@host:5432/push'],
    ['--database postgres://ada:secret@host/push, which', '--database postgres://ada:***@host/push, which'],
    ['"https://ada:secret@host/" is not', '"https://ada:***@host/" is not'],
    ['["https://ada:secret@a","https://ada:secret@b"]', '["https://ada:***@b"]'],
    ['https://ada:sec/ret@host', 'https://ada:***@host'],
    ['https://ada:sec@ret@host', 'https://ada:***@host'],
    [String.raw`https://ada:sec\"ret@host`, 'https://ada:***@host'],
    [String.raw`https:\\ada:secret@host`, String.raw`https:\\ada:***@host`],
    ['https://secret@host/x', 'https://***@host/x'],
    [
      'postgres:///push?host=/run&password=secret&user=ada',
      'postgres:///push?host=/run&password=***&user=ada',
    ],
    ['http://:secret@proxy:3128', 'http://:***@proxy:3128'],
  ] as const) {
    assert.equal(hidePasswords(text), shown);
    assert.equal(new DeskbellError('ERR_CONFIGURATION', text).message, shown);
  }
});

test('what holds none stays as it is', () => {
  for (const text of [
    'https://push.example.org/a:b?c=d',
    'mailto:push@example.org',
    'http://[user:password@]host:port',
    'ask ada@example.org about https://push.example.org:8443/',
    'a\n  b: c@d',
  ]) {
    assert.equal(hidePasswords(text), text);
  }
});

// Callbacks of the application that throw: a warning, and nothing else.

const warnings: string[] = [];
const collect = ({ message }: Error): void => void warnings.push(message);
process.on('warning', collect);
after(() => process.off('warning', collect));

test('what a callback throws is a warning, once; it is called on', async () => {
  warnings.length = 0;
  const told: number[] = [];
  const callback = guardCallback('onThing', (number: number) => {
    told.push(number);
    throw new Error(`no ${number}`);
  });
  for (const number of [1, 2, 3]) assert.equal(callback(number), undefined);
  await nextTurn();
  assert.deepEqual(told, [1, 2, 3]);
  assert.deepEqual(warnings, ['onThing threw an error, and its errors are ignored: Error: no 1']);
});

test('so is what it rejects with', async () => {
  warnings.length = 0;
  const callback = guardCallback('onThing', async () => Promise.reject(new Error('no')));
  assert.equal(callback(), undefined);
  await nextTurn();
  assert.deepEqual(warnings, ['onThing threw an error, and its errors are ignored: Error: no']);
});
