// Points and key pairs on the curve P-256 (SEC 1, FIPS 186), as bytes.
import { createECDH } from 'node:crypto';

import { encodeBase64url } from './bytes.ts';

export const curve = 'prime256v1';
export const pointBytes = 65;
export const scalarBytes = 32;

/** The field's prime, and b in the curve's equation y² = x³ - 3x + b (FIPS 186-5 and SP 800-186 §3.2.1.3). */
const fieldPrime = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const b = 0x5ac635d8_aa3a93e7_b3ebbd55_769886bc_651d06b0_cc53b0f6_3bce3c3e_27d2604bn;

/**
 * True for an uncompressed point (SEC 1 §2.3.3): 65 bytes, the first is 0x04, and both coordinates are below the
 * field's prime and on the curve. A point is not secret, so plain arithmetic is safe. OpenSSL is much slower.
 */
export function isP256Point(bytes: Uint8Array): boolean {
  if (bytes.length !== pointBytes || bytes[0] !== 0x04) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const x = readCoordinate(view, 1);
  const y = readCoordinate(view, 1 + scalarBytes);
  return x < fieldPrime && y < fieldPrime && (y * y - x * x * x + 3n * x - b) % fieldPrime === 0n;
}

/** 32 bytes, big-endian. */
function readCoordinate(view: DataView, offset: number): bigint {
  const word = (index: number): bigint => view.getBigUint64(offset + 8 * index);
  return (word(0) << 192n) | (word(1) << 128n) | (word(2) << 64n) | word(3);
}

/** Generates a key pair: a point of 65 bytes and its secret scalar of 32 bytes. */
export function generateP256Pair(): { readonly publicKey: Uint8Array; readonly privateKey: Uint8Array } {
  const ecdh = createECDH(curve);
  const publicKey = ecdh.generateKeys();
  // Node strips leading zeros of the scalar, so one scalar in 256 has fewer than 32 bytes
  const scalar = ecdh.getPrivateKey();
  const privateKey = new Uint8Array(scalarBytes);
  privateKey.set(scalar, scalarBytes - scalar.length);
  return { publicKey, privateKey };
}

/** Returns a public key as a JSON Web Key (RFC 7518 §6.2.1), which Node can import. */
export function pointToJwk(point: Uint8Array) {
  return {
    kty: 'EC',
    crv: 'P-256',
    x: encodeBase64url(point.subarray(1, 1 + scalarBytes)),
    y: encodeBase64url(point.subarray(1 + scalarBytes)),
  };
}
