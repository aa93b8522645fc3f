// Files in the forms that programs write, from bytes to rows: each row is found whole, and nothing is lost beside it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { decodeText } from '../../src/cli/input/read-input.ts';
import { findProvider, findRows, readRows } from '../../src/cli/input/read-rows.ts';
import { createMemberOf } from '../../src/cli/input/column-names.ts';
import { readImportedRow } from '../../src/cli/input/subscription-line.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { encodeBase64url } from '../../src/protocol/bytes.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { exampleSubscription } from './example-subscriptions.ts';
import { importGenerated } from './generated-imports.ts';
import { newData } from './run-command.ts';

const memberOf = createMemberOf({ user: 'userId', tags: 'tags' });
const policy = createEndpointPolicy();
const [one, two, three] = [1, 2, 3].map(exampleSubscription) as [Example, Example, Example];
type Example = ReturnType<typeof exampleSubscription>;
const publicKey = one.keys.p256dh;
const flat = ({ endpoint, keys }: Example) => ({ endpoint, ...keys });

async function* inPieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

/** What comes of a text, as short texts: `1:ada` for a row, `refused`, `left out: name`. */
async function outcomes(text: string, size = 7): Promise<readonly string[]> {
  const found: string[] = [];
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof DeskbellError)) throw error;
      found.push('refused');
    }
  };
  for await (const value of readRows(inPieces(text, size), memberOf)) {
    attempt(() => {
      for (const row of findRows(value.read(), memberOf)) {
        if ('leftOut' in row) found.push(`left out: ${row.leftOut}`);
        else attempt(() => found.push(describe(readImportedRow(row.row, policy, publicKey, memberOf))));
      }
    });
  }
  return found;
}

function describe({
  subscription: { endpoint, auth, p256dh },
  assign,
}: ReturnType<typeof readImportedRow>): string {
  const number = [one, two, three].findIndex((example) => example.endpoint === endpoint);
  const { keys } = [one, two, three][number]!;
  assert.deepEqual([encodeBase64url(p256dh), encodeBase64url(auth)], [keys.p256dh, keys.auth]);
  return [number + 1, assign?.user].filter((part) => part !== undefined).join(':');
}

const dynamo = ({ endpoint, keys }: Example, user: string) => ({
  endpoint: { S: endpoint },
  keys: { M: { p256dh: { S: keys.p256dh }, auth: { S: keys.auth } } },
  userId: { N: user },
});
const firestore = ({ endpoint, keys }: Example, user: string) => ({
  name: `projects/p/databases/(default)/documents/subscriptions/${user}`,
  fields: {
    endpoint: { stringValue: endpoint },
    keys: {
      mapValue: { fields: { p256dh: { stringValue: keys.p256dh }, auth: { stringValue: keys.auth } } },
    },
    userId: { integerValue: user },
  },
  createTime: '2026-03-01T12:00:00Z',
});
const pretty = (value: unknown): string => JSON.stringify(value, undefined, 2);
const lines = (...values: readonly unknown[]): string =>
  values.map((value) => JSON.stringify(value)).join('\n');
const csv = (...rows: readonly (readonly string[])[]): string => rows.map((row) => row.join(',')).join('\n');
const cells = ({ endpoint, keys }: Example): readonly string[] => [endpoint, keys.p256dh, keys.auth];
const header = ['endpoint', 'p256dh', 'auth'];

