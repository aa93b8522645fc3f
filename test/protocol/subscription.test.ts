import assert from 'node:assert/strict';
import { createECDH, ECDH } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { decodeBase64, encodeBase64url } from '../../src/protocol/bytes.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { isP256Point } from '../../src/protocol/p256.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { generateUserAgentKeys } from '../../src/protocol/user-agent.ts';

const policy = createEndpointPolicy();
const { p256dh: point, auth: secret } = generateUserAgentKeys();
const standard = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const endpoint = 'https://fcm.googleapis.com/fcm/send/dSbTwHYXBxQ:APA91bFj';
const p256dh = standard(point);
const auth = standard(secret);
const good = { endpoint, p256dh, auth };

/** The faults as `pointer code`, or the empty list where it is accepted. */
function faultsOf(value: unknown): string[] {
  try {
    parseSubscription(value, policy);
    return [];
  } catch (error) {
    assert.ok(error instanceof DeskbellError);
    assert.equal(error.code, 'ERR_SUBSCRIPTION_INVALID');
    assert.ok(!error.message.includes(p256dh) && !error.message.includes(auth), 'no keys in the message');
    return error.fields.map((field) => `${field.pointer} ${field.code}`);
  }
}

test('accepted: an endpoint of WNS, with keys beside the three strings', () => {
  const wns = 'https://db5p.notify.windows.com/w/?token=BQ%2bPl%2BvK+%3d';
  const subscription = parseSubscription({ endpoint: wns, p256dh, auth, keys: 'ignored' }, policy);
  assert.equal(subscription.endpoint, wns);
  assert.deepEqual(Buffer.from(subscription.p256dh), Buffer.from(point));
  assert.deepEqual(Buffer.from(subscription.auth), Buffer.from(secret));
});

const withPrefix = (prefix: number): Buffer => Buffer.concat([Buffer.from([prefix]), point.subarray(1)]);
const key = 'ERR_SUBSCRIPTION_KEY_INVALID';
const type = 'ERR_FIELD_TYPE';
const missing = 'ERR_FIELD_MISSING';

// the other faults are refused in test/service/web-push-input.test.ts
const refused: readonly [string, unknown, readonly string[]][] = [
  ['undefined', undefined, [` ${type}`]],
  ['p256dh bytes', { ...good, p256dh: [...point] }, [`/p256dh ${type}`]],
  ['p256dh in hexadecimal', { ...good, p256dh: Buffer.from(point).toString('hex') }, [`/p256dh ${key}`]],
  ['p256dh all zeros', { ...good, p256dh: standard(Buffer.alloc(65)) }, [`/p256dh ${key}`]],
  ['p256dh beginning with 0x07', { ...good, p256dh: standard(withPrefix(7)) }, [`/p256dh ${key}`]],
  [
    'auth with too little padding',
    { ...good, auth: `${Buffer.from(secret).toString('base64url')}=` },
    ['/auth ERR_BASE64_INVALID'],
  ],
  ['keys.p256dh missing', { endpoint, keys: { auth } }, [`/keys/p256dh ${missing}`]],
  ['the two shapes mixed', { endpoint, p256dh, keys: { auth } }, [`/auth ${missing}`]],
  ['the two shapes mixed the other way', { endpoint, auth, keys: { p256dh } }, [`/p256dh ${missing}`]],
  [
    'endpoint wrong and keys of a wrong type',
    { endpoint: 1, keys: 1 },
    [`/endpoint ${type}`, `/keys ${type}`],
  ],
];
for (const [what, value, faults] of refused) {
  test(`refused: ${what}`, () => assert.deepEqual(faultsOf(value), faults));
}

for (const [value, message] of [
  [[], 'An object is needed, not array.'],
  [{ endpoint, keys: 1 }, 'An object is needed, not number.'],
  [{ p256dh, auth: null }, 'endpoint is missing. auth must be a string, not null.'],
  [{ ...good, auth: '*' }, 'auth is not base64 (standard or URL-safe, padded or not).'],
  [{ ...good, auth: 'AAAA' }, 'auth has 3 bytes; 16 are needed.'],
  [{ ...good, p256dh: standard(withPrefix(5)) }, 'p256dh is not an uncompressed point on the curve P-256.'],
  [
    { ...good, endpoint: endpoint.padEnd(4097, 'a') },
    'The endpoint has 4097 characters; at most 4096 are allowed.',
  ],
  [{ ...good, endpoint: '/fcm/send/a' }, 'The endpoint is not an absolute https: URL.'],
  [{ ...good, endpoint: 'http://fcm.googleapis.com/a' }, 'The endpoint must begin with https:.'],
  [
    { ...good, endpoint: 'http://127.0.0.1:8090/push/secret' },
    'The endpoint must begin with https:, unless "pushServices" names its push service (--push-services http://127.0.0.1:8090).',
  ],
] as const) {
  test(`what is wrong is said in words: ${message}`, () =>
    assert.throws(() => parseSubscription(value, policy), { message }));
}

