import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { encodePayload } from '../../../src/protocol/message/encode-payload.ts';
import type { Message } from '../../../src/protocol/message/message.ts';
import {
  createReceiptPayloads,
  createReceiptTokenReader,
  createReceiptTokens,
  receiptKeyBytes,
  receiptMemberBytes,
  receiptTokenPattern,
} from '../../../src/protocol/message/receipt-token.ts';

const createId = (): string => 'an-id';
const textOf = (message: Message): string => Buffer.from(encodePayload(message, createId)).toString();

const plain = { title: 't', message: 'm' };
for (const [what, message, text] of [
  ['is JSON in UTF-8', { title: 'Grüße', message: '🔔 "neu"' }, '{"title":"Grüße","message":"🔔 \\"neu\\""}'],
  ['may have empty strings', { title: '', message: '' }, '{"title":"","message":""}'],
  [
    'begins with title and message',
    { tag: 'x', message: 'm', title: 't' },
    '{"title":"t","message":"m","tag":"x"}',
  ],
  [
    'has no member that is not given',
    { ...plain, url: undefined, tag: undefined, actions: undefined, declarative: false },
    '{"title":"t","message":"m"}',
  ],
  [
    'has a tag of its own for tag: null',
    { ...plain, tag: null },
    '{"title":"t","message":"m","tag":"an-id"}',
  ],
  [
    'has an ID where it may alert again',
    { ...plain, tag: 'x', renotify: true },
    '{"title":"t","message":"m","tag":"x","renotify":true,"id":"an-id"}',
  ],
  [
    'has none where it may not',
    { ...plain, renotify: false },
    '{"title":"t","message":"m","renotify":false}',
  ],
  [
    'has names of actions, by default their places',
    {
      ...plain,
      actions: [
        { title: 'Open', url: '/7' },
        { title: 'Mute', action: 'mute' },
      ],
    },
    '{"title":"t","message":"m","actions":[{"title":"Open","url":"/7","action":"0"},{"title":"Mute","action":"mute"}]}',
  ],
] as const satisfies readonly (readonly [string, Message, string])[])
  test(`the payload ${what}`, () => assert.equal(textOf(message), text));

test('each message with tag: null has another tag', () =>
  assert.notDeepEqual(encodePayload({ ...plain, tag: null }), encodePayload({ ...plain, tag: null })));

test('the declarative form has everything a browser needs, and title and message beside it', () => {
  const message: Message = {
    title: 't',
    message: 'm',
    declarative: true,
    mutable: true,
    url: 'https://example.org/7',
    actions: [{ title: 'Open' }, { title: 'Bill', url: 'https://example.org/bill' }],
    renotify: true,
    appBadge: 3,
    lang: 'de',
    data: { order: 7 },
  };
  assert.deepEqual(JSON.parse(textOf(message)), {
    title: 't',
    message: 'm',
    id: 'an-id',
    web_push: 8030,
    notification: {
      title: 't',
      body: 'm',
      navigate: 'https://example.org/7',
      actions: [
        { title: 'Open', action: '0', navigate: 'https://example.org/7' },
        { title: 'Bill', action: '1', navigate: 'https://example.org/bill' },
      ],
      tag: 'deskbell',
      renotify: true,
      requireInteraction: true,
      lang: 'de',
      data: { order: 7 },
    },
    app_badge: 3,
    mutable: true,
  });
});

test('the declarative form has the tag and the stay that the message asks for', () => {
  const own = {
    title: 't',
    message: 'm',
    declarative: true,
    url: 'https://e.org/',
    tag: null,
    requireInteraction: false,
  };
  const { notification } = JSON.parse(textOf(own));
  assert.equal(notification.tag, 'an-id');
  assert.equal(notification.requireInteraction, false);
});

const link = 'https://example.org/';
const notDeclarative: readonly [string, object][] = [
  ['url of the message is missing', {}],
  ['url of the message is relative', { url: '/7' }],
  ['icon of the message is relative', { url: link, icon: 'icon.png' }],
  [
    'actions[1].url of the message is relative',
    {
      url: link,
      actions: [
        { title: 'a', url: link },
        { title: 'b', url: '/7' },
      ],
    },
  ],
  ['actions[0].icon of the message is relative', { url: link, actions: [{ title: 'a', icon: 'a.png' }] }],
  ['title of the message is empty', { url: link, title: '' }],
  ['declarative of the message is missing', { declarative: undefined, mutable: true }],
];
for (const [fault, members] of notDeclarative) {
  test(`no declarative form: ${fault}`, () => {
    assert.throws(
      () => encodePayload({ title: 't', message: 'm', declarative: true, ...members }),
      (error: Error) => error.message.includes(fault),
    );
  });
}

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

test('the error of a payload that is too large says how large each member is, the largest first', () => {
  assert.throws(() => encodePayload({ title: 'ü', message: 'm', data: { text: 'x'.repeat(4000) } }), {
    message: /Shorten data \(4011 bytes\), title \(4\), message \(3\)\.$/,
  });
});

const key = randomBytes(receiptKeyBytes);
const createToken = createReceiptTokens(key);
const read = createReceiptTokenReader(key);
const id = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const subject = fc.tuple(id, id).map(([broadcastId, subscriptionId]) => ({ broadcastId, subscriptionId }));

test('a token is read as what it was made for, whatever the ids', () => {
  fc.assert(
    fc.property(subject, (given) => {
      const token = createToken(given);
      assert.match(token, new RegExp(receiptTokenPattern));
      assert.deepEqual(read(token), given);
    }),
  );
});

test('a token with any character changed is none', () => {
  const token = createToken({ broadcastId: 7, subscriptionId: 4711 });
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (const [index, character] of [...token].entries()) {
    for (const other of alphabet.replace(character, '')) {
      assert.equal(read(token.slice(0, index) + other + token.slice(index + 1)), undefined, `at ${index}`);
    }
  }
});

test('any other text is no token, nor is one of another key', () => {
  const other = createReceiptTokens(randomBytes(receiptKeyBytes))({ broadcastId: 7, subscriptionId: 4711 });
  const token = createToken({ broadcastId: 7, subscriptionId: 4711 });
  for (const text of [other, '', token.slice(1), `${token}AA`, `${token} `, '*'.repeat(38)]) {
    assert.equal(read(text), undefined, text);
  }
  fc.assert(fc.property(fc.string(), (text) => read(text) === undefined));
});

test('a payload gets a token for each subscription as its last member, as long as was reserved', () => {
  const message = { title: 't', message: 'ä', url: 'https://example.org/', actions: [{ title: 'Open' }] };
  for (const declarative of [false, true]) {
    const payload = encodePayload({ ...message, declarative });
    const payloadFor = createReceiptPayloads(payload, 7, key);
    for (const subscriptionId of [1, 2 ** 40]) {
      const bytes = payloadFor(subscriptionId);
      assert.equal(bytes.length, payload.length + receiptMemberBytes);
      const { receipt, ...members } = JSON.parse(new TextDecoder().decode(bytes)) as { receipt: string };
      assert.deepEqual(members, JSON.parse(new TextDecoder().decode(payload)));
      assert.deepEqual(read(receipt), { broadcastId: 7, subscriptionId });
    }
  }
});
