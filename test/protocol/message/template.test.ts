// Placeholders and what is put in their place, whatever stands in the data of a person.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { encodeMessage, encodePayload } from '../../../src/protocol/message/encode-payload.ts';
import { measureMessage, type MeasuredText } from '../../../src/protocol/message/measure-message.ts';
import type { Message } from '../../../src/protocol/message/message.ts';
import {
  createTemplate,
  type ReaderData,
  type Template,
} from '../../../src/protocol/message/placeholders.ts';
import {
  createReceiptPayloads,
  createReceiptTokens,
  receiptKeyBytes,
} from '../../../src/protocol/message/receipt-token.ts';
import { maxPlaintextBytes } from '../../../src/protocol/message-encryption.ts';

interface Filled {
  readonly title: string;
  readonly message: string;
  readonly url: string;
  readonly data?: unknown;
}

const plain = { title: 't', message: 'm', placeholders: true } satisfies Message;
const templateOf = (members: Partial<Message>) => createTemplate(encodePayload({ ...plain, ...members }));
const read = (payload: Uint8Array): Filled => JSON.parse(Buffer.from(payload).toString()) as Filled;
const payloadFor = (template: Template, data: ReaderData, receipt?: string): Uint8Array =>
  template.fill(data, receipt);
const fill = (members: Partial<Message>, data: ReaderData = {}): Filled =>
  read(payloadFor(templateOf(members), data));
const title = (text: string, data?: ReaderData): string => fill({ title: text }, data).title;
const link = (url: string, data?: ReaderData): string => fill({ url }, data).url;

