// Points and key pairs on the curve P-256 (SEC 1, FIPS 186), as bytes.
import { createECDH, ECDH } from 'node:crypto';

import { encodeBase64url } from './base64.ts';

export const curve = 'prime256v1';
export const pointBytes = 65;
export const scalarBytes = 32;

/** True for an uncompressed point (SEC 1 §2.3.3): 65 bytes, the first 0x04, both coordinates on the curve. */
export function isP256Point(bytes: Uint8Array): boolean {
  if (bytes.length !== pointBytes || bytes[0] !== 0x04) return false;
  try {
    ECDH.convertKey(bytes, curve, undefined, undefined, 'compressed');
    return true;
  } catch {
    return false;
  }
}

/** Generates a pair: a point of 65 bytes and its secret scalar of 32. */
export function generateP256Pair(): { readonly publicKey: Uint8Array; readonly privateKey: Uint8Array } {
  const ecdh = createECDH(curve);
  const publicKey = ecdh.generateKeys();
  // Node leaves out leading zeros of the scalar: one of 256 would have 31 bytes.
  const scalar = ecdh.getPrivateKey();
  const privateKey = new Uint8Array(scalarBytes);
  privateKey.set(scalar, scalarBytes - scalar.length);
  return { publicKey, privateKey };
}

/** A public key as a JSON Web Key (RFC 7518 §6.2.1): the form in which Node imports one. */
export interface PointJwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
}

export function pointToJwk(point: Uint8Array): PointJwk {
  return {
    kty: 'EC',
    crv: 'P-256',
    x: encodeBase64url(point.subarray(1, 1 + scalarBytes)),
    y: encodeBase64url(point.subarray(1 + scalarBytes)),
  };
}
