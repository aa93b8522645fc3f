// The user agent's side of RFC 8291: makes the keys of a subscription and decrypts push messages. Browsers do this
// themselves; this file is for tests and for programs that subscribe.
import { createECDH, randomBytes } from 'node:crypto';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { decodeAes128gcm, deriveKeyingMaterial, readAes128gcmHeader } from './aes128gcm.ts';
import { assertBytes } from './check-arguments.ts';
import { curve, generateP256Pair, isP256Point, pointBytes, scalarBytes } from './p256.ts';
import { authBytes } from './subscription.ts';

/** A subscription's keys on the user agent's side. */
export interface UserAgentKeys {
  /** The private scalar of `p256dh`, 32 bytes. Secret. */
  readonly privateKey: Uint8Array;
  /** 65 bytes: uncompressed P-256 point. */
  readonly p256dh: Uint8Array;
  /** 16 bytes, shared with the application server. */
  readonly auth: Uint8Array;
}

/**
 * Generates the keys of one subscription: a P-256 pair and an authentication secret.
 *
 * @see RFC 8291 §3.1, §3.2
 */
export function generateUserAgentKeys(): UserAgentKeys {
  const { publicKey, privateKey } = generateP256Pair();
  return { privateKey, p256dh: publicKey, auth: randomBytes(authBytes) };
}

/**
 * Decrypts one push message.
 *
 * @param body aes128gcm, as it was posted to the push service
 * @returns the plaintext
 * @throws {DeskbellError} ERR_DECRYPTION_FAILED if the body was changed, cut short or encrypted for other keys, or if
 *   the keys have wrong lengths
 * @see RFC 8291 §3.4, §4
 */
export function decryptPushMessage(
  body: Uint8Array,
  { privateKey, p256dh, auth }: UserAgentKeys,
): Uint8Array {
  assertBytes('ERR_DECRYPTION_FAILED', privateKey, 'privateKey', scalarBytes);
  assertBytes('ERR_DECRYPTION_FAILED', p256dh, 'p256dh', pointBytes);
  assertBytes('ERR_DECRYPTION_FAILED', auth, 'auth', authBytes);
  const { keyId } = readAes128gcmHeader(body);
  if (!isP256Point(keyId)) {
    throw new DeskbellError('ERR_DECRYPTION_FAILED', 'The key id of the message is not a point on P-256.');
  }
  const ecdh = createECDH(curve);
  ecdh.setPrivateKey(privateKey);
  return decodeAes128gcm(body, deriveKeyingMaterial(ecdh.computeSecret(keyId), auth, p256dh, keyId));
}