/** A number: as many subscriptions, from the first. */
const shapes: Readonly<Record<string, readonly [text: string, expected: number | readonly string[]]>> = {
  'JSON Lines': [lines(one, two, three), 3],
  'several arrays, as json_agg writes one for each user': [lines([one], [two, three]), 3],
  'arrays one after the other on a line': [`${JSON.stringify([one])}${JSON.stringify([two])}`, 2],
  'arrays in arrays': [JSON.stringify([[one, [two]], [], [[three]]]), 3],
  'objects over several lines, one after the other': [`${pretty(one)}\n${pretty(two)}\n`, 2],
  'an array under any key': [pretty({ total: 2, data: [one, two], links: { next: null } }), 2],
  'a map of name to subscription': [pretty({ phone: one, laptop: flat(two) }), 2],
  'a map in which one is none': [pretty({ phone: one, laptop: two, other: {} }), ['1', '2', 'refused']],
  'JSON as a text in JSON': [JSON.stringify(JSON.stringify([one, two])), 2],
  'a text of JSON as a member of any name': [
    lines({ userId: 'ada', device: JSON.stringify(one) }),
    ['1:ada'],
  ],
  'a person with several subscriptions': [
    lines({ userId: 'ada', devices: [one, two] }, { userId: 'bob', devices: [{ push: three }] }),
    ['1:ada', '2:ada', '3:bob'],
  ],
  'a person around, and persons of their own': [
    pretty({
      userId: 'admin',
      rows: [
        { ...one, userId: 'ada' },
        { ...two, userId: null },
      ],
    }),
    ['1:ada', '2:admin'],
  ],
  'a row that has the endpoint of its subscription for its index, and a key of its own': [
    lines({ endpoint: one.endpoint, public_key: 'the VAPID key', push_subscription: one }),
    1,
  ],
  'keys as the JSON of them, beside a member that is no subscription': [
    lines({ endpoint: one.endpoint, keys: JSON.stringify(one.keys), subscription: 7 }),
    1,
  ],
  'members in any case, with or without "_", "-" and "."': [
    lines(
      {
        'Push-Subscription': { endpoint: one.endpoint },
        'KEYS-P256DH': one.keys.p256dh,
        AuthKey: one.keys.auth,
      },
      { 'END.POINT': two.endpoint, 'user-public-key': two.keys.p256dh, 'auth.secret': two.keys.auth },
      {
        end_point: three.endpoint,
        UAPublic: three.keys.p256dh,
        USER_AUTH_TOKEN: three.keys.auth,
        'User-ID': 7,
      },
    ),
    ['1', '2', '3:7'],
  ],
  "Django's dumpdata": [
    JSON.stringify([
      { model: 'auth.user', pk: 1, fields: { username: 'ada' } },
      { model: 'webpush.subscriptioninfo', pk: 1, fields: flat(one) },
    ]),
    ['left out: auth.user', '1'],
  ],
  "phpMyAdmin's": [
    JSON.stringify([
      { type: 'header', version: '5.2.1', comment: 'Export to JSON plugin for phpMyAdmin' },
      { type: 'database', name: 'shop' },
      { type: 'table', name: 'orders', database: 'shop', data: [{ id: '1' }] },
      { type: 'table', name: 'push', database: 'shop', data: [{ ...flat(one), userId: '7' }, flat(two)] },
    ]),
    ['left out: header 5.2.1', 'left out: database shop', 'left out: table orders', '1:7', '2'],
  ],
  "DynamoDB's scan": [pretty({ Items: [dynamo(one, '1'), dynamo(two, '2')], Count: 2 }), ['1:1', '2:2']],
  "DynamoDB's export": [lines({ Item: dynamo(one, '1') }, { Item: dynamo(two, '2') }), ['1:1', '2:2']],
  "Firestore's documents": [
    pretty({ documents: [firestore(one, '1'), firestore(two, '2')] }),
    ['1:1', '2:2'],
  ],
  "Synapse's pushers": [
    pretty({
      pushers: [
        { pushkey: one.keys.p256dh, kind: 'http', data: { endpoint: one.endpoint, auth: one.keys.auth } },
      ],
      total: 1,
    }),
    1,
  ],
  'an object that is longer than a row': [
    JSON.stringify({ note: 'x'.repeat(600_000), more: 'y'.repeat(600_000), Items: [one, { a: [two] }] }),
    2,
  ],
  'a row that is longer than a row may be': [
    lines(one, { ...flat(two), note: 'x'.repeat(1_100_000) }, three),
    ['1', 'refused', '3'],
  ],
  'a byte order mark between files': [`\ufeff${lines(one)}\n\ufeff${lines(two)}`, 2],
  'a row that is cut off': [`${lines(one).slice(0, -20)}\n${lines(two)}`, ['refused', '2']],
  'a row that is cut off before a value': [
    `{"endpoint":\n${lines(one)}\n${lines(two)}`,
    ['refused', '1', '2'],
  ],
  'a row that is cut off at a bracket, far before the end': [
    [
      lines(one).slice(0, lines(one).indexOf('{', 1) + 1),
      ...[two, three].map((row) => lines({ ...row, note: 'x'.repeat(700_000) })),
    ].join('\n'),
    ['refused', '2', '3'],
  ],
  'a row that is cut off in an array': [
    `[\n${lines(one).slice(0, -1)},\n${lines(two)},\n${lines(three)}\n]`,
    ['refused', '2', '3'],
  ],
  'a text that is not closed, in an array over several lines': [
    pretty([one, two, three]).replace(`"${two.keys.auth}"`, `"${two.keys.auth}`),
    ['1', 'refused', '3'],
  ],
  'rubbish between rows': [`${lines(one)}\n--\n${lines(two)}\n]; end`, ['1', 'refused', '2', 'refused']],
  'CSV with cells that are quoted, and two lines in one': [
    csv(['note', ...header], ['"a ""b""\nc"', ...cells(one)], ['', ...cells(two).map((cell) => `"${cell}"`)]),
    2,
  ],
  'sep=;': [`sep=;\r\n${csv(header, cells(one), cells(two)).replaceAll(',', ';')}\r\n`, 2],
  'cells between bars': [csv(header, cells(one)).replaceAll(',', '|'), 1],
  'JSON in cells, whole, damaged and missing': [
    `userId,subscription\n42,"${lines(one).replaceAll('"', '""')}"\n43,{\n44\n`,
    ['1:42', 'refused', 'refused'],
  ],
  'JSON in cells that are not quoted': [`id\tsubscription\n1\t${lines(one)}\n`, 1],
  'a quotation mark that is never closed': [
    csv(['note', ...header], ['"a', ...cells(one)], ['', ...cells(two)], ['', ...cells(three)]),
    ['refused', '2', '3'],
  ],
  'a quotation mark that a later row closes': [
    csv(['note', ...header], ['"a', ...cells(one)], ['', ...cells(two)], ['b"', ...cells(three)]),
    ['refused', '2', '3'],
  ],
  'a row with a cell too many': [csv(header, ['x', ...cells(one)], cells(two)), ['refused', '2']],
  'a user that a spreadsheet has shortened': [
    csv(
      ['userId', ...header],
      ['1.09E+17', ...cells(one)],
      ['12345678901234500', ...cells(two)],
      ['17', ...cells(three)],
    ),
    ['refused', 'refused', '3:17'],
  ],
  'a user with more digits than a number keeps': [
    `[{"userId":9007199254740993,${lines(one).slice(1)},{"userId":"9007199254740993",${lines(two).slice(1)}]`,
    ['refused', '2:9007199254740993'],
  ],
  'a user that was not decoded': [lines({ ...one, userId: 'm\ufffdller' }), ['refused']],
};

