// Both directions with npm `http_ece`, which shares no code with ours.
import assert from 'node:assert/strict';
import { createECDH, type ECDH } from 'node:crypto';
import { createRequire } from 'node:module';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { decodeAes128gcm } from '../../src/protocol/aes128gcm.ts';
import {
  createEncrypter,
  encryptPushMessage,
  maxPlaintextBytes,
} from '../../src/protocol/message-encryption.ts';
import { decryptPushMessage, generateUserAgentKeys } from '../../src/protocol/user-agent.ts';

interface HttpEceParameters {
  readonly version: 'aes128gcm';
  readonly key?: Buffer;
  readonly keyid?: string;
  readonly salt?: Buffer;
  readonly rs?: number;
  readonly pad?: number;
  readonly privateKey?: ECDH;
  readonly dh?: Buffer;
  readonly authSecret?: Buffer;
}
interface HttpEce {
  encrypt(plaintext: Buffer, parameters: HttpEceParameters): Buffer;
  decrypt(content: Buffer, parameters: HttpEceParameters): Buffer;
}
const httpEce = createRequire(import.meta.url)('http_ece') as HttpEce;

const octets = (constraints: fc.IntArrayConstraints): fc.Arbitrary<Buffer> =>
  fc.uint8Array(constraints).map((array) => Buffer.from(array));
const exactly = (length: number): fc.Arbitrary<Buffer> => octets({ minLength: length, maxLength: length });
const plaintexts = fc.oneof(
  octets({ maxLength: 300 }),
  octets({ minLength: 3900, maxLength: maxPlaintextBytes }),
);

const encrypt = createEncrypter();
const ecdhOf = (privateKey: Uint8Array): ECDH => {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(privateKey);
  return ecdh;
};

test('http_ece reads what we encrypt', () => {
  fc.assert(
    fc.property(plaintexts, fc.nat({ max: 60 }), fc.boolean(), (plaintext, padding, isReused) => {
      const { privateKey, p256dh, auth } = generateUserAgentKeys();
      const paddingBytes = Math.min(padding, maxPlaintextBytes - plaintext.length);
      const subscription = { endpoint: 'https://push.example.net/p/1', p256dh, auth };
      const body = isReused
        ? encrypt(plaintext, subscription)
        : encryptPushMessage(plaintext, subscription, { paddingBytes });
      const read = httpEce.decrypt(Buffer.from(body), {
        version: 'aes128gcm',
        privateKey: ecdhOf(privateKey),
        authSecret: Buffer.from(auth),
      });
      assert.deepEqual(read, plaintext);
    }),
    { numRuns: 2000 },
  );
});

test('we read what http_ece encrypts', () => {
  fc.assert(
    fc.property(plaintexts, (plaintext) => {
      const keys = generateUserAgentKeys();
      const ephemeral = createECDH('prime256v1');
      ephemeral.generateKeys();
      const body = httpEce.encrypt(plaintext, {
        version: 'aes128gcm',
        privateKey: ephemeral,
        dh: Buffer.from(keys.p256dh),
        authSecret: Buffer.from(keys.auth),
      });
      assert.deepEqual(Buffer.from(decryptPushMessage(body, keys)), plaintext);
    }),
    { numRuns: 2000 },
  );
});

test('we read contents of many records of any size', () => {
  fc.assert(
    fc.property(
      octets({ maxLength: 200 }),
      exactly(16),
      exactly(16),
      fc.integer({ min: 19, max: 80 }),
      fc.string({ maxLength: 20 }),
      (plaintext, key, salt, recordSizeBytes, keyid) => {
        const theirs = httpEce.encrypt(plaintext, {
          version: 'aes128gcm',
          key,
          salt,
          rs: recordSizeBytes,
          keyid,
        });
        assert.deepEqual(Buffer.from(decodeAes128gcm(theirs, key)), plaintext);
      },
    ),
    { numRuns: 1000 },
  );
});
