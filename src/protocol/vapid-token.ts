// Voluntary application server identification (RFC 8292): the key pair and the signed token. Who renews
// tokens, and when: vapid-authorizer.ts.
import { createECDH, createPrivateKey, sign, type KeyObject } from 'node:crypto';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { decodeBase64, encodeBase64url } from './base64.ts';
import { typeOf } from '../errors/check-options.ts';
import { curve, generateP256Pair, isP256Point, pointToJwk } from './p256.ts';

/** A P-256 pair, both halves in unpadded base64url. */
export interface VapidKeys {
  /** 87 characters: the 65-byte uncompressed point. */
  readonly publicKey: string;
  /** 43 characters: the 32-byte scalar. Secret. */
  readonly privateKey: string;
}

/** How long a token is valid unless its sender says otherwise. */
export const defaultTokenLifetimeSeconds = 12 * 60 * 60;
/** RFC 8292 §2: `exp` must not be more than 24 hours ahead. */
export const maxTokenLifetimeSeconds = 24 * 60 * 60;

/**
 * Generates a P-256 pair. Subscriptions belong to the pair that they were made with: replacing one that is in use loses
 * every subscriber.
 *
 * @example
 * const { publicKey, privateKey } = generateVapidKeys();
 * @see RFC 8292 §3.2
 */
export function generateVapidKeys(): VapidKeys {
  const { publicKey, privateKey } = generateP256Pair();
  return { publicKey: encodeBase64url(publicKey), privateKey: encodeBase64url(privateKey) };
}

/** True for the public half of a pair: 87 characters of unpadded base64url, an uncompressed point on P-256. */
export function isVapidPublicKey(key: unknown): key is string {
  const bytes = typeof key === 'string' ? decodeBase64(key) : undefined;
  return bytes !== undefined && isP256Point(bytes) && encodeBase64url(bytes) === key;
}

/**
 * Checks that both halves of a pair are well-formed and belong together.
 *
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID
 */
export function checkVapidKeys(keys: VapidKeys): void {
  checkKeyText('public', keys.publicKey, 87);
  checkKeyText('private', keys.privateKey, 43);
  const ecdh = createECDH(curve);
  try {
    ecdh.setPrivateKey(keys.privateKey, 'base64url');
  } catch (cause) {
    throw new DeskbellError('ERR_VAPID_KEY_INVALID', 'The VAPID private key is not a P-256 scalar.', {
      cause,
    });
  }
  if (encodeBase64url(ecdh.getPublicKey()) !== keys.publicKey) {
    throw new DeskbellError(
      'ERR_VAPID_KEY_INVALID',
      'The VAPID public key and private key do not belong together; give both halves of one pair.',
    );
  }
}

/** The private half of a pair as `signToken` takes it. */
export function importSigningKey({ publicKey, privateKey }: VapidKeys): KeyObject {
  const jwk = { ...pointToJwk(Buffer.from(publicKey, 'base64url')), d: privateKey };
  return createPrivateKey({ format: 'jwk', key: jwk });
}

/** What a token says (RFC 8292 §2): the push service's origin, when it expires in seconds since 1970, and the subject. */
export interface TokenClaims {
  readonly aud: string;
  readonly exp: number;
  readonly sub: string;
}

const tokenHeader = encodeJson({ typ: 'JWT', alg: 'ES256' });

/**
 * Signs a token with ES256.
 *
 * @see RFC 7515 §3.1; RFC 7518 §3.4
 */
export function signToken(claims: TokenClaims, key: KeyObject): string {
  const signed = `${tokenHeader}.${encodeJson(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${encodeBase64url(signature)}`;
}

function checkKeyText(half: string, text: unknown, length: number): void {
  const isBase64url = typeof text === 'string' && /^[A-Za-z0-9_-]+$/.test(text);
  if (isBase64url && text.length === length && decodeBase64(text) !== undefined) return;
  const size = typeof text === 'string' ? `${text.length} characters` : `type ${typeOf(text)}`;
  throw new DeskbellError(
    'ERR_VAPID_KEY_INVALID',
    `The VAPID ${half} key (${size}) is not ${length} characters of unpadded base64url.`,
  );
}

function encodeJson(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
