import assert from 'node:assert/strict';
import { test } from 'node:test';

import { actionNames, checkMessage } from '../../../src/protocol/message/check-message.ts';
import type { Message, MessageAction } from '../../../src/protocol/message/message.ts';

const plain = { title: 't', message: 'm' };

test('every member may be given', () => {
  checkMessage({
    ...plain,
    url: '/orders/7?of=me#top',
    icon: 'icon.png',
    image: 'https://images.example.org/1.jpg',
    badge: 'data:image/png;base64,AA==',
    actions: [{ title: 'Open', action: 'open', url: 'https://example.org/', icon: '/open.png' }],
    tag: 'orders',
    renotify: true,
    requireInteraction: false,
    silent: true,
    timestamp: Date.UTC(2027, 0),
    lang: 'pt-BR',
    dir: 'rtl',
    appBadge: 0,
    data: { any: ['JSON', null] },
  });
});

const circular: Record<string, unknown> = {};
circular['self'] = circular;

/** What is refused, and what the error says of it. */
const refused: readonly [members: Record<string, unknown>, fault: RegExp][] = [
  [{ title: undefined }, /title of the message is of type undefined; give a string/],
  [{ title: 1 }, /title of the message is of type number; give a string/],
  [{ message: null }, /message of the message is of type null/],
  [{ url: 'javascript:alert(1)' }, /url of the message is not usable; give an http\(s\) URL/],
  [{ url: 'data:text/html,x' }, /url of the message is not usable/],
  [{ url: 'https://' }, /url of the message is not usable/],
  [{ url: null }, /url of the message is of type null/],
  [{ icon: 'file:///etc/passwd' }, /icon of the message is not usable; give an http\(s\) or data URL/],
  [{ image: 1 }, /image of the message is of type number/],
  [{ badge: 'blob:x' }, /badge of the message is not usable/],
  [{ tag: '' }, /tag of the message is not usable; give .* or null for a unique tag/],
  [{ renotify: 'yes' }, /renotify of the message is of type string; give true or false/],
  [{ requireInteraction: 0 }, /requireInteraction of the message is of type number/],
  [{ silent: null }, /silent of the message is of type null/],
  [{ timestamp: new Date() }, /timestamp of the message is of type object; give milliseconds since 1970/],
  [{ timestamp: -1 }, /timestamp of the message is not usable/],
  [{ timestamp: 8.64e15 + 2 }, /timestamp of the message is not usable/],
  [{ lang: 'not a tag' }, /lang of the message is not usable; give a BCP 47/],
  [{ dir: 'up' }, /dir of the message is not usable; give 'auto', 'ltr' or 'rtl'/],
  [{ appBadge: 1.5 }, /appBadge of the message is not usable/],
  [{ appBadge: -1 }, /appBadge of the message is not usable/],
  [{ data: 1n }, /data of the message is not usable; give a value that JSON can hold/],
  [{ data: circular }, /data of the message is not usable/],
  [{ data: () => 1 }, /data of the message is not usable/],
  [{ actions: { title: 'x' } }, /actions of the message is of type object; give an array/],
  [{ actions: ['x'] }, /actions\[0\] of the message is of type string; give an object with title/],
  [{ actions: [{}] }, /actions\[0\]\.title of the message is of type undefined/],
  [{ actions: [{ title: '' }] }, /actions\[0\]\.title of the message is not usable/],
  [
    { actions: [{ title: 'x' }, { title: 'y', url: 'mailto:x' }] },
    /actions\[1\]\.url of the message is not usable/,
  ],
  [
    { actions: [{ title: 'x', action: 'a\0b' }] },
    /actions\[0\]\.action of the message is not usable; give a name .* none of them a control character/,
  ],
  [{ actions: [{ title: 'x', navigate: '/' }] }, /Unknown message member "actions\[0\]\.navigate"/],
  [
    { actions: [{ title: 'x' }, { title: 'y', action: '0' }] },
    /actions\[1\]\.action of the message is the same/,
  ],
  [{ Url: '/' }, /Unknown message member "Url"; put your own values into "data"/],
  [{ toString: 'x' }, /Unknown message member "toString"/],
];
for (const [members, fault] of refused) {
  test(`a message is refused: ${String(fault).slice(1, 60)}`, () => {
    assert.throws(() => checkMessage({ ...plain, ...members } as unknown as Message), {
      code: 'ERR_MESSAGE_INVALID',
      message: fault,
    });
  });
}

for (const message of ['text', null, undefined, []]) {
  test(`what is no message is refused: ${JSON.stringify(message)}`, () => {
    assert.throws(() => checkMessage(message as unknown as Message), {
      code: 'ERR_MESSAGE_INVALID',
      message: /give an object with title and message/,
    });
  });
}

test('what JSON says of data is the cause of its error', () => {
  const message = { ...plain, data: 1n };
  assert.throws(
    () => checkMessage(message),
    ({ cause }: Error) => cause instanceof TypeError,
  );
});

test('errors do not show values', () => {
  const secret = 'mailto:somebody@example.org';
  const messages: readonly object[] = [
    { url: secret },
    { actions: [{ title: 'x', url: secret }] },
    { lang: secret },
  ];
  for (const members of messages) {
    assert.throws(
      () => checkMessage({ ...plain, ...members } as { actions: MessageAction[] } & typeof plain),
      (error: Error) => !error.message.includes('somebody'),
    );
  }
});

test('the names of actions are those of all languages', () => {
  const texts = { de: { actions: [{ title: 'a' }, { title: 'b', action: 'ja' }] }, fr: { title: 't' } };
  assert.deepEqual(actionNames({ ...plain, texts }), ['0', 'ja']);
  assert.deepEqual(actionNames({ ...plain, actions: [{ title: 'x', action: 'yes' }], texts }), ['yes', 'ja']);
});
