// Base64 in both alphabets (RFC 4648 §4, §5). Decoding is strict, because `Buffer` ignores invalid characters.
import { timingSafeEqual } from 'node:crypto';

const standardAlphabet = /^[A-Za-z0-9+/]*$/;
const urlSafeAlphabet = /^[A-Za-z0-9_-]*$/;

/**
 * Decodes base64 in the standard or the URL-safe alphabet, padded or not.
 *
 * @returns the bytes, or `undefined` for white space, other characters, mixed alphabets or an impossible length
 * @see RFC 4648 §4, §5
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '');
  const isPadded = digits.length !== text.length;
  if (isPadded && text.length % 4 !== 0) return undefined;
  if (digits.length % 4 === 1) return undefined;
  if (!standardAlphabet.test(digits) && !urlSafeAlphabet.test(digits)) return undefined;
  return new Uint8Array(Buffer.from(digits, 'base64'));
}

/**
 * Encodes bytes as unpadded URL-safe base64.
 *
 * @see RFC 4648 §5; RFC 7515 §2
 */
export function encodeBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
}

/** Compares in constant time. */
export function isSameSecret(one: string | Uint8Array, other: string | Uint8Array): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
