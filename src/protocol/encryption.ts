// Message encryption for Web Push (RFC 8291): one push message for one subscription, under a key pair that is made
// for this message alone. Builtins only; an accelerator may stand in for `Encrypt`.
import { createECDH, randomFillSync, type ECDH } from 'node:crypto';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { encodeAes128gcm, saltBytes } from './aes128gcm.ts';
import { deriveKeyingMaterial } from './keying-material.ts';
import { curve, pointBytes } from './p256.ts';
import { authBytes, type Subscription } from './subscription.ts';

/** RFC 8030 §7.2: a push service need not accept more than 4096 bytes. */
export const maxBodyBytes = 4096;
/** salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid(65) */
const headerBytes = 86;
/** What fits beside header(86), delimiter(1) and authentication tag(16): 3993. */
export const maxPlaintextBytes = maxBodyBytes - headerBytes - 1 - 16;

/** What encryption needs of a subscription. */
export type SubscriptionKeys = Pick<Subscription, 'p256dh' | 'auth'>;

/** Encrypts one push message for one subscription; see `encryptPushMessage`. */
export type Encrypt = (plaintext: Uint8Array, subscription: SubscriptionKeys) => Uint8Array;

/** Inputs that are random or zero unless a test vector fixes them. */
export interface EncryptionOptions {
  /** 16 bytes. */
  readonly salt?: Uint8Array;
  /** The message's own key, a 32-byte scalar. */
  readonly applicationServerPrivateKey?: Uint8Array;
  /** Zeros that hide the length of the plaintext. */
  readonly paddingBytes?: number;
}

/**
 * Encrypts one push message for one subscription.
 *
 * @param plaintext at most 3993 bytes with its padding, so that the body fits in 4096
 * @param subscription `p256dh`: 65-byte uncompressed P-256 point; `auth`: 16 bytes
 * @returns aes128gcm body: salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid(65) ‖ ciphertext
 * @throws {DeskbellError} ERR_PAYLOAD_TOO_LARGE, ERR_SUBSCRIPTION_KEY_INVALID
 * @see RFC 8291 §3.4, §4; RFC 8188 §2.1
 */
export function encryptPushMessage(
  plaintext: Uint8Array,
  subscription: SubscriptionKeys,
  options: EncryptionOptions = {},
): Uint8Array {
  const { applicationServerPrivateKey, paddingBytes = 0 } = options;
  checkEncryptionInput(plaintext.length + paddingBytes, subscription);
  const ecdh = createECDH(curve);
  if (applicationServerPrivateKey !== undefined) ecdh.setPrivateKey(applicationServerPrivateKey);
  const publicKey = applicationServerPrivateKey === undefined ? ecdh.generateKeys() : ecdh.getPublicKey();
  const salt = options.salt ?? randomFillSync(new Uint8Array(saltBytes));
  return encryptWith({ ecdh, publicKey, salt, paddingBytes }, plaintext, subscription);
}

/**
 * Makes an `Encrypt` that reuses what may be reused between messages: the curve's object and a pool of random
 * bytes. Each message gets its own key pair and salt. One per thread.
 */
export function createEncrypter(): Encrypt {
  const ecdh = createECDH(curve);
  const pool = new Uint8Array(256 * saltBytes);
  let used = pool.length;
  return (plaintext, subscription) => {
    checkEncryptionInput(plaintext.length, subscription);
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const salt = pool.subarray(used, used + saltBytes);
    used += saltBytes;
    return encryptWith(
      { ecdh, publicKey: ecdh.generateKeys(), salt, paddingBytes: 0 },
      plaintext,
      subscription,
    );
  };
}

/**
 * Checks what can be checked without the curve; for those who stand in for `Encrypt`.
 *
 * @throws {DeskbellError} ERR_PAYLOAD_TOO_LARGE, ERR_SUBSCRIPTION_KEY_INVALID
 */
export function checkEncryptionInput(plaintextBytes: number, { p256dh, auth }: SubscriptionKeys): void {
  if (plaintextBytes > maxPlaintextBytes) {
    throw new DeskbellError(
      'ERR_PAYLOAD_TOO_LARGE',
      `The payload has ${plaintextBytes} bytes; at most ${maxPlaintextBytes} fit into one push message.`,
    );
  }
  if (p256dh.length !== pointBytes || p256dh[0] !== 0x04) {
    throw new DeskbellError(
      'ERR_SUBSCRIPTION_KEY_INVALID',
      `p256dh (${p256dh.length} bytes) is not an uncompressed point: ${pointBytes} bytes that begin with 0x04.`,
    );
  }
  if (auth.length !== authBytes) {
    throw new DeskbellError(
      'ERR_SUBSCRIPTION_KEY_INVALID',
      `auth has ${auth.length} bytes; ${authBytes} are needed.`,
    );
  }
}

/** The fault of a p256dh that only looks like a point. */
export function offCurve(cause?: unknown): DeskbellError {
  return new DeskbellError('ERR_SUBSCRIPTION_KEY_INVALID', 'p256dh is not a point on the curve P-256.', {
    cause,
  });
}

/** What is drawn for one message; `ecdh` holds the private key that belongs to `publicKey`. */
interface MessageKeys {
  readonly ecdh: ECDH;
  readonly publicKey: Uint8Array;
  readonly salt: Uint8Array;
  readonly paddingBytes: number;
}

function encryptWith(
  { ecdh, publicKey, salt, paddingBytes }: MessageKeys,
  plaintext: Uint8Array,
  { p256dh, auth }: SubscriptionKeys,
): Uint8Array {
  const secret = computeSecret(ecdh, p256dh);
  return encodeAes128gcm(plaintext, {
    inputKeyingMaterial: deriveKeyingMaterial(secret, auth, p256dh, publicKey),
    salt,
    recordSizeBytes: maxBodyBytes,
    keyId: publicKey,
    paddingBytes,
  });
}

function computeSecret(ecdh: ECDH, p256dh: Uint8Array): Uint8Array {
  try {
    return ecdh.computeSecret(p256dh);
  } catch (cause) {
    throw offCurve(cause);
  }
}
