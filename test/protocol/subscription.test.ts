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
const urlSafe = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

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

const accepted: readonly [string, unknown][] = [
  ['three strings in standard base64', good],
  ['URL-safe base64 without padding', { endpoint, p256dh: urlSafe(point), auth: urlSafe(secret) }],
  ['URL-safe base64 with padding', { endpoint, p256dh: `${urlSafe(point)}=`, auth: `${urlSafe(secret)}==` }],
  [
    'standard base64 without padding',
    { endpoint, p256dh: p256dh.replaceAll('=', ''), auth: auth.replaceAll('=', '') },
  ],
  ['the shape of PushSubscription.toJSON()', { endpoint, expirationTime: null, keys: { p256dh, auth } }],
  ['further members', { ...good, more: { deep: [1, 2, 3] }, expirationTime: 1 }],
  ['further members of keys', { endpoint, keys: { p256dh, auth, more: 1 } }],
  ['keys beside the three strings', { ...good, keys: 'ignored' }],
  ['an endpoint of WNS', { ...good, endpoint: 'https://db5p.notify.windows.com/w/?token=BQ%2bPl%2BvK+%3d' }],
];
for (const [what, value] of accepted) {
  test(`accepted: ${what}`, () => {
    const subscription = parseSubscription(value, policy);
    assert.equal(subscription.endpoint, (value as { endpoint: string }).endpoint);
    assert.deepEqual(Buffer.from(subscription.p256dh), Buffer.from(point));
    assert.deepEqual(Buffer.from(subscription.auth), Buffer.from(secret));
  });
}

const offCurve = Buffer.from(point);
offCurve.writeUInt8(offCurve.readUInt8(64) ^ 1, 64);
const withPrefix = (prefix: number): Buffer => Buffer.concat([Buffer.from([prefix]), point.subarray(1)]);
const key = 'ERR_SUBSCRIPTION_KEY_INVALID';
const base64 = 'ERR_BASE64_INVALID';
const type = 'ERR_FIELD_TYPE';
const missing = 'ERR_FIELD_MISSING';

const refused: readonly [string, unknown, readonly string[]][] = [
  ['undefined', undefined, [` ${type}`]],
  ['null', null, [` ${type}`]],
  ['a string', JSON.stringify(good), [` ${type}`]],
  ['a number', 1, [` ${type}`]],
  ['a boolean', true, [` ${type}`]],
  ['an array', [good], [` ${type}`]],
  ['an empty array', [], [` ${type}`]],
  ['an empty object', {}, [`/endpoint ${missing}`, `/p256dh ${missing}`, `/auth ${missing}`]],
  ['endpoint missing', { p256dh, auth }, [`/endpoint ${missing}`]],
  ['endpoint null', { ...good, endpoint: null }, [`/endpoint ${type}`]],
  ['endpoint a number', { ...good, endpoint: 1 }, [`/endpoint ${type}`]],
  ['endpoint an array', { ...good, endpoint: [endpoint] }, [`/endpoint ${type}`]],
  ['endpoint an object', { ...good, endpoint: { href: endpoint } }, [`/endpoint ${type}`]],
  ['endpoint empty', { ...good, endpoint: '' }, ['/endpoint ERR_ENDPOINT_INVALID']],
  [
    'endpoint too long',
    { ...good, endpoint: endpoint.padEnd(4097, 'x') },
    ['/endpoint ERR_ENDPOINT_TOO_LONG'],
  ],
  [
    'endpoint over http',
    { ...good, endpoint: endpoint.replace('s:', ':') },
    ['/endpoint ERR_ENDPOINT_INVALID'],
  ],
  [
    'endpoint elsewhere',
    { ...good, endpoint: 'https://push.example.org/x' },
    ['/endpoint ERR_ENDPOINT_HOST_REFUSED'],
  ],
  ['p256dh missing', { endpoint, auth }, [`/p256dh ${missing}`]],
  ['p256dh null', { ...good, p256dh: null }, [`/p256dh ${type}`]],
  ['p256dh a boolean', { ...good, p256dh: false }, [`/p256dh ${type}`]],
  ['p256dh bytes', { ...good, p256dh: [...point] }, [`/p256dh ${type}`]],
  ['p256dh empty', { ...good, p256dh: '' }, [`/p256dh ${key}`]],
  ['p256dh with a line break', { ...good, p256dh: `${p256dh}\n` }, [`/p256dh ${base64}`]],
  ['p256dh with a space', { ...good, p256dh: ` ${p256dh}` }, [`/p256dh ${base64}`]],
  ['p256dh in hexadecimal', { ...good, p256dh: Buffer.from(point).toString('hex') }, [`/p256dh ${key}`]],
  ['p256dh of an impossible length', { ...good, p256dh: 'A'.repeat(85) }, [`/p256dh ${base64}`]],
  ['p256dh with an asterisk', { ...good, p256dh: `*${p256dh.slice(1)}` }, [`/p256dh ${base64}`]],
  ['p256dh in both alphabets', { ...good, p256dh: `-+${p256dh.slice(2)}` }, [`/p256dh ${base64}`]],
  ['p256dh of 64 bytes', { ...good, p256dh: standard(point.subarray(1)) }, [`/p256dh ${key}`]],
  [
    'p256dh of 66 bytes',
    { ...good, p256dh: standard(Buffer.concat([point, point.subarray(0, 1)])) },
    [`/p256dh ${key}`],
  ],
  ['p256dh off the curve', { ...good, p256dh: standard(offCurve) }, [`/p256dh ${key}`]],
  ['p256dh all zeros', { ...good, p256dh: standard(Buffer.alloc(65)) }, [`/p256dh ${key}`]],
  ['p256dh (0, 0)', { ...good, p256dh: standard(Buffer.alloc(65).fill(4, 0, 1)) }, [`/p256dh ${key}`]],
  ['p256dh all ones', { ...good, p256dh: standard(Buffer.alloc(65, 0xff)) }, [`/p256dh ${key}`]],
  ['p256dh beginning with 0x02', { ...good, p256dh: standard(withPrefix(2)) }, [`/p256dh ${key}`]],
  ['p256dh beginning with 0x06', { ...good, p256dh: standard(withPrefix(6)) }, [`/p256dh ${key}`]],
  ['p256dh beginning with 0x07', { ...good, p256dh: standard(withPrefix(7)) }, [`/p256dh ${key}`]],
  [
    'p256dh compressed',
    { ...good, p256dh: standard(createECDH('prime256v1').generateKeys(undefined, 'compressed')) },
    [`/p256dh ${key}`],
  ],
  [
    'p256dh a SubjectPublicKeyInfo',
    { ...good, p256dh: standard(Buffer.alloc(91, 0x30)) },
    [`/p256dh ${key}`],
  ],
  ['auth missing', { endpoint, p256dh }, [`/auth ${missing}`]],
  ['auth null', { ...good, auth: null }, [`/auth ${type}`]],
  ['auth an object', { ...good, auth: {} }, [`/auth ${type}`]],
  ['auth empty', { ...good, auth: '' }, [`/auth ${key}`]],
  ['auth of 15 bytes', { ...good, auth: standard(Buffer.alloc(15)) }, [`/auth ${key}`]],
  ['auth of 17 bytes', { ...good, auth: standard(Buffer.alloc(17)) }, [`/auth ${key}`]],
  ['auth no base64', { ...good, auth: 'not base64!' }, [`/auth ${base64}`]],
  ['auth with too little padding', { ...good, auth: `${urlSafe(secret)}=` }, [`/auth ${base64}`]],
  ['keys null', { endpoint, keys: null }, [`/keys ${type}`]],
  ['keys an array', { endpoint, keys: [p256dh, auth] }, [`/keys ${type}`]],
  ['keys a string', { endpoint, keys: p256dh }, [`/keys ${type}`]],
  ['keys empty', { endpoint, keys: {} }, [`/keys/p256dh ${missing}`, `/keys/auth ${missing}`]],
  ['keys.p256dh missing', { endpoint, keys: { auth } }, [`/keys/p256dh ${missing}`]],
  ['keys.auth of 4 bytes', { endpoint, keys: { p256dh, auth: 'AAAA' } }, [`/keys/auth ${key}`]],
  ['the two shapes mixed', { endpoint, p256dh, keys: { auth } }, [`/auth ${missing}`]],
  ['the two shapes mixed the other way', { endpoint, auth, keys: { p256dh } }, [`/p256dh ${missing}`]],
  [
    'everything wrong at once',
    { endpoint: 'nonsense', p256dh: 1, auth: '*' },
    ['/endpoint ERR_ENDPOINT_INVALID', `/p256dh ${type}`, `/auth ${base64}`],
  ],
  [
    'endpoint wrong and keys of a wrong type',
    { endpoint: 1, keys: 1 },
    [`/endpoint ${type}`, `/keys ${type}`],
  ],
];
for (const [what, value, faults] of refused) {
  test(`refused: ${what}`, () => assert.deepEqual(faultsOf(value), faults));
}

