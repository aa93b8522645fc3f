// An application server's public key (RFC 8292 §3.2): 65 bytes, a point on P-256, as base64url.
import { createPublicKey, type KeyObject } from 'node:crypto';

export interface ApplicationServerKey {
  /** Unpadded base64url, 87 characters, so that equal keys have equal texts. */
  readonly text: string;
  readonly key: KeyObject;
}

export function parseApplicationServerKey(text: string): ApplicationServerKey | undefined {
  const point = decodeBase64url(text);
  if (point?.length !== 65 || point[0] !== 0x04) return undefined;
  const x = point.toString('base64url', 1, 33);
  const y = point.toString('base64url', 33, 65);
  try {
    const key = createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } });
    return { text: point.toString('base64url'), key };
  } catch {
    return undefined; // not on the curve
  }
}

/** Decodes base64url, unpadded or padded as Firefox sends its keys. Returns `undefined` for any other text. */
export function decodeBase64url(text: string): Buffer | undefined {
  const unpadded = text.replace(/={1,2}$/, '');
  const bytes = Buffer.from(unpadded, 'base64url');
  // Buffer.from skips unknown characters, so compare the result
  return bytes.toString('base64url') === unpadded ? bytes : undefined;
}
