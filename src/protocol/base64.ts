// base64 as it comes and goes on the wire (RFC 4648 §4, §5). Reading is strict, unlike Buffer's own, which skips
// what it does not know.

const standardAlphabet = /^[A-Za-z0-9+/]*$/;
const urlSafeAlphabet = /^[A-Za-z0-9_-]*$/;

/**
 * Reads base64 in the standard or the URL-safe alphabet, padded or not.
 *
 * @returns the bytes, or `undefined` for white space, other characters, mixed alphabets or an impossible length
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '');
  const isPadded = digits.length !== text.length;
  if (isPadded && text.length % 4 !== 0) return undefined;
  if (digits.length % 4 === 1) return undefined;
  if (!standardAlphabet.test(digits) && !urlSafeAlphabet.test(digits)) return undefined;
  return new Uint8Array(Buffer.from(digits, 'base64'));
}

/** The unpadded URL-safe text of some bytes (RFC 4648 §5, RFC 7515 §2). */
export function encodeBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
}