test('members of the prototype are not taken for fields', () => {
  const inherited: unknown = JSON.parse('{"__proto__": {"endpoint": "https://fcm.googleapis.com/x"}}');
  assert.deepEqual(faultsOf(inherited), [`/endpoint ${missing}`, `/p256dh ${missing}`, `/auth ${missing}`]);
});

test('every fault says in words what is wrong and what is needed', () => {
  assert.throws(() => parseSubscription({ ...good, auth: 'AAAA' }, policy), {
    message: 'auth has 3 bytes; 16 are needed.',
  });
});

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
const coordinate = fc.uint8Array({ minLength: 32, maxLength: 32 });

const toHex = (value: bigint): string => value.toString(16).padStart(64, '0');
const toPoint = (x: bigint, y: bigint): Uint8Array => Buffer.from(`04${toHex(x)}${toHex(y)}`, 'hex');

test('each point on the curve is taken, wherever its bytes begin', () => {
  fc.assert(
    fc.property(points, fc.nat(9), (bytes, offset) => {
      const shifted = new Uint8Array(offset + bytes.length + 3);
      shifted.set(bytes, offset);
      assert.equal(opensslTakes(bytes), true);
      assert.equal(isP256Point(shifted.subarray(offset, offset + bytes.length)), true);
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

test('any two coordinates are taken where OpenSSL takes them', () => {
  fc.assert(
    fc.property(coordinate, coordinate, (x, y) => {
      const bytes = Uint8Array.of(4, ...x, ...y);
      assert.equal(isP256Point(bytes), opensslTakes(bytes));
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

test('other forms are refused: compressed, hybrid, too short or too long', () => {
  const ecdh = createECDH(curve);
  ecdh.setPrivateKey(Buffer.alloc(32, 7));
  const bytes = new Uint8Array(ecdh.getPublicKey());
  assert.equal(isP256Point(bytes), true);
  assert.equal(isP256Point(ecdh.getPublicKey(null, 'compressed')), false);
  assert.equal(isP256Point(ecdh.getPublicKey(null, 'hybrid')), false);
  assert.equal(isP256Point(bytes.subarray(0, 64)), false);
  assert.equal(isP256Point(Uint8Array.of(...bytes, 0)), false);
  assert.equal(isP256Point(new Uint8Array(0)), false);
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

test('nothing is no bytes', () => assert.deepEqual(decodeBase64(''), new Uint8Array(0)));

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
