// Key pairs as openssl, py-vapid and other tools write them: taken whole, or refused with the reason and without the key.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { suite, test } from 'node:test';
import { parseKeyPair } from '../../src/cli/input/import-keys.ts';
import { generateVapidKeys } from '../../src/protocol/vapid-token.ts';
import { openssl, skipWithout } from '../../scripts/install-test-tools.ts';

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
    test(`${form} is taken`, () => assert.deepEqual(parseKeyPair(text), pair));
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
    assert.deepEqual(parseKeyPair(`PUBLIC=${keys.publicKey}\nPRIVATE="${keys.privateKey}"\n`), keys);
  }
});
