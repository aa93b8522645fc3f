// Key pairs as openssl, py-vapid and other tools write them: taken whole, or refused with the reason and without the key.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createECDH, createPrivateKey, ECDH, randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { parseKeyPair } from '../../src/cli/input/import-keys.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { openssl, skipWithout } from '../../scripts/install-test-tools.ts';

const keysIn = (given: string | Uint8Array) => {
  const { publicKey, privateKey } = parseKeyPair(given);
  return { publicKey, privateKey };
};

const run = (input: string, ...words: readonly string[]): string =>
  execFileSync('openssl', words, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] });

suite('keys in PEM', { skip: skipWithout('keys that openssl makes', [openssl]) }, () => {
  /** EC PARAMETERS, then EC PRIVATE KEY (SEC1). */
  const sec1 = run('', 'ecparam', '-name', 'prime256v1', '-genkey');
  const other = run('', 'ecparam', '-name', 'prime256v1', '-genkey');
  const {
    d: privateKey = '',
    x = '',
    y = '',
  } = createPrivateKey(sec1.replace(/^.*END EC PARAMETERS-----\n/s, '')).export({
    format: 'jwk',
  });
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  const pair = { publicKey: point.toString('base64url'), privateKey };
  const pkcs8 = run(sec1, 'pkcs8', '-topk8', '-nocrypt');
  const publicPem = run(sec1, 'ec', '-pubout');

  const taken: readonly (readonly [form: string, text: string])[] = [
    ['SEC1 after its parameters, as openssl ecparam prints it', sec1],
    ['SEC1 alone', run(sec1, 'ec')],
    ['SEC1 without its public half', run(sec1, 'ec', '-no_public')],
    ['PKCS#8, as py-vapid writes private_key.pem', pkcs8],
    ['PKCS#8 without its public half', run(run(sec1, 'ec', '-no_public'), 'pkcs8', '-topk8', '-nocrypt')],
    ['private and public key in one file', pkcs8 + publicPem],
    ['line ends of Windows', pkcs8.replaceAll('\n', '\r\n')],
    ['text before it', `Bag Attributes\n    friendlyName: push\n${pkcs8}`],
    ['PEM in JSON', JSON.stringify({ privateKey: pkcs8 })],
  ];
  for (const [form, text] of taken) {
    test(`${form} is taken`, () => assert.deepEqual(keysIn(text), pair));
  }

  const refused: readonly (readonly [form: string, text: string, reason: RegExp])[] = [
    [
      'an encrypted key in PKCS#8',
      run(sec1, 'pkcs8', '-topk8', '-passout', 'pass:secret'),
      /encrypted.*openssl pkey/,
    ],
    [
      'an encrypted key in SEC1',
      run(sec1, 'ec', '-aes128', '-passout', 'pass:secret'),
      /encrypted.*openssl pkey/,
    ],
    ['a public key alone', publicPem, /holds no private key/],
    ['two private keys', pkcs8 + other, /holds 2 private keys/],
    ["another pair's public key", pkcs8 + run(other, 'ec', '-pubout'), /public key.*does not belong/],
    ['another curve', run('', 'ecparam', '-name', 'secp384r1', '-genkey'), /curve secp384r1.*P-256/],
    ['an RSA key', run('', 'genpkey', '-algorithm', 'RSA'), /type rsa.*P-256/],
    ['an Ed25519 key', run('', 'genpkey', '-algorithm', 'ED25519'), /type ed25519.*P-256/],
    ['a key cut short', pkcs8.replace(/\n.{20}/, '\n'), /cannot be read/],
    ['a key without its end', pkcs8.replace('-----END PRIVATE KEY-----', ''), /holds no private key/],
  ];
  for (const [form, text, reason] of refused) {
    test(`${form} is refused, with the reason and without the key`, () => {
      assert.throws(
        () => parseKeyPair(text),
        (error: Error & { readonly code: string }) => {
          assert.equal(error.code, 'ERR_VAPID_KEY_INVALID');
          assert.match(error.message, reason);
          for (const line of text.split('\n').filter((each) => each.length > 30)) {
            assert.ok(!error.message.includes(line));
          }
          return true;
        },
      );
    });
  }

  test('a private key whose embedded public half is of another pair is refused', () => {
    const keys = [sec1, other].map((pem) => run(pem, 'ec', '-outform', 'PEM'));
    const [one = Buffer.alloc(0), two = Buffer.alloc(0)] = keys.map((pem) =>
      createPrivateKey(pem).export({ format: 'der', type: 'sec1' }),
    );
    // The public point ends the DER form.
    const mixed = Buffer.concat([one.subarray(0, -65), two.subarray(-65)]).toString('base64');
    assert.throws(
      () => parseKeyPair(`-----BEGIN EC PRIVATE KEY-----\n${mixed}\n-----END EC PRIVATE KEY-----\n`),
      {
        code: 'ERR_VAPID_KEY_INVALID',
      },
    );
  });
});

test('base64url in any text is taken, with bytes that begin with zeros too', () => {
  for (let index = 0; index < 20; index += 1) {
    const keys = generateVapidKeys();
    assert.deepEqual(keysIn(`PUBLIC=${keys.publicKey}\nPRIVATE="${keys.privateKey}"\n`), keys);
  }
});

