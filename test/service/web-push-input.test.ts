// POST /webPush against everything that is not a subscription: the exact status and code of each, and the store as it
// was. Next to each kind of invalid input stand valid variants of it, which are accepted.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { Compile, type Validator } from 'typebox/compile';
import type { ErrorCode } from '../../src/errors/catalogue.ts';
import { decodeBase64, encodeBase64url } from '../../src/protocol/bytes.ts';
import { normalizeEndpoint } from '../../src/protocol/endpoint.ts';
import { admitted } from '../protocol/endpoints.ts';
import { dereference } from './dereference.ts';
import {
  assertProblem,
  exchange,
  newPoint,
  newSubscription,
  readDescription,
  startServiceForSuite,
} from './running-service.ts';

const good = newSubscription();
const offTheCurve = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 7)]).toString('base64');
const compressed = Buffer.concat([Buffer.of(2), newPoint().subarray(1, 33)]).toString('base64');
const withLength = (bytes: number): string => Buffer.alloc(bytes, 1).toString('base64');
const nested = (keys: object): object => ({ endpoint: good.endpoint, keys });

const allMissing = ['endpoint', 'p256dh', 'auth'].map((name) => `/${name} ERR_FIELD_MISSING`);

type Damage = readonly [what: string, code: string, damaged: (text: string, bytes: number) => string];

const damages: readonly Damage[] = [
  ['an empty text', 'ERR_SUBSCRIPTION_KEY_INVALID', () => ''],
  // the other faults of base64 are in test/protocol/subscription.test.ts
  ['white space around it', 'ERR_BASE64_INVALID', (text) => ` ${text}`],
  ['one byte less', 'ERR_SUBSCRIPTION_KEY_INVALID', (_text, bytes) => withLength(bytes - 1)],
  ['one byte more', 'ERR_SUBSCRIPTION_KEY_INVALID', (_text, bytes) => withLength(bytes + 1)],
];

/** With `pointer code` of each entry in `errors`. */
const badFields: readonly { what: string; body: unknown; errors: readonly string[] }[] = [
  { what: 'an empty object', body: {}, errors: allMissing },
  { what: 'members of other names only', body: { url: good.endpoint }, errors: allMissing },
  ...['endpoint', 'p256dh', 'auth'].flatMap((name) =>
    [true, [], {}, ['x']].map((value) => ({
      what: `${name} is ${JSON.stringify(value)}`,
      body: { ...good, [name]: value },
      errors: [`/${name} ERR_FIELD_TYPE`],
    })),
  ),
  ...[null, 7, '"a string"', [], [good]].map((body) => ({
    what: `${JSON.stringify(body).slice(0, 20)} in place of an object`,
    body,
    errors: [' ERR_FIELD_TYPE'],
  })),
  ...[null, 7, 'x', []].map((keys) => ({
    what: `keys is ${JSON.stringify(keys)}`,
    body: { endpoint: good.endpoint, keys },
    errors: ['/keys ERR_FIELD_TYPE'],
  })),
  {
    what: 'keys without members',
    body: nested({}),
    errors: ['/keys/p256dh ERR_FIELD_MISSING', '/keys/auth ERR_FIELD_MISSING'],
  },
  {
    what: 'keys with a bad auth',
    body: nested({ p256dh: good.p256dh, auth: '!' }),
    errors: ['/keys/auth ERR_BASE64_INVALID'],
  },
  {
    what: 'three wrong fields at once',
    body: { endpoint: 'nowhere', p256dh: 1, auth: '*' },
    errors: ['/endpoint ERR_ENDPOINT_INVALID', '/p256dh ERR_FIELD_TYPE', '/auth ERR_BASE64_INVALID'],
  },
  ...damages.flatMap(([what, code, damaged]) =>
    Object.entries({ p256dh: 65, auth: 16 }).map(([name, bytes]) => ({
      what: `${name} is ${what}`,
      body: { ...good, [name]: damaged(withLength(bytes), bytes) },
      errors: [`/${name} ${code}`],
    })),
  ),
  ...Object.entries({
    'off the curve': offTheCurve,
    'a compressed point': compressed,
  }).map(([what, p256dh]) => ({
    what: `p256dh is ${what}`,
    body: { ...good, p256dh },
    errors: ['/p256dh ERR_SUBSCRIPTION_KEY_INVALID'],
  })),
];

