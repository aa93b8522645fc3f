// VAPID as the original has it: what it checks, what it does not, and the texts of its errors, which are an interface:
// applications compare them. Subject and pair are checked less strictly than by the rest of this package.
import { createECDH } from 'node:crypto';

import { curve } from '../protocol/p256.ts';
import {
  defaultTokenLifetimeSeconds,
  generateVapidKeys,
  importSigningKey,
  maxTokenLifetimeSeconds,
  signToken,
} from '../protocol/vapid-token.ts';
import { supportedContentEncodings } from './content-encodings.ts';
import type { ContentEncoding, VapidDetails, VapidKeys } from './types.ts';

export function generateVAPIDKeys(): VapidKeys {
  return generateVapidKeys();
}

/** @throws {Error} */
export function checkVapidDetails({ subject, publicKey, privateKey }: VapidDetails): void {
  checkSubject(subject);
  checkPublicKey(publicKey);
  checkPrivateKey(privateKey);
}

/**
 * The header fields that identify the application server, for one push service.
 *
 * @param audience the push service's origin
 * @param expiration seconds since 1970, at most 24 hours ahead; by default 12 hours ahead
 * @throws {Error}
 */
export function getVapidHeaders(
  audience: string,
  subject: string,
  publicKey: string,
  privateKey: string,
  contentEncoding: ContentEncoding,
  expiration?: number,
): { Authorization: string; 'Crypto-Key'?: string } {
  checkAudience(audience);
  checkVapidDetails({ subject, publicKey, privateKey });
  if (expiration) checkExpiration(expiration);
  const exp = expiration || nowSeconds() + defaultTokenLifetimeSeconds;

  // The original signs without a look at the public key: one that belongs to another pair is the push service's to refuse.
  const ecdh = createECDH(curve);
  ecdh.setPrivateKey(privateKey, 'base64url');
  const key = importSigningKey({ publicKey: ecdh.getPublicKey('base64url'), privateKey });
  const token = signToken({ aud: audience, exp, sub: subject }, key);
  switch (contentEncoding) {
    case supportedContentEncodings.AES_128_GCM:
      return { Authorization: `vapid t=${token}, k=${publicKey}` };
    case supportedContentEncodings.AES_GCM:
      return { Authorization: `WebPush ${token}`, 'Crypto-Key': `p256ecdsa=${publicKey}` };
    default:
      throw new Error('Unsupported encoding type specified.');
  }
}

function checkAudience(audience: unknown): void {
  if (!audience) throw new Error('No audience could be generated for VAPID.');
  if (typeof audience !== 'string') {
    throw new Error(
      `The audience value must be a string containing the origin of a push service. ${String(audience)}`,
    );
  }
  if (!URL.canParse(audience)) throw new Error(`VAPID audience is not a url. ${audience}`);
}

function checkSubject(subject: unknown): void {
  if (!subject) throw new Error('No subject set in vapidDetails.subject.');
  if (typeof subject !== 'string') {
    throw new Error(
      `The subject value must be a string containing an https: URL or mailto: address. ${String(subject)}`,
    );
  }
  const url = URL.parse(subject);
  if (url === null) throw new Error(`Vapid subject is not a valid URL. ${subject}`);
  if (url.protocol !== 'https:' && url.protocol !== 'mailto:') {
    throw new Error(`Vapid subject is not an https: or mailto: URL. ${subject}`);
  }
  if (url.hostname === 'localhost') {
    console.warn(
      "Vapid subject points to a localhost web URI, which is unsupported by Apple's push notification server and will " +
        'result in a BadJwtToken error when sending notifications.',
    );
  }
}

function checkPublicKey(publicKey: unknown): void {
  if (!publicKey) throw new Error('No key set vapidDetails.publicKey');
  if (typeof publicKey !== 'string') {
    throw new Error('Vapid public key is must be a URL safe Base 64 encoded string.');
  }
  checkKeyBytes('public', publicKey, 65);
}

function checkPrivateKey(privateKey: unknown): void {
  if (!privateKey) throw new Error('No key set in vapidDetails.privateKey');
  if (typeof privateKey !== 'string') {
    throw new Error('Vapid private key must be a URL safe Base 64 encoded string.');
  }
  checkKeyBytes('private', privateKey, 32);
}

function checkKeyBytes(half: 'public' | 'private', key: string, bytes: number): void {
  if (!isBase64url(key)) throw new Error(`Vapid ${half} key must be a URL safe Base 64 (without "=")`);
  if (Buffer.from(key, 'base64url').length !== bytes) {
    throw new Error(`Vapid ${half} key should be ${bytes} bytes long when decoded.`);
  }
}

/** True for one character of the URL-safe alphabet or more; the original asks no more of it. */
export function isBase64url(text: string): boolean {
  return /^[\w-]+$/.test(text);
}

function checkExpiration(expiration: unknown): void {
  if (!Number.isInteger(expiration)) throw new Error('`expiration` value must be a number');
  if (Number(expiration) < 0) throw new Error('`expiration` must be a positive integer');
  if (Number(expiration) >= nowSeconds() + maxTokenLifetimeSeconds) {
    throw new Error('`expiration` value is greater than maximum of 24 hours');
  }
}

const nowSeconds = (): number => Math.floor(Date.now() / 1000);
