// Tokens of operators: 32 random bytes, of which only the SHA-256 is stored. (A slow hash is for secrets that can be guessed.)
import { createHash, randomBytes } from 'node:crypto';

/** Tells people, and programs that look for leaked secrets, what it is. */
const prefix = 'deskbell_op_';

/** @returns the token, to be shown once, and what is stored of it */
export function generateOperatorToken(): { readonly token: string; readonly tokenHash: Uint8Array } {
  const token = `${prefix}${randomBytes(32).toString('base64url')}`;
  return { token, tokenHash: hashOperatorToken(token) };
}

/** 32 bytes. */
export function hashOperatorToken(token: string): Uint8Array {
  return createHash('sha256').update(token).digest();
}
