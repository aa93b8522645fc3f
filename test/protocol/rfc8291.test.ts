// RFC 8291: the example of §5, the limit of §4, and bad keys.
import assert from 'node:assert/strict';
import { createECDH } from 'node:crypto';
import { test } from 'node:test';
import {
  createEncryptBatch,
  createEncrypter,
  type Encrypt,
  encryptPushMessage,
  maxPlaintextBytes,
} from '../../src/protocol/message-encryption.ts';
import { decryptPushMessage, generateUserAgentKeys } from '../../src/protocol/user-agent.ts';

const bytes = (base64url: string): Buffer => Buffer.from(base64url, 'base64url');

const plaintext = Buffer.from('When I grow up, I want to be a watermelon');
const auth = bytes('BTBZMqHH6r4Tts7J_aSIgg');
const salt = bytes('DGv6ra1nlYgDCS1FRnbzlw');
const userAgentPublicKey = bytes(
  'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
);
const userAgentPrivateKey = bytes('q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94');
const applicationServerPrivateKey = bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw');
const body = bytes(
  'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3' +
    'jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
);

const subscription = { endpoint: 'https://push.example.net/p/1', p256dh: userAgentPublicKey, auth };
const userAgentKeys = { privateKey: userAgentPrivateKey, p256dh: userAgentPublicKey, auth };

test('the message of §5 is written byte for byte', () => {
  const written = encryptPushMessage(plaintext, subscription, { salt, applicationServerPrivateKey });
  assert.deepEqual(Buffer.from(written), body);
});

test('the message of §5 is read', () => {
  assert.deepEqual(Buffer.from(decryptPushMessage(body, userAgentKeys)), plaintext);
});

const ways: readonly [string, Encrypt][] = [
  ['encryptPushMessage', (text, to) => encryptPushMessage(text, to)],
  ['an encrypter', createEncrypter()],
];

for (const [name, encrypt] of ways) {
  test(`${name}: a body has 4096 bytes at most, and one byte of plaintext more is refused`, () => {
    assert.equal(maxPlaintextBytes, 3993);
    const largest = encrypt(new Uint8Array(maxPlaintextBytes), subscription);
    assert.equal(largest.length, 4096);
    assert.equal(decryptPushMessage(largest, userAgentKeys).length, maxPlaintextBytes);
    assert.throws(() => encrypt(new Uint8Array(maxPlaintextBytes + 1), subscription), {
      code: 'ERR_PAYLOAD_TOO_LARGE',
      message: 'The payload has 3994 bytes; at most 3993 fit into one push message.',
    });
  });

  test(`${name}: every message has its own key pair and salt`, () => {
    const salts = new Set<string>();
    const keys = new Set<string>();
    for (let count = 0; count < 1000; count += 1) {
      const message = Buffer.from(encrypt(plaintext, subscription));
      salts.add(message.toString('hex', 0, 16));
      keys.add(message.toString('hex', 21, 86));
    }
    assert.equal(salts.size, 1000);
    assert.equal(keys.size, 1000);
  });

  test(`${name}: an earlier message stays as it is while later ones are made`, () => {
    const first = encrypt(plaintext, subscription);
    const before = Buffer.from(first);
    for (let count = 0; count < 600; count += 1) encrypt(plaintext, subscription);
    assert.deepEqual(Buffer.from(first), before);
  });

  const offCurve = Buffer.from(userAgentPublicKey);
  offCurve.writeUInt8(offCurve.readUInt8(64) ^ 1, 64);
  const beyondPrime = Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 0xff)]);
  const compressed = createECDH('prime256v1').generateKeys(undefined, 'compressed');
  const hybrid = Buffer.from(userAgentPublicKey);
  hybrid.writeUInt8(6 + (hybrid.readUInt8(64) & 1), 0);
  const notOnCurve = 'is not a point on the curve P-256.';
  const wanted = 'give a Uint8Array of 65 bytes.';
  const badPoints: readonly [what: string, p256dh: unknown, fault: string][] = [
    ['a point off the curve', offCurve, notOnCurve],
    ['coordinates beyond the prime', beyondPrime, notOnCurve],
    ['the point (0, 0)', Buffer.concat([Buffer.from([4]), Buffer.alloc(64)]), notOnCurve],
    ['a compressed point', compressed, `has 33 bytes; ${wanted}`],
    ['a hybrid point', hybrid, 'is not an uncompressed point, which begins with the byte 0x04.'],
    ['the point at infinity', Buffer.alloc(1), `has 1 bytes; ${wanted}`],
    ['no bytes', Buffer.alloc(0), `has 0 bytes; ${wanted}`],
    ['64 bytes', userAgentPublicKey.subarray(1), `has 64 bytes; ${wanted}`],
    ['66 bytes', Buffer.concat([userAgentPublicKey, Buffer.alloc(1)]), `has 66 bytes; ${wanted}`],
    ['text', 'B', `is of type string; ${wanted}`],
    ['null', null, `is of type null; ${wanted}`],
  ];
  for (const [what, p256dh, fault] of badPoints) {
    test(`${name}: ${what} for p256dh is refused, and the next message goes through`, () => {
      const faulty = { ...subscription, p256dh: p256dh as Uint8Array };
      assert.throws(() => encrypt(plaintext, faulty), {
        code: 'ERR_SUBSCRIPTION_KEY_INVALID',
        message: `p256dh ${fault}`,
      });
      assert.deepEqual(
        Buffer.from(decryptPushMessage(encrypt(plaintext, subscription), userAgentKeys)),
        plaintext,
      );
    });
  }

  for (const length of [0, 15, 17]) {
    test(`${name}: an auth of ${length} bytes is refused`, () => {
      const faulty = { ...subscription, auth: Buffer.alloc(length) };
      assert.throws(() => encrypt(plaintext, faulty), {
        code: 'ERR_SUBSCRIPTION_KEY_INVALID',
        message: new RegExp(`${length} bytes; give a Uint8Array of 16 bytes`),
      });
    });
  }
}

