// Operators' tokens: 32 random bytes, of which only the SHA-256 is stored; slow hashes are for guessable secrets.
import { createHash, randomBytes } from 'node:crypto';

/** Identifies the token to people and to scanners for leaked secrets. */
const prefix = 'deskbell_op_';

/** @returns the token, shown once, and the hash to store */
export function generateOperatorToken(): { readonly token: string; readonly tokenHash: Uint8Array } {
  const token = `${prefix}${randomBytes(32).toString('base64url')}`;
  return { token, tokenHash: hashOperatorToken(token) };
}

export function hashOperatorToken(token: string): Uint8Array {
  return createHash('sha256').update(token).digest();
}