suite('keys of other tools', () => {
  const { publicKey, privateKey } = generateVapidKeys();
  const [point, scalar] = [publicKey, privateKey].map((key) => Buffer.from(key, 'base64url')) as [
    Buffer,
    Buffer,
  ];
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
    d: privateKey,
  };
  const { d: _, ...publicJwk } = jwk;
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const pem = key.export({ type: 'pkcs8', format: 'pem' }) as string;
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  const secret = randomBytes(32).toString('base64');

  const taken: Readonly<Record<string, readonly [given: string | Uint8Array, found: RegExp]>> = {
    'standard base64, padded': [
      `${point.toString('base64')}\n${scalar.toString('base64')}`,
      /32 bytes in base64/,
    ],
    'standard base64, not padded': [
      `p: ${point.toString('base64').replaceAll('=', '')}, s: ${scalar.toString('base64').replaceAll('=', '')}`,
      /65 bytes in base64/,
    ],
    'a scalar of 33 bytes': [
      `${publicKey} ${Buffer.concat([Buffer.of(0), scalar]).toString('base64')}`,
      /33 bytes/,
    ],
    'hexadecimal digits': [
      `0x${point.toString('hex')}\n${scalar.toString('hex').toUpperCase()}`,
      /hexadecimal/,
    ],
    'a compressed point': [
      `${(ECDH.convertKey(point, 'prime256v1', undefined, undefined, 'compressed') as Buffer).toString('base64')}\n${privateKey}`,
      /33 bytes/,
    ],
    'a JWK': [JSON.stringify(jwk), /private key \(JWK\)/],
    'a JWK without its point': [
      JSON.stringify({ kty: 'EC', crv: 'P-256', d: privateKey }),
      /private key \(JWK\)/,
    ],
    'a set of JWKs': [JSON.stringify({ keys: [publicJwk, jwk] }), /and its public key \(JWK\)/],
    'a pair of JWKs': [JSON.stringify({ publicKey: publicJwk, privateKey: jwk }), /JWK/],
    'DER, PKCS #8': [pkcs8, /\(DER\)/],
    'DER, SEC 1': [key.export({ type: 'sec1', format: 'der' }), /\(DER\)/],
    'DER in base64': [pkcs8.toString('base64'), /DER in base64/],
    'PEM in one line': [pem.replaceAll('\n', ' '), /PEM/],
    'PEM with escaped line ends': [`KEY="${pem.replaceAll('\n', String.raw`\r\n`)}"`, /PEM/],
    'PEM with line ends of old Macs': [pem.replaceAll('\n', '\r'), /PEM/],
    'base64 of PEM': [`KEY=${Buffer.from(pem).toString('base64')}`, /PEM/],
    'base64 of PEM over several lines': [
      Buffer.from(pem).toString('base64').replaceAll(/.{64}/g, '$&\n'),
      /PEM/,
    ],
    'another secret of 32 bytes beside them': [`S=${secret}\nP=${publicKey}\nV=${privateKey}`, /32 bytes/],
  };
  for (const [form, [given, found]] of Object.entries(taken)) {
    test(`${form} is taken, and said`, () => {
      assert.deepEqual(keysIn(given), { publicKey, privateKey });
      assert.match(parseKeyPair(given).found, found);
    });
  }

  test('a scalar of 31 bytes is taken', () => {
    const ecdh = createECDH('prime256v1');
    const short = Buffer.concat([Buffer.of(1), randomBytes(30)]);
    ecdh.setPrivateKey(Buffer.concat([Buffer.of(0), short]));
    const text = `${ecdh.getPublicKey('base64url')}\n${short.toString('base64url')}`;
    assert.equal(
      Buffer.from(keysIn(text).privateKey, 'base64url').toString('hex'),
      `00${short.toString('hex')}`,
    );
  });

  const other = generateVapidKeys();
  const refused: Readonly<Record<string, readonly [given: string, reason: RegExp]>> = {
    'halves of two pairs': [
      `${other.publicKey} ${privateKey}`,
      /65 bytes in base64.*32 bytes in base64.*do not belong together/,
    ],
    'two pairs': [`${publicKey} ${privateKey} ${other.publicKey} ${other.privateKey}`, /2 key pairs/],
    'a private key alone, as bytes': [
      privateKey,
      /may be a private key \(32 bytes in base64\).*no public key/,
    ],
    'a public key alone': [publicKey, /public key \(65 bytes in base64\).*no private key/],
    'a JWK on another curve': [JSON.stringify({ ...jwk, crv: 'P-384' }), /JWK of type EC P-384.*P-256/],
    'no key': ['hello', /no private key and no public key/],
  };
  for (const [form, [given, reason]] of Object.entries(refused)) {
    test(`${form}: refused, with what there is`, () => {
      assert.throws(
        () => parseKeyPair(given),
        ({ code, message }: Error & { readonly code: string }) => {
          assert.equal(code, 'ERR_VAPID_KEY_INVALID');
          assert.match(message, reason);
          assert.ok(!message.includes(privateKey) && !message.includes(publicKey));
          return true;
        },
      );
    });
  }
});