/** Whatever an application may have stored, and worse. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc
    .array(
      fc.constantFrom(
        '{name}',
        '{name|x}',
        '{{',
        '}}',
        '{',
        '}',
        '|',
        '"',
        '\\',
        '\\u0022',
        '\n',
        '\0',
        '\u007F',
        '\u0085',
        '\uD800',
        '\uDC00',
        '\u202E',
        '\u2066',
        '\u2069',
        '\u200F',
        '\u061C',
        '\u2028',
        '\u200D',
        '\u200C',
        'שלום',
        'مرحبا',
        'javascript:alert(1)',
        '//evil.example/',
        '/../',
        '..',
        '.',
        '%2e%2e',
        '@evil.example',
        '?',
        '#',
        ':',
        ' ',
        'Ada',
        '👩‍💻',
        'x'.repeat(200),
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join('')),
);
const segments = ({ pathname }: URL): readonly string[] => pathname.split('/');
const direction = /[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066\u2067]/u;

suite('without placeholders', () => {
  test('braces are text', () => {
    const text = '{name} {{x}} {not|closed';
    assert.equal(
      Buffer.from(encodePayload({ title: text, message: text, url: '/{id}' })).toString(),
      JSON.stringify({ title: text, message: text, url: '/{id}' }),
    );
    assert.deepEqual(encodeMessage({ title: text, message: text }).placeholders, []);
    assert.equal(
      Buffer.from(encodePayload({ title: text, message: text, placeholders: false })).toString(),
      JSON.stringify({ title: text, message: text }),
    );
  });

  test('a template is the payload itself, byte for byte', () => {
    const text = fc.string({ unit: 'binary' }).map((value) => value.replaceAll(/[{}]/g, ''));
    const url = fc.constantFrom(undefined, '/x', 'https://example.org/?a="b"');
    const members = fc.record({
      title: text,
      message: text,
      url,
      data: fc.jsonValue(),
      actions: fc.option(fc.array(fc.record({ title: text.filter(Boolean), url }), { maxLength: 3 }), {
        nil: undefined,
      }),
      lang: fc.constantFrom(undefined, 'de'),
    });
    fc.assert(
      fc.property(members, fc.boolean(), (given, isDeclarative) => {
        const address = 'https://example.org/';
        const declarative = isDeclarative && {
          declarative: true,
          url: address,
          title: given.title || 'x',
          actions: given.actions?.map(({ title: name }) => ({ title: name })),
        };
        const message = { ...given, ...declarative };
        const payload = encodePayload(message);
        assert.deepEqual(Buffer.from(payloadFor(createTemplate(payload), {})), Buffer.from(payload));
        assert.deepEqual(encodePayload({ ...message, placeholders: true }), payload);
      }),
    );
  });
});

suite('placeholders', () => {
  test('stand for values, else for their defaults, in all texts and URLs', () => {
    const message: Message = {
      ...plain,
      title: 'Hello {name|there}',
      message: '{count} new {things|messages|all}',
      url: '/{name|everybody}?of={count}#{name|x}',
      actions: [{ title: 'For {name|you}', url: '/a/{count}' }],
    };
    assert.deepEqual(fill(message, { name: 'Ada', count: 7 }), {
      title: 'Hello Ada',
      message: '7 new messages|all',
      url: '/Ada?of=7#Ada',
      actions: [{ title: 'For Ada', url: '/a/7', action: '0' }],
    });
    assert.equal(fill(message, { count: -1.5e21 }).url, '/everybody?of=-1.5e%2B21#x');
  });

  test('in the declarative form both copies are filled', () => {
    const template = templateOf({
      title: 'Hi {name|there}',
      url: 'https://example.org/{name|x}',
      actions: [{ title: 'A {name|b}' }],
      declarative: true,
      data: { title: '{name}' },
    });
    assert.deepEqual(read(payloadFor(template, { name: 'Ada' })), {
      title: 'Hi Ada',
      message: 'm',
      web_push: 8030,
      notification: {
        actions: [{ title: 'A Ada', action: '0', navigate: 'https://example.org/Ada' }],
        data: { title: '{name}' },
        title: 'Hi Ada',
        body: 'm',
        navigate: 'https://example.org/Ada',
        tag: 'deskbell',
        requireInteraction: true,
      },
    });
  });

  test('two braces are one', () =>
    assert.equal(title('{{{name}}} {{name}} }}{{', { name: 'Ada' }), '{Ada} {name} }{'));

  test('an empty default is one', () => assert.equal(title('Hello{name|}!'), 'Hello!'));

  test('each is named with its member and language', () => {
    const message: Message = {
      ...plain,
      title: '{name|x} {name|y} {name}',
      url: '/{id}',
      texts: { de: { message: '{city|Ort}', actions: [{ title: '{name}', url: '/{id|0}' }] } },
    };
    assert.deepEqual(encodeMessage(message).placeholders, [
      { name: 'name', member: 'title', hasDefault: true },
      { name: 'name', member: 'title', hasDefault: false },
      { name: 'id', member: 'url', hasDefault: false },
      { name: 'city', member: 'texts.de.message', hasDefault: true },
      { name: 'name', member: 'texts.de.actions[0].title', hasDefault: false },
      { name: 'id', member: 'texts.de.actions[0].url', hasDefault: true },
    ]);
  });
});

const wrongTexts: readonly [text: string, position: number][] = [
  ['{', 1],
  ['a } b', 3],
  ['{name', 1],
  ['{}', 1],
  ['{ name }', 1],
  ['{user.name}', 1],
  ['{7}', 1],
  ['{größe}', 1],
  [`{${'n'.repeat(33)}}`, 1],
  ['Hi {name|{other}}', 4],
  ['{name}}', 7],
  ['👋 {name', 4],
];
for (const [text, position] of wrongTexts) {
  test(`what is no placeholder is refused with its place: ${text.slice(0, 20)}`, () =>
    assert.throws(() => encodePayload({ ...plain, texts: { de: { title: text } } }), {
      code: 'ERR_MESSAGE_INVALID',
      message: new RegExp(
        `member texts\\.de\\.title of the message is not usable: the brace at character ${position} belongs to no placeholder; give \\{name\\} or`,
      ),
    }));
}

suite('a value is shown as text', () => {
  test('whatever it is', () => {
    fc.assert(
      fc.property(hostile, (name) => {
        const members = { title: 'Hi {name|there}!', data: { keep: '{name}' } };
        const { title: text, data } = fill(members, { name });
        assert.deepEqual(data, { keep: '{name}' });
        const shown = text.slice('Hi '.length, -1);
        assert.equal(text, `Hi ${shown}!`);
        assert.doesNotMatch(shown, direction);
        assert(shown.isWellFormed());
        const isolated = /^\u2068([^\u2068\u2069]*)\u2069$/.exec(shown);
        assert.equal(/[א-ת\u0600-\u06FF]/.test(shown), isolated !== null && /[א-ת\u0600-\u06FF]/.test(shown));
        const kept = name
          .toWellFormed()
          .replaceAll(/[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu, '');
        assert.equal(isolated?.[1] ?? shown, kept.trim() === '' ? 'there' : kept);
      }),
    );
  });

  test('and never read as a placeholder', () =>
    assert.equal(title('{a} {b}', { a: '{b}', b: '{{x}} {a|c}' }), '{b} {{x}} {a|c}'));

  test('joiners stay, direction marks and controls go, right-to-left letters are isolated', () => {
    assert.equal(title('{name}', { name: '👩\u200D💻 नी\u200Cल' }), '👩\u200D💻 नी\u200Cल');
    assert.equal(title('{name}', { name: '\u202Egpj\u202C.\u2066exe\u0007' }), 'gpj.exe');
    assert.equal(title('{name}!', { name: 'שלום' }), '\u2068שלום\u2069!');
    assert.equal(title('{name}', { name: 'שלום\u2069' }), '\u2068שלום\u2069');
    for (const [first, last] of [
      [0x2028, 0x202e],
      [0x2066, 0x2069],
      [0x200e, 0x200f],
      [0x061c, 0x061c],
      [0x00, 0x1f],
    ] as const)
      for (let code = first; code <= last; code += 1)
        assert.equal(title('{name}', { name: `a${String.fromCharCode(code)}b` }), 'ab', code.toString(16));
    // Hebrew, Arabic, Syriac, N’Ko, Samaritan, both with presentation forms, Phoenician and Adlam
    for (const letter of 'אعܐߐࠀﬡﻌ𐤀𞤀')
      assert.equal(title('{name}', { name: letter }), `\u2068${letter}\u2069`);
  });

  test('a value that is nothing to show counts as missing', () => {
    for (const name of ['', ' ', '\n', '\u202E', undefined, null, true, {}, ['x'], NaN, Infinity])
      assert.equal(title('{name|there}', { name }), 'there');
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty'])
      assert.equal(title(`{${name}|there}`), 'there');
  });
});

suite('in a URL', () => {
  test('a value changes neither scheme nor host nor what stands before it, whatever it is', () => {
    const links = [
      'https://example.org/a/{name|x}/b?c={name|x}#{name|x}',
      'https://example.org?{name|x}',
      '//example.org/{name|x}/{name|x}',
      '/{name|x}',
      '/{name|x}/{name|x}//y',
      'a/{name|x}/b',
      '?q={name|}',
      '#{name|}',
    ];
    fc.assert(
      fc.property(hostile, fc.constantFrom(...links), (name, written) => {
        const base = 'https://example.org/a/page';
        const url = new URL(link(written, { name }), base);
        const other = new URL(link(written), base);
        assert.deepEqual([url.protocol, url.host, url.username], ['https:', 'example.org', '']);
        assert.equal(segments(url).length, segments(other).length);
        for (const [index, segment] of segments(other).entries())
          if (segment !== 'x') assert.equal(segments(url)[index], segment);
        assert.equal(url.searchParams.size, other.searchParams.size);
      }),
    );
  });

  test('a value is percent-encoded', () =>
    assert.equal(link('/{name}', { name: 'Zoë & "Ada"/\u202E..' }), '/Zo%C3%AB%20%26%20%22Ada%22%2F..'));

  test('a folder counts as missing', () => {
    for (const name of ['.', '..', '\u200E..', '', '\n'])
      assert.equal(link('/a/{name|x}/b', { name }), '/a/x/b');
    assert.equal(link('/a/{name}', { name: '...' }), '/a/...');
  });

  const unsettled = [
    '{host}',
    '{scheme}:alert(1)',
    'https://{host}/x',
    'https://example.org{rest|x}',
    'https://{user}@example.org/',
    'https:{rest}',
    'https:/{rest}',
    'https:///{rest}',
    '//{host}',
    '//{host}/x',
    '/\\{host}',
    '//example{tld}',
    'a{b}/c',
    'http:\\\\{host}/',
    ' https://example.org{x}',
    '/\t/{host}',
    '{a|/}x',
  ];
  for (const url of unsettled) {
    test(`a placeholder that could change scheme or host is refused: ${JSON.stringify(url)}`, () =>
      assert.throws(() => encodePayload({ ...plain, url }), {
        code: 'ERR_MESSAGE_INVALID',
        message: /member url of the message is not usable/,
      }));
  }

  test('a default that would change the path is refused', () => {
    for (const fallback of ['', '.', '..', '\u202E'])
      assert.throws(
        () => encodePayload({ ...plain, actions: [{ title: 'x', url: `/{name|${fallback}}/y` }] }),
        {
          code: 'ERR_MESSAGE_INVALID',
          message:
            /actions\[0\]\.url of the message is not usable: the default of \{name\} is no part of a path/,
        },
      );
    assert.equal(link('/x?q={name|}'), '/x?q=');
    assert.equal(link('/{name|a b/..\uD800}'), '/a%20b%2F..%EF%BF%BD');
  });
});

suite('what is missing or too large', () => {
  test('without value and default it is refused, by name and member, never by value', () => {
    const { payload } = encodeMessage({ ...plain, title: '{name}', url: '/{id}' });
    assert.throws(
      () => payloadFor(createTemplate(payload), { name: 'secret' }),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'ERR_PLACEHOLDER_VALUE');
        assert.match(error.message, /placeholder \{id\} in url of the message/);
        return !error.message.includes('secret');
      },
    );
  });

  test('where values do not fit, the defaults stand there', () => {
    const long = { a: 'ä'.repeat(1900), b: 'b'.repeat(200) };
    assert.equal(title('{a|x} {b|y}', long), 'x y');
    assert.equal(title('{a} {b|y}', long), `${long.a} y`);
    assert.throws(() => title('{a} {b}', long), { code: 'ERR_PAYLOAD_TOO_LARGE' });
  });

  test('no payload is larger than a push message, and none is refused that has defaults', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 }).map((value) => value.replaceAll(/[{}|]/g, ''));
    const values = fc.oneof(
      hostile,
      fc.integer({ min: 0, max: 3000 }).map((length) => 'ü"'.repeat(length / 2)),
    );
    fc.assert(
      fc.property(
        text,
        text,
        values,
        values,
        fc.integer({ min: 3700, max: 3900 }),
        (before, fallback, a, b, length) => {
          const message = {
            ...plain,
            title: 'x'.repeat(length),
            message: `${before}{a|${fallback}}`,
            url: '/?{b|}',
          };
          const [{ bytes, maxBytes }] = measureMessage(message, { isWithReceipts: true }) as [MeasuredText];
          fc.pre(bytes <= maxBytes);
          const template = createTemplate(encodePayload(message));
          assert(payloadFor(template, { a, b }).length <= maxPlaintextBytes);
          assert(payloadFor(template, { a, b }, 'r'.repeat(38)).length <= maxPlaintextBytes);
          assert.equal(payloadFor(template, {}).length, template.minBytes);
        },
      ),
    );
  });

  test('the defaults must fit, with room for receipts, however long the placeholders are written', () => {
    const name = 'n'.repeat(32);
    encodePayload({ ...plain, message: `{${name}|}`.repeat(150) });
    const url = `/{x|${'ü'.repeat(655)}}`;
    assert.throws(() => encodePayload({ ...plain, url }, undefined, { isWithReceipts: true }), {
      code: 'ERR_PAYLOAD_TOO_LARGE',
      message: /^The payload has 39\d\d bytes of UTF-8 with the defaults of its placeholders; at most/,
    });
    encodePayload({ ...plain, url });
  });
});

test('a receipt’s token is in the payload as it is without placeholders', () => {
  const key = randomBytes(receiptKeyBytes);
  const payload = encodePayload({ title: 'Hello', message: 'you' });
  const receipt = createReceiptTokens(key)({ broadcastId: 3, subscriptionId: 17 });
  assert.deepEqual(
    Buffer.from(payloadFor(templateOf({ title: 'Hello', message: '{who|x}' }), { who: 'you' }, receipt)),
    Buffer.from(createReceiptPayloads(payload, 3, key)(17)),
  );
});
