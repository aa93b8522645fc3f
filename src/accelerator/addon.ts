// The native addon as JavaScript sees it, and how it becomes an `Encrypt`. What it does stands in
// native/accelerator.c.
import { checkEncryptionInput, offCurve, type Encrypt } from '../protocol/encryption.ts';

export interface Addon {
  /**
   * Fills `body`, 103 bytes longer than `plaintext`, under a fresh key pair and salt.
   *
   * @param fixed for test vectors: salt(16) ‖ public key(65) ‖ private key(32) instead of fresh ones
   * @returns false where `p256dh` is not a point on P-256
   * @throws {TypeError | RangeError} for anything but Uint8Arrays of the right lengths, or where `body` shares memory
   *   with what is read
   */
  encrypt(
    body: Uint8Array,
    plaintext: Uint8Array,
    p256dh: Uint8Array,
    auth: Uint8Array,
    fixed?: Uint8Array,
  ): boolean;
  /**
   * One key pair, its encoding and one ECDH per message: the limit that a benchmark compares with.
   *
   * @param messages 0 to 1,000,000
   * @throws {TypeError | RangeError} for anything else
   */
  runEcOperations(messages: number): void;
}

/** salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid(65) before, delimiter(1) and authentication tag(16) behind the plaintext. */
const overheadBytes = 86 + 1 + 16;

/** The addon's way to encrypt, with the builtin way's checks and errors. `fixed` is for test vectors. */
export function encryptWithAddon(addon: Addon, fixed?: Uint8Array): Encrypt {
  return (plaintext, subscription) => {
    const { p256dh, auth } = subscription;
    checkEncryptionInput(plaintext, subscription);
    const body = Buffer.allocUnsafe(plaintext.length + overheadBytes);
    const isPoint =
      fixed === undefined
        ? addon.encrypt(body, plaintext, p256dh, auth)
        : addon.encrypt(body, plaintext, p256dh, auth, fixed);
    if (!isPoint) throw offCurve();
    return body;
  };
}