const goodEndpoints: readonly string[] = [
  ...admitted.filter((endpoint) => normalizeEndpoint(endpoint) === endpoint),
  'https://wns2-par02p.notify.windows.com/w/?token=a+b%2Bc%252B',
  'https://admitted.example.org/x',
  'https://a.b.admitted.example.com/x',
  'http://127.0.0.1:8091/wpush/x',
  `https://fcm.googleapis.com/fcm/send/${'x'.repeat(4096 - 36)}`,
];

describe('POST /webPush', () => {
  const service = startServiceForSuite({
    pushServices: ['https://admitted.example.org', 'https://*.admitted.example.com', 'http://127.0.0.1:8091'],
  });

  const post = (
    body: string | Uint8Array,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ): Promise<Response> => fetch(`${service.base}/webPush`, { method: 'POST', headers, body: body as string });

  async function assertRefused(
    answer: Promise<Response>,
    status: number,
    code: ErrorCode,
    errors?: readonly string[],
  ): Promise<void> {
    const problem = await assertProblem(answer, status, code);
    assert.deepEqual(
      problem.errors?.map((error) => `${error.pointer} ${error.code}`),
      errors,
    );
    assert.equal(await service.store.subscriptions.count(), 0);
    assert.deepEqual(
      service.records.filter(({ event }) => event !== undefined),
      [],
      'nothing is written to the console',
    );
  }

  for (const { what, body, errors } of badFields) {
    test(`refuses ${what}`, () =>
      assertRefused(post(JSON.stringify(body)), 400, 'ERR_SUBSCRIPTION_INVALID', errors));
  }

  // the others are in test/protocol/endpoint-policy.test.ts
  test('refuses an endpoint on another port of an admitted host', () => {
    const endpoint = 'https://admitted.example.org:444/x';
    return assertRefused(post(JSON.stringify({ ...good, endpoint })), 400, 'ERR_SUBSCRIPTION_INVALID', [
      '/endpoint ERR_ENDPOINT_HOST_REFUSED',
    ]);
  });

  const text = JSON.stringify(good);
  const malformed: Readonly<Record<string, string | Uint8Array>> = {
    'an empty body': '',
    'white space alone': ' \n',
    'an object cut short': text.slice(0, -1),
    'something behind the object': `${text}x`,
    'a trailing comma': text.replace('}', ',}'),
    'a comment': `/* */${text}`,
    'a control character in a string': text.replace('wpush', 'w\u0000push'),
    'brackets to the limit': '['.repeat(16_000),
    'invalid UTF-8': Buffer.concat([
      Buffer.from(text.slice(0, 20)),
      Buffer.of(0xff, 0xfe),
      Buffer.from('"}'),
    ]),
    'UTF-8 cut within a character': Buffer.from('{"endpoint":"ü').subarray(0, -1),
  };
  for (const [what, body] of Object.entries(malformed)) {
    test(`refuses ${what}`, () => assertRefused(post(body), 400, 'ERR_JSON_MALFORMED'));
  }

  test('refuses an array nested 8000 deep', () =>
    assertRefused(post('['.repeat(8000) + ']'.repeat(8000)), 400, 'ERR_SUBSCRIPTION_INVALID', [
      ' ERR_FIELD_TYPE',
    ]));

  for (const key of ['__proto__', 'constructor']) {
    test(`takes nothing from a member ${key}`, () =>
      assertRefused(post(`{"${key}": ${text}}`), 400, 'ERR_SUBSCRIPTION_INVALID', allMissing));
  }

  const refusedTypes: readonly Record<string, string>[] = [
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'application/jsonp' },
    { 'content-type': 'application/json+x' },
    { 'content-type': 'json' },
    { 'content-type': '*/*' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': 'application/json; charset=iso-8859-1' },
    { 'content-type': 'application/json; profile="a\\";b";charset="utf-16"' },
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  ];
  for (const headers of refusedTypes) {
    test(`refuses a body with ${JSON.stringify(headers)}`, () =>
      assertRefused(post(text, headers), 415, 'ERR_CONTENT_TYPE'));
  }

  test('refuses a body without a content type', () =>
    assertRefused(post(Buffer.from(text), {}), 415, 'ERR_CONTENT_TYPE'));

  for (const method of ['POST', 'DELETE']) {
    test(`refuses a ${method} without a body, whether it names a content type or not`, async () => {
      for (const type of ['', 'Content-Type: application/json\r\n', 'Content-Type: text/plain\r\n']) {
        const head = `${method} /webPush HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${type}\r\n`;
        const answer = await exchange(service.port, head);
        assert.match(answer, /^HTTP\/1\.1 400 [^]*ERR_FIELD_TYPE/);
      }
    });
  }

  for (const bytes of [16_385, 1_048_576]) {
    test(`refuses a body of ${bytes} bytes`, () =>
      assertRefused(post(JSON.stringify('x'.repeat(bytes - 2))), 413, 'ERR_BODY_TOO_LARGE'));
  }

  test('refuses a body over the limit that comes in chunks', async () => {
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`;
    const answer = await exchange(
      service.port,
      `POST /webPush HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(5)}`,
    );
    assert.match(answer, /^HTTP\/1\.1 413 /);
    assert.match(answer, /ERR_BODY_TOO_LARGE/);
  });

  describe('accepts valid variants', () => {
    let schema: Validator;

    before(async () => {
      const { paths } = dereference(await readDescription(service.base));
      const { requestBody } = paths['/webPush'].post;
      schema = Compile(requestBody.content['application/json'].schema);
    });

    const padded = { p256dh: good.p256dh, auth: good.auth };
    const urlSafe = {
      p256dh: encodeBase64url(decodeBase64(good.p256dh)!),
      auth: encodeBase64url(decodeBase64(good.auth)!),
    };
    const accepted: Readonly<Record<string, [string | Uint8Array, Record<string, string>?]>> = {
      'standard base64, padded': [JSON.stringify({ endpoint: good.endpoint, ...padded })],
      'standard base64, not padded': [
        JSON.stringify({
          endpoint: good.endpoint,
          p256dh: padded.p256dh.replaceAll('=', ''),
          auth: padded.auth.replaceAll('=', ''),
        }),
      ],
      'URL-safe base64, not padded': [JSON.stringify({ endpoint: good.endpoint, ...urlSafe })],
      'URL-safe base64, padded': [
        JSON.stringify({
          endpoint: good.endpoint,
          p256dh: `${urlSafe.p256dh}=`,
          auth: `${urlSafe.auth}==`,
        }),
      ],
      'the shape of PushSubscription.toJSON()': [
        JSON.stringify({ endpoint: good.endpoint, expirationTime: null, keys: urlSafe }),
      ],
      'further members': [JSON.stringify({ ...good, id: 7, __proto__x: {}, nested: [[[]]] })],
      'a member __proto__ beside them': [`{"__proto__": {"auth": 1}, ${text.slice(1)}`],
      'a byte order mark': [`\ufeff${text}`],
      'white space around the object': [`\r\n\t ${text} \n`],
      'escaped characters': [text.replace('updates', '\\u0075pdates').replaceAll('/', '\\/')],
      'the charset named': [text, { 'content-type': 'application/json; charset=UTF-8' }],
      'the identity coding, in another case': [
        text,
        { 'content-type': 'application/json', 'content-encoding': 'Identity' },
      ],
      'a text in a parameter that looks like a charset': [
        text,
        { 'content-type': 'application/json; profile="a;charset=latin1"' },
      ],
      'an upper-case content type': [text, { 'content-type': 'Application/JSON' }],
      'a body of exactly 16 384 bytes': [text + ' '.repeat(16_384 - text.length)],
    };
    for (const [what, [body, headers]] of Object.entries(accepted)) {
      test(what, async () => {
        const response = await post(body, headers);
        assert.equal(response.status, 200, await response.clone().text());
        const given = Buffer.from(body)
          .toString()
          .replace(/^\ufeff/, '');
        assert.deepEqual(schema.Errors(JSON.parse(given)), [], 'the description document takes it, too');
        const stored = await service.store.subscriptions.findByEndpoint(good.endpoint);
        assert.deepEqual(Buffer.from(stored!.p256dh), Buffer.from(good.p256dh, 'base64'));
        assert.deepEqual(Buffer.from(stored!.auth), Buffer.from(good.auth, 'base64'));
        assert.equal(await service.store.subscriptions.count(), 1);
      });
    }

    for (const endpoint of goodEndpoints) {
      test(`the endpoint ${endpoint.slice(0, 80)}, verbatim`, async () => {
        const response = await post(JSON.stringify({ ...good, endpoint }));
        assert.equal(response.status, 200, await response.clone().text());
        assert.equal((await service.store.subscriptions.findByEndpoint(endpoint))?.endpoint, endpoint);
        assert.deepEqual(schema.Errors({ ...good, endpoint }), [], 'the description document takes it, too');
      });
    }
  });
});
