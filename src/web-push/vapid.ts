// VAPID with the error texts of `web-push` and its checks, which are less strict than elsewhere in Deskbell.
import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto';
import { curve, pointBytes, scalarBytes } from '../protocol/p256.ts';
import {
  defaultTokenLifetimeSeconds,
  generateVapidKeys,
  importSigningKey,
  maxTokenLifetimeSeconds,
  signToken,
} from '../protocol/vapid.ts';
import { type ContentEncoding, ensure, type VapidDetails, type VapidKeys } from './types.ts';

export const generateVAPIDKeys: () => VapidKeys = generateVapidKeys;

export function checkVapidDetails({ subject, publicKey, privateKey }: VapidDetails): void {
  checkSubject(subject);
  ensure(publicKey, 'No key set vapidDetails.publicKey');
  ensure(typeof publicKey === 'string', 'Vapid public key is must be a URL safe Base 64 encoded string.');
  checkKeyBytes('public', publicKey, pointBytes);
  ensure(privateKey, 'No key set in vapidDetails.privateKey');
  ensure(typeof privateKey === 'string', 'Vapid private key must be a URL safe Base 64 encoded string.');
  checkKeyBytes('private', privateKey, scalarBytes);
}

type HeaderArguments<Encoding> = [
  audience: string,
  subject: string,
  publicKey: string,
  privateKey: string,
  contentEncoding: Encoding,
  expiration?: number | undefined,
];

export interface VapidHeaders {
  Authorization: string;
  'Crypto-Key'?: string | undefined;
}

/**
 * Makes the header fields that identify the application server to one push service.
 *
 * @param given `audience`: the push service's origin. `expiration`: seconds since 1970, at most 24 hours ahead; by
 *   default 12 hours ahead
 * @throws {Error}
 */
export function getVapidHeaders(...given: HeaderArguments<'aes128gcm'>): { Authorization: string };
export function getVapidHeaders(...given: HeaderArguments<'aesgcm'>): {
  Authorization: string;
  'Crypto-Key': string;
};
export function getVapidHeaders(...given: HeaderArguments<ContentEncoding>): VapidHeaders;
export function getVapidHeaders(...given: HeaderArguments<ContentEncoding>): VapidHeaders {
  const [audience, subject, publicKey, privateKey, contentEncoding, expiration] = given;
  checkAudience(audience);
  checkVapidDetails({ subject, publicKey, privateKey });
  if (expiration) checkExpiration(expiration);
  const exp = expiration || nowSeconds() + defaultTokenLifetimeSeconds;

  const token = signToken({ aud: audience, exp, sub: subject }, importPrivateKey(privateKey));
  switch (contentEncoding) {
    case supportedContentEncodings.AES_128_GCM:
      return { Authorization: `vapid t=${token}, k=${publicKey}` };
    case supportedContentEncodings.AES_GCM:
      return { Authorization: `WebPush ${token}`, 'Crypto-Key': `p256ecdsa=${publicKey}` };
    default:
      throw new Error('Unsupported encoding type specified.');
  }
}

// The DER bytes before and after the 32 bytes of the key in an ECPrivateKey (RFC 5915 §3) without a public key. They
// contain the version and the curve's object identifier.
const beforeKey = Buffer.from('30310201010420', 'hex');
const afterKey = Buffer.from('a00a06082a8648ce3d030107', 'hex');

/** Like `web-push`, accepts a private key that does not match the public key or is not valid at all, such as zeros. */
function importPrivateKey(privateKey: string): KeyObject {
  const bytes = Buffer.from(privateKey, 'base64url');
  const ecdh = createECDH(curve);
  try {
    ecdh.setPrivateKey(bytes);
  } catch {
    const key = Buffer.concat([beforeKey, bytes, afterKey]);
    return createPrivateKey({ key, format: 'der', type: 'sec1' });
  }
  return importSigningKey({ publicKey: ecdh.getPublicKey('base64url'), privateKey });
}

function checkAudience(audience: unknown): void {
  ensure(audience, 'No audience could be generated for VAPID.');
  const text = String(audience);
  ensure(
    typeof audience === 'string',
    `The audience value must be a string containing the origin of a push service. ${text}`,
  );
  ensure(URL.canParse(text), `VAPID audience is not a url. ${text}`);
}

function checkSubject(subject: unknown): void {
  ensure(subject, 'No subject set in vapidDetails.subject.');
  const text = String(subject);
  ensure(
    typeof subject === 'string',
    `The subject value must be a string containing an https: URL or mailto: address. ${text}`,
  );
  const url = URL.parse(text);
  ensure(url !== null, `Vapid subject is not a valid URL. ${text}`);
  const isContact = url.protocol === 'https:' || url.protocol === 'mailto:';
  ensure(isContact, `Vapid subject is not an https: or mailto: URL. ${text}`);
  if (url.hostname === 'localhost') {
    console.warn(
      "Vapid subject points to a localhost web URI, which is unsupported by Apple's push notification server and will " +
        'result in a BadJwtToken error when sending notifications.',
    );
  }
}

function checkKeyBytes(half: 'public' | 'private', key: string, bytes: number): void {
  ensure(isBase64url(key), `Vapid ${half} key must be a URL safe Base 64 (without "=")`);
  const { length } = Buffer.from(key, 'base64url');
  ensure(length === bytes, `Vapid ${half} key should be ${bytes} bytes long when decoded.`);
}

export function isBase64url(text: string): boolean {
  return /^[\w-]+$/.test(text);
}

function checkExpiration(expiration: number): void {
  ensure(Number.isInteger(expiration), '`expiration` value must be a number');
  ensure(expiration >= 0, '`expiration` must be a positive integer');
  const isSoon = expiration < nowSeconds() + maxTokenLifetimeSeconds;
  ensure(isSoon, '`expiration` value is greater than maximum of 24 hours');
}

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** Values for `contentEncoding`. */
export const supportedContentEncodings = { AES_GCM: 'aesgcm', AES_128_GCM: 'aes128gcm' } as const;
/** Values for `urgency`. */
export const supportedUrgency = { VERY_LOW: 'very-low', LOW: 'low', NORMAL: 'normal', HIGH: 'high' } as const;

// Caches VAPID header fields: a token is valid for hours, and signing one takes as long as encrypting a message.

/** One hour less than the lifetime of a token, in case the push service's clock is ahead. */
const cacheMs = 11 * 60 * 60 * 1000;
const maxCached = 1024;

/**
 * Makes a `getVapidHeaders` that reuses its results for eleven hours.
 *
 * @param now milliseconds since 1970
 */
export function createTokenCache(
  now: () => number = Date.now,
): (audience: string, details: VapidDetails, contentEncoding: ContentEncoding) => VapidHeaders {
  const cached = new Map<string, { readonly headers: VapidHeaders; readonly signedAtMs: number }>();
  return (audience, { subject, publicKey, privateKey }, contentEncoding) => {
    const key = JSON.stringify([audience, subject, publicKey, privateKey, contentEncoding]);
    const nowMs = now();
    const found = cached.get(key);
    // do not reuse a token that was signed while the clock was ahead
    if (found && nowMs >= found.signedAtMs && nowMs < found.signedAtMs + cacheMs) return found.headers;
    const headers = getVapidHeaders(audience, subject, publicKey, privateKey, contentEncoding);
    if (cached.size >= maxCached) cached.clear();
    cached.set(key, { headers, signedAtMs: nowMs });
    return headers;
  };
}