const amounts: readonly unknown[] = [
  -1,
  -50,
  1.5,
  Number.NaN,
  Infinity,
  -Infinity,
  3994,
  2 ** 32,
  '1',
  null,
  1n,
  [],
];
for (const paddingBytes of amounts) {
  test(`${String(paddingBytes)} (${typeof paddingBytes}) bytes of padding are refused, with the bounds`, () => {
    const options = { paddingBytes: paddingBytes as number };
    assert.throws(() => encryptPushMessage(plaintext, subscription, options), {
      code: 'ERR_MESSAGE_INVALID',
      message: /^paddingBytes is .+; give a whole number from 0 to 3993\.$/,
    });
  });
}

test('padding is gone when read; plaintext and padding together have 3993 bytes at most', () => {
  const room = maxPlaintextBytes - plaintext.length;
  const fullest = encryptPushMessage(plaintext, subscription, { paddingBytes: room });
  assert.equal(fullest.length, 4096);
  assert.deepEqual(Buffer.from(decryptPushMessage(fullest, userAgentKeys)), plaintext);
  assert.throws(() => encryptPushMessage(plaintext, subscription, { paddingBytes: room + 1 }), {
    code: 'ERR_PAYLOAD_TOO_LARGE',
    message: `The payload has 41 bytes and ${room + 1} bytes of padding; at most 3993 fit into one push message.`,
  });
});

const badOptions: readonly [name: string, value: unknown, fault: string][] = [
  ['salt', Buffer.alloc(15), 'has 15 bytes; give a Uint8Array of 16 bytes.'],
  ['salt', Buffer.alloc(17), 'has 17 bytes; give a Uint8Array of 16 bytes.'],
  ['salt', 'a'.repeat(16), 'is of type string; give a Uint8Array of 16 bytes.'],
  ['applicationServerPrivateKey', Buffer.alloc(31, 1), 'has 31 bytes; give a Uint8Array of 32 bytes.'],
  ['applicationServerPrivateKey', Buffer.alloc(32), 'is not a scalar of P-256.'],
  ['applicationServerPrivateKey', Buffer.alloc(32, 0xff), 'is not a scalar of P-256.'],
  ['applicationServerPrivateKey', 'a'.repeat(43), 'is of type string; give a Uint8Array of 32 bytes.'],
];
for (const [name, value, fault] of badOptions) {
  test(`an option is refused: ${name} ${fault}`, () => {
    assert.throws(() => encryptPushMessage(plaintext, subscription, { [name]: value }), {
      code: 'ERR_MESSAGE_INVALID',
      message: `${name} ${fault}`,
    });
  });
}