suite('files as programs write them', () => {
  for (const [name, [text, expected]] of Object.entries(shapes)) {
    test(name, async () => {
      const rows = typeof expected === 'number' ? ['1', '2', '3'].slice(0, expected) : expected;
      assert.deepEqual(await outcomes(text, 65_536), rows);
      if (text.length < 10_000) assert.deepEqual(await outcomes(text, 7), rows);
    });
  }

  test('a file that ends within its array is said', async () => {
    await assert.rejects(outcomes(JSON.stringify([one, two]).slice(0, -1)), { code: 'ERR_LINES_REFUSED' });
  });
});

const bytes = (text: string) => Buffer.from(text, 'base64url');

test('keys are read in every form', () => {
  const forms: readonly ((text: string) => unknown)[] = [
    (text) => ({ $binary: { base64: bytes(text).toString('base64'), subType: '00' } }),
    (text) => ({ $binary: bytes(text).toString('base64'), $type: '00' }),
    (text) => Object.fromEntries(bytes(text).entries()),
    (text) => JSON.stringify(Object.fromEntries(bytes(text).entries())),
    (text) => bytes(text).toJSON(),
    (text) => [...bytes(text)],
    (text) => String.raw`\x${bytes(text).toString('hex')}`,
    (text) => bytes(text).toString('hex').toUpperCase(),
    (text) => bytes(text).toString('base64').replaceAll(/.{20}/g, '$&\r\n'),
    (text) => bytes(text).toString('base64').replaceAll('+', ' '),
    (text) => ({ bytesValue: bytes(text).toString('base64') }),
  ];
  for (const form of forms) {
    const keys = { p256dh: form(one.keys.p256dh), auth: form(one.keys.auth) };
    const { subscription } = readImportedRow({ endpoint: one.endpoint, keys }, policy, publicKey, memberOf);
    assert.deepEqual(
      [encodeBase64url(subscription.p256dh), encodeBase64url(subscription.auth)],
      Object.values(one.keys),
    );
  }
});

