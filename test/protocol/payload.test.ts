import assert from 'node:assert/strict';
import { test } from 'node:test';

import { encodePayload, type Message } from '../../src/protocol/payload.ts';

const textOf = (message: Message): string => Buffer.from(encodePayload(message)).toString();

test('the payload is the JSON text of title and message in UTF-8', () => {
  assert.equal(textOf({ title: 'Grüße', message: '🔔 "neu"' }), '{"title":"Grüße","message":"🔔 \\"neu\\""}');
});

test('title and message come first, further members only when they are given', () => {
  assert.equal(textOf({ tag: 'x', message: 'm', title: 't' }), '{"title":"t","message":"m","tag":"x"}');
});

test('empty strings are strings', () =>
  assert.equal(textOf({ title: '', message: '' }), '{"title":"","message":""}'));

test('3993 bytes fit, one more does not, and bytes are counted, not characters', () => {
  const frame = Buffer.byteLength('{"title":"","message":""}');
  assert.equal(encodePayload({ title: '', message: 'x'.repeat(3993 - frame) }).length, 3993);
  assert.throws(() => encodePayload({ title: '', message: 'x'.repeat(3994 - frame) }), {
    code: 'ERR_PAYLOAD_TOO_LARGE',
    message: /3994 bytes.*3993/,
  });
  assert.throws(() => encodePayload({ title: '', message: 'ü'.repeat(2000) }), {
    code: 'ERR_PAYLOAD_TOO_LARGE',
  });
});

const circular: Record<string, unknown> = { title: 't', message: 'm' };
circular['self'] = circular;
const refused: readonly [string, unknown][] = [
  ['no object', 'text'],
  ['null', null],
  ['undefined', undefined],
  ['no title', { message: 'm' }],
  ['no message', { title: 't' }],
  ['a title that is a number', { title: 1, message: 'm' }],
  ['a message that is null', { title: 't', message: null }],
  ['a further member that is a bigint', { title: 't', message: 'm', count: 1n }],
  ['a further member that contains itself', circular],
];
for (const [what, message] of refused) {
  test(`a message is refused: ${what}`, () => {
    assert.throws(() => encodePayload(message as Message), { code: 'ERR_MESSAGE_INVALID' });
  });
}
