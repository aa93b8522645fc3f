// A message in several languages: what each payload has, and what is refused in which of them.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { DeskbellError } from '../../../src/errors/deskbell-error.ts';
import { chooseLanguage } from '../../../src/protocol/language.ts';
import { encodeMessage, encodePayload, hashMessage } from '../../../src/protocol/message/encode-payload.ts';
import type { PayloadOptions } from '../../../src/protocol/message/measure-message.ts';
import type { Message } from '../../../src/protocol/message/message.ts';
import { readMessage } from '../../../src/protocol/message/read-message.ts';

const createId = (): string => 'AbCdEfGh01234567';
const plain = { title: 'Hello', message: 'It rains', url: '/en' } satisfies Message;
const message: Message = {
  ...plain,
  actions: [
    { title: 'Open', url: '/open', action: 'open' },
    { title: 'Later', icon: 'later.png' },
  ],
  texts: {
    'pt-br': { title: 'Olá', url: '/pt' },
    de: {
      title: 'Hallo',
      message: 'Es regnet',
      actions: [{ title: 'Öffnen' }, { title: 'Später', url: '/später' }],
    },
  },
};
const read = (payload: Uint8Array | undefined): unknown => JSON.parse(Buffer.from(payload!).toString());

test('each language has a payload of its own, with what it does not say as all have it', () => {
  const { payload, texts, placeholders } = encodeMessage(message);
  const { texts: _texts, ...own } = message;
  assert.deepEqual(payload, encodePayload(own));
  assert.deepEqual([...texts.keys()], ['de', 'pt-BR']);
  assert.deepEqual(read(texts.get('de')), {
    title: 'Hallo',
    message: 'Es regnet',
    url: '/en',
    actions: [
      { title: 'Öffnen', url: '/open', action: 'open' },
      { title: 'Später', url: '/später', icon: 'later.png', action: '1' },
    ],
    lang: 'de',
  });
  assert.deepEqual(read(texts.get('pt-BR')), {
    title: 'Olá',
    message: 'It rains',
    url: '/pt',
    actions: [
      { title: 'Open', url: '/open', action: 'open' },
      { title: 'Later', icon: 'later.png', action: '1' },
    ],
    lang: 'pt-BR',
  });
  assert.deepEqual(placeholders, []);
});

test('a message has one ID in all languages, and the declarative form in each', () => {
  const declarative: Message = {
    ...plain,
    url: 'https://example.org/',
    tag: null,
    renotify: true,
    declarative: true,
    lang: 'en',
    texts: { de: { title: 'Hallo' } },
  };
  const { payload, texts } = encodeMessage(declarative);
  const [own, german] = [payload, texts.get('de')].map(
    (each) => read(each) as { id: string; notification: { title: string; tag: string; lang?: string } },
  );
  assert.equal(own!.id, german!.id);
  assert.equal(german!.notification.tag, own!.id);
  assert.equal(own!.notification.lang, 'en');
  assert.deepEqual([german!.notification.title, german!.notification.lang], ['Hallo', 'de']);
});

test('the message is read back from its payloads', () => {
  const other: Message = {
    ...plain,
    url: 'https://example.org/',
    title: 'Hello {name|there}',
    declarative: true,
    renotify: true,
    lang: 'en',
    placeholders: true,
    texts: { de: { title: 'Hallo {name|du}' }, fr: {} },
  };
  const all: readonly Message[] = [message, other, plain];
  for (const given of all) {
    const { payload, texts } = encodeMessage(given, {}, createId);
    const back = readMessage(payload, { texts, hasPlaceholders: given.placeholders });
    assert.deepEqual(encodeMessage(back!, {}, createId), encodeMessage(given, {}, createId));
  }
  const { payload, texts } = encodeMessage(other);
  const { title, url, message: text, ...others } = readMessage(payload, { texts, hasPlaceholders: true })!;
  assert.deepEqual([title, url, text], [other.title, other.url, other.message]);
  assert.deepEqual(others.texts, { de: { title: 'Hallo {name|du}' }, fr: {} });
});

/** Of 35 characters. */
const longestTag = `de-x${'-abcdefgh'.repeat(3)}-abc`;

const refused: readonly [members: object, fault: RegExp][] = [
  [
    { texts: { de: { title: 1 } } },
    /member texts\.de\.title of the message is of type number; give a string/,
  ],
  [{ texts: { de: { icon: '/x' } } }, /Unknown message member "texts\.de\.icon"/],
  [{ texts: { de: 'Hallo' } }, /member texts\.de of the message is of type string; give an object/],
  [{ texts: { de_DE: {} } }, /member texts\.de_DE of the message is named by .*; give a BCP 47 language tag/],
  [{ texts: { [`${longestTag}d`]: {} } }, /named by a text that is not usable/],
  [{ texts: { 'de-at': {}, 'de-AT': {} } }, /member texts\.de-AT of the message is the same language/],
  [
    { texts: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`de-x-${index}`, {}])) },
    /member texts of the message is not usable; give an object of at most 50 language tags/,
  ],
  [{ texts: { de: { url: 'javascript:alert(1)' } } }, /member texts\.de\.url of the message is not usable/],
  [
    {
      texts: {
        de: {
          actions: [
            { title: 'a', action: 'x' },
            { title: 'b', action: 'x' },
          ],
        },
      },
    },
    /member texts\.de\.actions\[1\]\.action of the message is the same/,
  ],
  [
    { declarative: true, url: 'https://example.org/', texts: { de: { url: '/de' } } },
    /member texts\.de\.url of the message is relative/,
  ],
  [
    { declarative: true, url: 'https://example.org/', texts: { de: { title: '' } } },
    /member texts\.de\.title of the message is empty/,
  ],
  [
    { texts: { de: { actions: [{ title: 'Aus', action: 'turn-off-channel' }] } } },
    /member texts\.de\.actions\[0\]\.action of the message is turn-off-channel, and the message is to no channel/,
  ],
  [
    { actions: [{ title: 'Open' }, { title: 'Off', action: 'turn-off-channel' }] },
    /member actions\[1\]\.action of the message is turn-off-channel, and the message is to no channel/,
  ],
];
for (const [members, fault] of refused) {
  test(`texts are refused: ${String(fault).slice(1, 70)}`, () =>
    assert.throws(() => encodeMessage({ ...plain, ...members } as Message), {
      code: 'ERR_MESSAGE_INVALID',
      message: fault,
    }));
}