test('facts that are not understood are left out, and others are read as programs write them', () => {
  const read = (facts: object) => readImportedRow({ ...one, ...facts }, policy, publicKey, memberOf);
  const understood = read({
    language: 'en_US.UTF-8',
    timeZone: 'W. Europe Standard Time',
    created_at: { _seconds: 1_772_366_400, _nanoseconds: 0 },
    channels: '{"news":false}',
    tags: '["beta"]',
  });
  assert.deepEqual(
    [
      understood.language,
      understood.timeZone,
      understood.createdAtMs,
      understood.channels,
      understood.assign?.tags,
    ],
    ['en-US', 'Europe/Berlin', 1_772_366_400_000, { news: false }, ['beta']],
  );
  assert.equal(read({ timeZone: 'GMT+1' }).timeZone, 'Etc/GMT-1');
  const { leftOut, ...rest } = read({
    language: 'Klingonish language',
    timeZone: 'Mars/Olympus',
    created_at: '0000-00-00 00:00:00',
    channels: 'web,mail',
    tags: ['ok', 'daily news'],
  });
  assert.deepEqual(leftOut.map(([fact]) => fact).toSorted(), [
    'choices of channels',
    'dates',
    'languages',
    'tags',
    'time zones',
  ]);
  assert.deepEqual(
    [rest.language, rest.timeZone, rest.createdAtMs, rest.channels, rest.assign?.tags],
    [undefined, undefined, undefined, undefined, ['ok']],
  );
  const ignoring = createMemberOf({}, ['Channels']);
  assert.deepEqual(readImportedRow({ ...one, channels: 'web' }, policy, publicKey, ignoring).leftOut, []);
});

test('exports of other services are recognised', () => {
  assert.match(
    findProvider({ player_id: '1', identifier: one.endpoint, web_auth: '', web_p256: '' })!,
    /OneSignal.*\. Put/s,
  );
  assert.match(findProvider({ uid: 'ada', fcmToken: 'x' })!, /Firebase.*\. Put/s);
  assert.match(findProvider({ ada: { push: `dJ3x8_kQ:APA91b${'x'.repeat(100)}` } })!, /Firebase/);
  assert.equal(findProvider({ ...one, userId: 'ada' }), undefined);
  const named = { identifier: one.endpoint, web_auth: one.keys.auth, web_p256: one.keys.p256dh };
  assert.equal(findProvider({ ...named, vapid_public_key: publicKey }), undefined);
  assert.ok(readImportedRow(named, policy, publicKey, memberOf));
});

const decode = async (given: Buffer, encoding?: string) => {
  let text = '';
  const pieces = Array.from({ length: Math.ceil(given.length / 3) }, (_, index) =>
    given.subarray(3 * index, 3 * index + 3),
  );
  for await (const chunk of decodeText(pieces, { label: 'The file', encoding, hasFlag: true })) text += chunk;
  return text;
};

test('bytes that are no text in the encoding are said with line, byte and the likely encoding', async () => {
  const text = 'name\nJürgen Müller 😀 中文\n';
  assert.equal(await decode(Buffer.from(text)), text);
  assert.equal(await decode(Buffer.from(`\ufeff${text}`)), text);
  assert.equal(await decode(Buffer.from(text, 'utf16le')), text);
  assert.equal(await decode(Buffer.from('J\u00fcrgen', 'latin1'), 'windows-1252'), 'J\u00fcrgen');
  await assert.rejects(decode(Buffer.from('a\nbc\u00e9d and more', 'latin1')), {
    code: 'ERR_FILE',
    message: 'The file is not in UTF-8: line 2 has the byte 0xE9 at position 5',
  });
  await assert.rejects(decode(Buffer.from(text).subarray(0, -2)), /ends within a character/);
  await assert.rejects(decode(Buffer.from('504b030414000000', 'hex')), /Excel workbook/);
});

test('files of all kinds, mixed and damaged: each row is counted, and nobody becomes somebody else', async () => {
  const { run } = await newData();
  for (let seed = 1; seed <= 12; seed += 1) await importGenerated(seed, run);
});
