// Passwords of URLs, in whatever text they stand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { hidePasswords } from '../../src/errors/untrusted-text.ts';

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