test('an error points to the member, as in whatever has the message as its member', () => {
  const faults: readonly [members: object, pointer: string][] = [
    [{ title: 1 }, '/message/title'],
    [{ message: 'x'.repeat(5000) }, '/message/message'],
    [{ texts: { de: { message: 'x'.repeat(5000) } } }, '/message/texts/de/message'],
    [{ placeholders: true, texts: { 'pt-BR': { title: '{' } } }, '/message/texts/pt-BR/title'],
    [
      { texts: { de: { actions: [{ title: 'a' }, { title: 'b', url: 'ftp://x' }] } } },
      '/message/texts/de/actions/1/url',
    ],
  ];
  for (const [members, pointer] of faults)
    assert.throws(
      () => encodeMessage({ ...plain, ...members } as Message),
      ({ code, message: detail, fields }: DeskbellError) => {
        assert.deepEqual(fields, [{ pointer, code, detail }]);
        return true;
      },
    );
});

test('fifty texts are not too many, and a tag may have 35 characters', () => {
  const texts = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`de-x-${index}`, { title: 'T' }]),
  );
  assert.equal(encodeMessage({ title: 't', message: 'm', texts }).texts.size, 50);
  const { texts: encoded } = encodeMessage({ ...plain, texts: { [longestTag]: { title: 'T' } } });
  assert.deepEqual([...encoded.keys()], [longestTag]);
});

test('the size of each language is checked, with room for receipts, and the error names it', () => {
  const long: Message = { ...plain, texts: { en: {}, de: { message: 'ä'.repeat(1955) } } };
  encodeMessage(long);
  for (const encode of [
    encodeMessage,
    (whole: Message, options: PayloadOptions) => encodePayload(whole, undefined, options),
  ])
    assert.throws(() => encode(long, { isWithReceipts: true }), {
      code: 'ERR_PAYLOAD_TOO_LARGE',
      message:
        /payload in de has 39\d\d bytes of UTF-8; at most 3\d+ fit .* Shorten texts\.de\.message \(3912 bytes\), title/,
    });
});

test('a payload has the channel only where an action turns it off', () => {
  const channel = 'news';
  const off = { title: 'Turn these off', action: 'turn-off-channel' };
  assert.deepEqual(encodePayload(message, undefined, { channel }), encodePayload(message));
  const { payload, texts } = encodeMessage({ ...plain, texts: { de: { actions: [off] } } }, { channel });
  assert.deepEqual(payload, encodePayload(plain));
  assert.equal((read(texts.get('de')) as { channel?: string }).channel, 'news');
  const declarative = encodePayload(
    { ...plain, url: 'https://example.org/', actions: [off], declarative: true },
    undefined,
    { channel },
  );
  assert.equal((read(declarative) as { channel?: string }).channel, 'news');
});

const hash = (whole: Message): string => Buffer.from(hashMessage(whole)).toString('hex');

test('the hash of the content has every language and whether there are placeholders, and no ID', () => {
  const unique: Message = { ...plain, tag: null };
  assert.equal(
    hash(unique),
    createHash('sha256')
      .update(encodePayload(unique, () => ''))
      .digest('hex'),
  );
  const german: Message = { ...unique, texts: { de: { title: 'Hallo' }, fr: { title: 'Salut' } } };
  assert.equal(hash(german), hash({ ...german, texts: { fr: { title: 'Salut' }, de: { title: 'Hallo' } } }));
  const others: readonly Message[] = [
    unique,
    { ...unique, placeholders: true },
    german,
    { ...german, texts: { de: { title: 'Hallo' } } },
    { ...german, texts: { de: { title: 'Salut' }, fr: { title: 'Hallo' } } },
    { ...german, placeholders: true },
  ];
  assert.equal(new Set(others.map(hash)).size, others.length);
});

const available = new Set(['de', 'de-AT', 'pt-BR', 'zh-Hant', 'zh']);

const chosen: readonly [wanted: string | undefined, language: string | undefined][] = [
  ['de-AT', 'de-AT'],
  ['de-CH', 'de'],
  ['de', 'de'],
  ['zh-Hant-TW', 'zh-Hant'],
  ['zh-Hans-CN', 'zh'],
  ['de-Latn-DE-1996', 'de'],
  ['pt', undefined],
  ['pt-PT', undefined],
  ['d', undefined],
  ['deu', undefined],
  ['en-US', undefined],
  ['', undefined],
  [undefined, undefined],
];

for (const [wanted, language] of chosen) {
  test(`a reader of ${wanted} gets ${language ?? 'the message’s own text'}`, () =>
    assert.equal(chooseLanguage(wanted, available), language));
}
