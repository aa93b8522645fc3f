// Channels, choices, and what is known of a person: what they may be, and what an error says.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkChannel, checkChoices, maxChannels, type Channel } from '../../src/audience/channels.ts';
import { checkPersonChange, type PersonChange } from '../../src/audience/person.ts';
import { readTimeZone } from '../../src/audience/reader-facts.ts';
import { readLanguage } from '../../src/protocol/language.ts';

const news: Channel = { name: 'news', title: 'News', titles: {}, isOnByDefault: true };

/** Data of a person that has so many bytes as JSON. */
function dataOfBytes(bytes: number) {
  const data = { ...Object.fromEntries([...'abcd'].map((name) => [name, 'x'.repeat(200)])), e: '' };
  return { ...data, e: 'x'.repeat(bytes - JSON.stringify(data).length) };
}

describe('a channel', () => {
  test('has one spelling of its name, its titles and their languages', () => {
    const given = { ...news, name: 'cafe\u0301', title: ' News ', titles: { 'pt-br': ' Notícias ' } };
    assert.deepEqual(checkChannel(given), {
      ...news,
      name: 'caf\u00e9',
      title: 'News',
      titles: { 'pt-BR': 'Notícias' },
    });
  });

  const refused: readonly (readonly [Partial<Record<keyof Channel, unknown>>, string, RegExp])[] = [
    [{ name: '' }, '/name', /^The name of a channel must be 1 to 64 bytes of letters, digits and/],
    [{ name: '__proto__' }, '/name', /begin with a letter or digit/],
    [{ name: 7 }, '/name', /must be a string/],
    [{ title: ' ' }, '/title', /must have 1 to 64 characters/],
    [{ title: 'x'.repeat(65) }, '/title', /must have 1 to 64 characters/],
    [{ title: 'a\nb' }, '/title', /none of them a control character/],
    [{ titles: { de: '' } }, '/titles/de', /must have 1 to 64 characters/],
    [{ titles: { d: 'x' } }, '/titles', /BCP 47 language tag, such as de or pt-BR/],
    [
      { titles: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`x-${index}`, 'x'])) },
      '/titles',
      /in 51 languages; at most 50/,
    ],
    [{ isOnByDefault: 'yes' }, '/isOnByDefault', /must be true or false/],
  ];
  for (const [change, pointer, message] of refused) {
    test(`is refused for ${pointer}: ${message.source}`, () => {
      assert.throws(
        () => checkChannel({ ...news, ...change } as Channel),
        (error: Error & { fields: readonly { pointer: string }[] }) => {
          assert.match(error.message, message);
          assert.equal(error.fields[0]?.pointer, pointer);
          return true;
        },
      );
    });
  }
});

test('choices are true or false', () => {
  assert.deepEqual(checkChoices({ news: false, sport: true }, '/choices'), { news: false, sport: true });
  for (const choices of [undefined, null, [], 'news', { news: null }, { news: 'no' }, { '-': true }])
    assert.throws(() => checkChoices(choices, '/choices'), { name: 'DeskbellError' });
  const many = Array.from({ length: maxChannels + 1 }, (_, index) => [`c${index}`, true] as const);
  assert.doesNotThrow(() => checkChoices(Object.fromEntries(many.slice(1)), '/choices'));
  const tooMany = Object.fromEntries(many);
  assert.throws(() => checkChoices(tooMany, '/choices'), /choices for 101 channels; at most 100 are allowed/);
});

