// Requests for single messages that have an idempotency key: what was asked for, stored before anything is sent, and what was
// answered. Types, and what both databases make of a key that is known.
import { DeskbellError } from '../errors/deskbell-error.ts';

/** A key is free again after this, as a rule: whoever repeats a request does so within minutes. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000;

/** How many that are older are forgotten with each new one. */
export const forgottenAtOnce = 100;

export interface MessageRequests {
  /**
   * Takes the key, durably, or finds the request that has it.
   *
   * @param contentHash 32 bytes: equal for equal requests
   * @returns the answer to the earlier request; `undefined` where there was none, and the message may be sent
   * @throws {DeskbellError} ERR_IDEMPOTENCY_KEY where the key belongs to another content, ERR_MESSAGE_IN_DOUBT where the
   *   earlier request has no answer: it is being sent, or its process ended meanwhile
   */
  begin(key: string, contentHash: Uint8Array): Promise<string | undefined>;
  finish(key: string, answer: string): Promise<void>;
  /** Nothing was sent: the key is free again. */
  release(key: string): Promise<void>;
}

/** A request whose key was taken before. */
export interface StoredRequest {
  readonly content_hash: Uint8Array;
  readonly answer: string | null;
}

/** @throws {DeskbellError} ERR_IDEMPOTENCY_KEY, ERR_MESSAGE_IN_DOUBT */
export function repeatRequest(stored: StoredRequest, contentHash: Uint8Array): string {
  if (Buffer.compare(stored.content_hash, contentHash) !== 0) {
    throw new DeskbellError(
      'ERR_IDEMPOTENCY_KEY',
      'The idempotency key belongs to a request with another message, recipient or option.',
    );
  }
  if (stored.answer !== null) return stored.answer;
  throw new DeskbellError(
    'ERR_MESSAGE_IN_DOUBT',
    'The request with this idempotency key has no answer: it is being sent, or the process ended while it was. It may have been ' +
      'sent, and is not sent again; ask once more in a minute.',
  );
}
