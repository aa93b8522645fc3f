// Encryption as in the original, with the same package: both content encodings, any length, an `auth` longer than 16
// bytes. push-client.ts uses it for messages that its batch refuses. Error texts are the original's, since applications
// compare them.
import { createECDH, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';

import { curve, pointBytes } from '../protocol/p256.ts';
import { authBytes } from '../protocol/subscription.ts';
import { type ContentEncoding, type EncryptionResult, ensure } from './types.ts';

/** The package has no types. */
interface HttpEce {
  encrypt(plaintext: Buffer, parameters: Readonly<Record<string, unknown>>): Buffer;
}

const httpEce = createRequire(import.meta.url)('http_ece') as HttpEce;

/**
 * Encrypts one message.
 *
 * @param userPublicKey `p256dh`, base64url
 * @param userAuth `auth`, base64url
 * @returns for `aesgcm`, send public key and salt in header fields; `cipherText` of `aes128gcm` includes them
 * @throws {Error}
 * @see RFC 8291 §3, §4
 */
export function encrypt(
  userPublicKey: string,
  userAuth: string,
  payload: string | Buffer,
  contentEncoding: ContentEncoding,
): EncryptionResult {
  checkEncryptionArguments(userPublicKey, userAuth, payload);
  const ecdh = createECDH(curve);
  const localPublicKey = ecdh.generateKeys();
  const salt = randomBytes(16).toString('base64url');
  const cipherText = httpEce.encrypt(Buffer.from(payload as string), {
    version: contentEncoding,
    dh: userPublicKey,
    privateKey: ecdh,
    salt,
    authSecret: userAuth,
  });
  return { localPublicKey, salt, cipherText };
}

export function checkEncryptionArguments(userPublicKey: unknown, userAuth: unknown, payload: unknown): void {
  ensure(userPublicKey, 'No user public key provided for encryption.');
  ensure(typeof userPublicKey === 'string', 'The subscription p256dh value must be a string.');
  ensure(
    Buffer.from(userPublicKey, 'base64url').length === pointBytes,
    `The subscription p256dh value should be ${pointBytes} bytes long.`,
  );
  ensure(userAuth, 'No user auth provided for encryption.');
  ensure(typeof userAuth === 'string', 'The subscription auth key must be a string.');
  ensure(
    Buffer.from(userAuth, 'base64url').length >= authBytes,
    `The subscription auth key should be at least ${authBytes} bytes long`,
  );
  const isPayload = typeof payload === 'string' || Buffer.isBuffer(payload);
  ensure(isPayload, 'Payload must be either a string or a Node Buffer.');
}