test('an error has what caused it', () => {
  const offCurve = { ...subscription, p256dh: Buffer.alloc(65).fill(4, 0, 1) };
  for (const call of [
    () => encryptPushMessage(plaintext, offCurve),
    () => encryptPushMessage(plaintext, subscription, { applicationServerPrivateKey: Buffer.alloc(32) }),
    () => decryptPushMessage(body, generateUserAgentKeys()),
  ]) {
    assert.throws(call, (error: Error) => error.cause instanceof Error);
  }
});

for (const [name, encrypt] of ways) {
  for (const [what, text] of [
    ['text', 'text'],
    ['an array', [1, 2]],
    ['nothing', undefined],
  ] as const) {
    test(`${name}: a plaintext that is ${what} is refused`, () => {
      assert.throws(() => encrypt(text as unknown as Uint8Array, subscription), {
        code: 'ERR_MESSAGE_INVALID',
        message: /^The plaintext is of type /,
      });
    });
  }
}

for (const [name, value] of [
  ['privateKey', Buffer.alloc(31, 1)],
  ['p256dh', userAgentPublicKey.subarray(1)],
  ['auth', Buffer.alloc(15)],
] as const) {
  test(`a message is not decrypted where ${name} has ${value.length} bytes`, () => {
    assert.throws(() => decryptPushMessage(body, { ...userAgentKeys, [name]: value }), {
      code: 'ERR_DECRYPTION_FAILED',
      message: new RegExp(`^${name} has ${value.length} bytes`),
    });
  });
}

test('a message for somebody else cannot be read', () => {
  const others = generateUserAgentKeys();
  assert.throws(() => decryptPushMessage(body, others), { code: 'ERR_DECRYPTION_FAILED' });
  assert.throws(() => decryptPushMessage(body, { ...userAgentKeys, auth: others.auth }), {
    code: 'ERR_DECRYPTION_FAILED',
  });
});

test('a message whose key id is no point cannot be read', () => {
  const changed = Buffer.from(body);
  changed.writeUInt8(changed.readUInt8(85) ^ 1, 85);
  assert.throws(() => decryptPushMessage(changed, userAgentKeys), {
    code: 'ERR_DECRYPTION_FAILED',
    message: 'The key id of the message is not a point on P-256.',
  });
});

test('each message of a batch has its body or its error, in the order of the messages', () => {
  const [first, second, third] = [generateUserAgentKeys(), generateUserAgentKeys(), generateUserAgentKeys()];
  const [one, refused, tooLarge, two] = createEncryptBatch(createEncrypter())([
    { plaintext: Buffer.from('one'), subscription: first },
    { plaintext: Buffer.from('x'), subscription: { ...second, auth: new Uint8Array(15) } },
    { plaintext: new Uint8Array(3994), subscription: second },
    { plaintext: Buffer.from('two'), subscription: third },
  ]);
  assert.equal(String(Buffer.from(decryptPushMessage(one as Uint8Array, first))), 'one');
  assert.equal(String(Buffer.from(decryptPushMessage(two as Uint8Array, third))), 'two');
  assert.equal((refused as { code?: string }).code, 'ERR_SUBSCRIPTION_KEY_INVALID');
  assert.equal((tooLarge as { code?: string }).code, 'ERR_PAYLOAD_TOO_LARGE');
});

test('an error of the program is thrown, not returned', () => {
  const encryptBatch = createEncryptBatch(() => {
    throw new TypeError('a bug');
  });
  const message = { plaintext: new Uint8Array(1), subscription: generateUserAgentKeys() };
  assert.throws(() => encryptBatch([message]), { name: 'TypeError', message: 'a bug' });
});
