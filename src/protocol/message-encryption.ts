// Encrypts push messages (RFC 8291), each for one subscription and with its own key pair. Uses only Node's crypto
// module. src/accelerator encrypts batches faster.
import { createECDH, type ECDH, randomFillSync } from 'node:crypto';
import { checkOptions, isCheckedElsewhere, type OptionChecks, typeOf } from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { deriveKeyingMaterial, encodeAes128gcm, saltBytes } from './aes128gcm.ts';
import { assertBytes, assertInteger } from './check-arguments.ts';
import { curve, pointBytes, scalarBytes } from './p256.ts';
import { authBytes, type Subscription } from './subscription.ts';

/** RFC 8030 §7.2: a push service need not accept more than 4096 bytes. */
export const maxBodyBytes = 4096;
/** salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid(65) */
const headerBytes = 86;
/**
 * The maximum size of a plaintext: 3993 bytes. The body has at most 4096 bytes, including the header (86), the
 * delimiter (1) and the authentication tag (16).
 */
export const maxPlaintextBytes = maxBodyBytes - headerBytes - 1 - 16;
const paddingBounds = { name: 'paddingBytes', min: 0, max: maxPlaintextBytes };

type SubscriptionKeys = Pick<Subscription, 'p256dh' | 'auth'>;

/** Encrypts one push message for one subscription; see `encryptPushMessage`. */
export type Encrypt = (plaintext: Uint8Array, subscription: SubscriptionKeys) => Uint8Array;

/** Options for test vectors and padding. By default, salt and key are random, and there is no padding. */
export interface EncryptionOptions {
  /** 16 bytes. Default: random. Never use the same salt twice with the same keys. */
  readonly salt?: Uint8Array;
  /** The key pair's private scalar, 32 bytes. Default: a new key for each message (RFC 8291 §3.1). */
  readonly applicationServerPrivateKey?: Uint8Array;
  /** How many zeros to add to hide the plaintext's length. Default: 0. At most 3993 minus the plaintext's length. */
  readonly paddingBytes?: number;
}

const encryptionChecks: OptionChecks<EncryptionOptions> = {
  salt: (value, name) => assertBytes('ERR_MESSAGE_INVALID', value, name, saltBytes),
  applicationServerPrivateKey: isCheckedElsewhere,
  paddingBytes: (value) => assertInteger('ERR_MESSAGE_INVALID', value, paddingBounds),
};

/**
 * Encrypts one push message for one subscription.
 *
 * @param plaintext at most 3993 bytes including padding, so that the body fits into 4096 bytes
 * @param subscription `p256dh`: 65-byte uncompressed P-256 point; `auth`: 16 bytes
 * @returns aes128gcm body: salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid(65) ‖ ciphertext
 * @throws {DeskbellError} ERR_PAYLOAD_TOO_LARGE, ERR_SUBSCRIPTION_KEY_INVALID, ERR_MESSAGE_INVALID (an option is
 *   wrong, or the plaintext is not a Uint8Array)
 * @see RFC 8291 §3.4, §4; RFC 8188 §2.1
 */
export function encryptPushMessage(
  plaintext: Uint8Array,
  subscription: SubscriptionKeys,
  options: EncryptionOptions = {},
): Uint8Array {
  checkOptions(options, encryptionChecks, { code: 'ERR_MESSAGE_INVALID' });
  const {
    applicationServerPrivateKey,
    salt = randomFillSync(new Uint8Array(saltBytes)),
    paddingBytes = 0,
  } = options;
  checkEncryptionInput(plaintext, subscription, paddingBytes);
  const ecdh = createECDH(curve);
  const publicKey =
    applicationServerPrivateKey === undefined
      ? ecdh.generateKeys()
      : setPrivateKey(ecdh, applicationServerPrivateKey);
  return encryptWith({ ecdh, publicKey, salt, paddingBytes }, plaintext, subscription);
}

/**
 * Makes an `Encrypt` that reuses its ECDH object and a pool of random bytes. Each message still gets its own key pair
 * and salt. Create one encrypter for each thread.
 */
