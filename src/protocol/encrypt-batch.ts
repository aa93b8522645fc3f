// Encryption of many messages in one call: what costs the same for one message as for several is then done once.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Encrypt, SubscriptionKeys } from './message-encryption.ts';

/** One message of a batch. */
export interface MessageToEncrypt {
  /** At most 3993 bytes. */
  readonly plaintext: Uint8Array;
  /** `p256dh`: 65-byte uncompressed P-256 point; `auth`: 16 bytes. */
  readonly subscription: SubscriptionKeys;
}

/**
 * Encrypts messages, each under a key pair and a salt of its own. A message that cannot be encrypted does not affect
 * the others.
 *
 * @returns for each message, in the same order, its body (see `encryptPushMessage`) or the error:
 *   ERR_PAYLOAD_TOO_LARGE, ERR_SUBSCRIPTION_KEY_INVALID
 */
export type EncryptBatch = (messages: readonly MessageToEncrypt[]) => (Uint8Array | DeskbellError)[];

/** Makes an `EncryptBatch` that encrypts one message after the other. */
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