// Which points are taken: OpenSSL says the same of each.

const curve = 'prime256v1';
const prime = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;

function opensslTakes(points: Uint8Array): boolean {
  try {
    ECDH.convertKey(points, curve, undefined, undefined, 'compressed');
    return true;
  } catch {
    return false;
  }
}

const scalar = fc
  .uint8Array({ minLength: 31, maxLength: 31 })
  .filter((bytes) => bytes.some((byte) => byte > 0));
const points = scalar.map((bytes) => {
  const ecdh = createECDH(curve);
  ecdh.setPrivateKey(bytes);
  return new Uint8Array(ecdh.getPublicKey());
});

const toHex = (value: bigint): string => value.toString(16).padStart(64, '0');
const toPoint = (x: bigint, y: bigint): Uint8Array => Buffer.from(`04${toHex(x)}${toHex(y)}`, 'hex');

test('each point on the curve is taken, wherever its bytes begin', () => {
  fc.assert(
    fc.property(points, fc.nat(9), (bytes, offset) => {
      const shifted = new Uint8Array(offset + bytes.length + 3);
      shifted.set(bytes, offset);
      assert.equal(opensslTakes(bytes), true);
      assert.equal(isP256Point(shifted.subarray(offset, offset + bytes.length)), true);
      assert.equal(isP256Point(shifted.subarray(offset, offset + bytes.length + 1)), false, 'too long');
      assert.equal(isP256Point(bytes.subarray(1)), false, 'too short');
    }),
  );
});

test('a point with one changed bit is taken where OpenSSL takes it', () => {
  fc.assert(
    fc.property(points, fc.nat(64), fc.nat(7), (bytes, at, bit) => {
      const changed = Uint8Array.from(bytes);
      changed[at]! ^= 1 << bit;
      assert.equal(isP256Point(changed), changed[0] === 4 && opensslTakes(changed));
    }),
  );
});

test('a coordinate that is the prime or more is refused, even where it is on the curve without it', () => {
  const compressed = Buffer.from(`02${toHex(5n)}`, 'hex');
  const uncompressed = ECDH.convertKey(compressed, curve, undefined, 'hex', 'uncompressed') as string;
  const y = BigInt(`0x${uncompressed.slice(66)}`);
  assert.equal(isP256Point(toPoint(5n, y)), true);
  assert.equal(isP256Point(toPoint(5n, prime - y)), true);
  for (const outside of [
    toPoint(5n + prime, y),
    toPoint(2n ** 256n - 1n, 2n ** 256n - 1n),
    toPoint(0n, 0n),
    toPoint(prime, 0n),
  ]) {
    assert.equal(opensslTakes(outside), false);
    assert.equal(isP256Point(outside), false);
  }
});

const refusedTexts: readonly [string, string][] = [
  ['a space', 'QUJD QUJD'],
  ['a leading space', ' QUJD'],
  ['a trailing line break', 'QUJD\n'],
  ['a line break inside', 'QUJD\r\nQUJD'],
  ['a tab', 'QUJD\t'],
  ['mixed alphabets', '-+-+'],
  ['one character', 'Q'],
  ['length mod 4 = 1', 'QUJDQ'],
  ['padding that makes no multiple of 4', 'QUI=='],
  ['too little padding', 'QQ='],
  ['three padding characters', 'Q==='],
  ['padding alone', '='],
  ['padding alone, twice', '=='],
  ['padding inside', 'QQ==QUJD'],
  ['padding behind full groups', 'QUJD===='],
  ['an asterisk', 'QUJ*'],
  ['a full stop', 'QUJ.'],
  ['a percent-encoded slash', 'QUJD%2F'],
  ['a letter beyond ASCII', 'QUJÄ'],
  ['a zero byte', 'QUJD\0'],
];
for (const [what, text] of refusedTexts) {
  test(`${what} is refused`, () => assert.equal(decodeBase64(text), undefined));
}

test('any bytes come back from both alphabets, padded or not', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const inStandard = Buffer.from(bytes).toString('base64');
      const inUrlSafe = encodeBase64url(bytes);
      const texts = [
        inStandard,
        inStandard.replaceAll('=', ''),
        inUrlSafe,
        inUrlSafe.padEnd(Math.ceil(inUrlSafe.length / 4) * 4, '='),
      ];
      for (const text of texts) assert.deepEqual(decodeBase64(text), bytes);
    }),
  );
});

test('a view into a larger buffer is written alone', () => {
  assert.equal(encodeBase64url(Buffer.from('xABCx').subarray(1, 4)), 'QUJD');
});