describe('what is known of a person', () => {
  test('has one spelling', () => {
    assert.deepEqual(checkPersonChange({ language: 'PT-br', timeZone: 'europe/berlin' }), {
      data: undefined,
      language: 'pt-BR',
      timeZone: 'Europe/Berlin',
      channels: undefined,
    });
    const cleared = { data: null, language: null, timeZone: null, channels: null };
    assert.deepEqual(checkPersonChange(cleared), cleared);
    const change = { data: { name: 'Zoë', left: 2.5, old: null }, channels: { news: null, sport: true } };
    assert.deepEqual(checkPersonChange(change), { ...change, language: undefined, timeZone: undefined });
    const named = { data: { [`_${'x'.repeat(31)}`]: 1 } };
    assert.deepEqual(checkPersonChange(named).data, named.data);
  });

  const refused: readonly (readonly [Record<string, unknown>, string, RegExp])[] = [
    [{ language: 'de_AT' }, '/language', /BCP 47/],
    [{ language: `de-x-${'a'.repeat(40)}` }, '/language', /BCP 47/],
    [{ language: 7 }, '/language', /BCP 47/],
    [{ timeZone: 'Mars/Base' }, '/timeZone', /the IANA name of one, such as Europe\/Berlin, or UTC/],
    [{ timeZone: '+01:00' }, '/timeZone', /IANA/],
    [{ data: [] }, '/data', /an object of texts and numbers/],
    [{ data: { 'first name': 'x' } }, '/data', /1 to 32 letters, digits and "_"/],
    [{ data: { ['n'.repeat(33)]: 'x' } }, '/data', /1 to 32 letters, digits and "_"/],
    [{ data: { '1st': 'x' } }, '/data', /not begin with a digit/],
    [{ data: { name: {} } }, '/data/name', /must be a text or a number/],
    [{ data: { name: true } }, '/data/name', /must be a text or a number/],
    [{ data: { name: Infinity } }, '/data/name', /must be finite/],
    [{ data: { name: 'x'.repeat(201) } }, '/data/name', /at most 200 characters/],
    [{ data: { name: '\ud800' } }, '/data/name', /well-formed Unicode/],
    [
      { data: Object.fromEntries([...'abcdef'].map((name) => [name, 'ü'.repeat(200)])) },
      '/data',
      /2443 bytes as JSON; at most 1024/,
    ],
    [{ channels: { news: 'off' } }, '/channels/news', /must be true or false/],
  ];
  for (const [change, pointer, message] of refused) {
    test(`is refused for ${pointer}: ${message.source}`, () => {
      assert.throws(
        () => checkPersonChange(change as PersonChange),
        (error: Error & { fields: readonly { pointer: string }[] }) => {
          assert.match(error.message, message);
          assert.equal(error.fields[0]?.pointer, pointer);
          assert.doesNotMatch(error.message, /xxx|Mars|ü/, 'the value is not shown');
          return true;
        },
      );
    });
  }

  test('may have data of 1024 bytes as JSON, and no more; a text of 200 characters, however many bytes', () => {
    const name = '😀'.repeat(200);
    assert.deepEqual(checkPersonChange({ data: { name } }).data, { name });
    assert.throws(() => checkPersonChange({ data: { name: `${name}x` } }), /at most 200 characters/);
    assert.deepEqual(checkPersonChange({ data: dataOfBytes(1024) }).data, dataOfBytes(1024));
    assert.throws(
      () => checkPersonChange({ data: dataOfBytes(1025) }),
      /has 1025 bytes as JSON; at most 1024/,
    );
  });
});

test('a language or time zone of a browser that is not usable is none', () => {
  assert.equal(readLanguage('de-at'), 'de-AT');
  for (const zone of ['UTC', 'America/North_Dakota/New_Salem']) assert.equal(readTimeZone(zone), zone);
  for (const text of [undefined, null, 7, '', 'x'.repeat(1000), 'a b', {}]) {
    assert.equal(readLanguage(text), undefined);
    assert.equal(readTimeZone(text), undefined);
  }
});

test('a language or time zone that is too long is none before anybody looks it up', (t) => {
  const longest = `de-x-${'abcdefgh-'.repeat(3)}abc`;
  assert.equal(longest.length, 35);
  assert.equal(readLanguage(longest), longest);
  const lookUps = [t.mock.method(Intl, 'getCanonicalLocales'), t.mock.method(Intl, 'DateTimeFormat')];
  assert.equal(readLanguage(`${longest}d`), undefined);
  assert.equal(readTimeZone('A'.repeat(65)), undefined);
  assert.deepEqual(
    lookUps.map(({ mock }) => mock.callCount()),
    [0, 0],
  );
});