export function createEncrypter(): Encrypt {
  const ecdh = createECDH(curve);
  const pool = new Uint8Array(256 * saltBytes);
  let used = pool.length;
  return (plaintext, subscription) => {
    checkEncryptionInput(plaintext, subscription);
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
 * Checks the input, except whether the key is on the curve. Every encryption method calls this first.
 *
 * @param paddingBytes an integer
 * @throws {DeskbellError} ERR_PAYLOAD_TOO_LARGE, ERR_SUBSCRIPTION_KEY_INVALID, ERR_MESSAGE_INVALID (`plaintext` is
 *   not a Uint8Array)
 */
export function checkEncryptionInput(
  plaintext: Uint8Array,
  { p256dh, auth }: SubscriptionKeys,
  paddingBytes = 0,
): void {
  if (!(plaintext instanceof Uint8Array)) {
    const message = `The plaintext is of type ${typeOf(plaintext)}; give a Uint8Array.`;
    throw new DeskbellError('ERR_MESSAGE_INVALID', message);
  }
  if (plaintext.length + paddingBytes > maxPlaintextBytes) {
    const padding = paddingBytes === 0 ? '' : ` and ${paddingBytes} bytes of padding`;
    throw new DeskbellError(
      'ERR_PAYLOAD_TOO_LARGE',
      `The payload has ${plaintext.length} bytes${padding}; at most ${maxPlaintextBytes} fit into one push message.`,
    );
  }
  assertBytes('ERR_SUBSCRIPTION_KEY_INVALID', p256dh, 'p256dh', pointBytes);
  if (p256dh[0] !== 0x04) {
    const message = 'p256dh is not an uncompressed point, which begins with the byte 0x04.';
    throw new DeskbellError('ERR_SUBSCRIPTION_KEY_INVALID', message);
  }
  assertBytes('ERR_SUBSCRIPTION_KEY_INVALID', auth, 'auth', authBytes);
}

/** Returns the error for a well-formed p256dh that is not on the curve. */
export function offCurveError(cause?: unknown): DeskbellError {
  return new DeskbellError('ERR_SUBSCRIPTION_KEY_INVALID', 'p256dh is not a point on the curve P-256.', {
    cause,
  });
}

/** The keys of one message. `ecdh` holds the private key for `publicKey`. */
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

/** Sets the private key of a test vector. @returns the public key */
function setPrivateKey(ecdh: ECDH, privateKey: Uint8Array): Uint8Array {
  assertBytes('ERR_MESSAGE_INVALID', privateKey, 'applicationServerPrivateKey', scalarBytes);
  try {
    ecdh.setPrivateKey(privateKey);
  } catch (cause) {
    const message = 'applicationServerPrivateKey is not a scalar of P-256.';
    throw new DeskbellError('ERR_MESSAGE_INVALID', message, { cause });
  }
  return ecdh.getPublicKey();
}

function computeSecret(ecdh: ECDH, p256dh: Uint8Array): Uint8Array {
  try {
    return ecdh.computeSecret(p256dh);
  } catch (cause) {
    throw offCurveError(cause);
  }
}

// Encrypts many messages in one call, so that an implementation can share work between them.

/** One message of a batch. */
export interface MessageToEncrypt {
  /** At most 3993 bytes. */
  readonly plaintext: Uint8Array;
  /** `p256dh`: 65-byte uncompressed P-256 point; `auth`: 16 bytes. */
  readonly subscription: SubscriptionKeys;
}

/**
 * Encrypts messages, each with its own key pair and salt. A message that fails does not affect the others.
 *
 * @returns for each message, in order, either its body (see `encryptPushMessage`) or the error: ERR_PAYLOAD_TOO_LARGE,
 *   ERR_SUBSCRIPTION_KEY_INVALID
 */
export type EncryptBatch = (messages: readonly MessageToEncrypt[]) => (Uint8Array | DeskbellError)[];

/** Makes an `EncryptBatch` that encrypts messages one by one. */
export function createEncryptBatch(encrypt: Encrypt): EncryptBatch {
  return (messages) =>
    messages.map(({ plaintext, subscription }) => resultOrFault(() => encrypt(plaintext, subscription)));
}

/** @returns what `work` returns, or the `DeskbellError` that it throws */
export function resultOrFault<Result>(work: () => Result): Result | DeskbellError {
  try {
    return work();
  } catch (error) {
    if (error instanceof DeskbellError) return error;
    throw error;
  }
}
