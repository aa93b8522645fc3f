// Voluntary application server identification (RFC 8292): the key pair, the contact, and signed tokens that are
// renewed in time.
import { createECDH, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import {
  checkOptions,
  isCheckedElsewhere,
  isFunction,
  type OptionChecks,
  typeOf,
} from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { decodeBase64, encodeBase64url } from './bytes.ts';
import { assertInteger } from './check-arguments.ts';
import { curve, generateP256Pair, isP256Point, pointToJwk } from './p256.ts';

/** A P-256 key pair. Both keys are unpadded base64url. */
export interface VapidKeys {
  /** 87 characters: the 65-byte uncompressed point. */
  readonly publicKey: string;
  /** 43 characters: the 32-byte scalar. Secret. */
  readonly privateKey: string;
}

export const defaultTokenLifetimeSeconds = 12 * 60 * 60;
/** RFC 8292 §2: `exp` must not be more than 24 hours ahead. */
export const maxTokenLifetimeSeconds = 24 * 60 * 60;

/**
 * Generates a P-256 pair. A subscription is bound to the pair that it was made with. So if you replace a pair, you lose
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

/** True for a public key: an uncompressed point on P-256 as 87 characters of unpadded base64url. */
export function isVapidPublicKey(key: unknown): key is string {
  const bytes = typeof key === 'string' ? decodeBase64(key) : undefined;
  return bytes !== undefined && isP256Point(bytes) && encodeBase64url(bytes) === key;
}

/**
 * Checks that both keys of a pair are well-formed and belong together.
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

/** Imports the private key of a pair, for `signToken`. */
export function importSigningKey({ publicKey, privateKey }: VapidKeys): KeyObject {
  const jwk = { ...pointToJwk(Buffer.from(publicKey, 'base64url')), d: privateKey };
  return createPrivateKey({ format: 'jwk', key: jwk });
}

const tokenHeader = encodeJson({ typ: 'JWT', alg: 'ES256' });

/**
 * Signs a token with ES256.
 *
 * @param claims the push service's origin, the expiry in seconds since 1970, and the subject
 * @see RFC 8292 §2; RFC 7515 §3.1; RFC 7518 §3.4
 */
export function signToken(claims: { aud: string; exp: number; sub: string }, key: KeyObject): string {
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

// Checks the VAPID subject (RFC 8292 §2.1), the contact for push services, against the general rules and Apple's own.
// Apple's push service answers 403 BadJwtToken if the contact's domain cannot exist.

/**
 * Checks the VAPID subject, which is your contact address for push services, before the first message. Apple
 * answers a message with a bad subject only with BadJwtToken, which does not name the subject.
 *
 * @throws {DeskbellError} ERR_VAPID_SUBJECT_INVALID
 */
export function checkVapidSubject(subject: string): void {
  if (typeof subject !== 'string') throw badSubject(`must be a string, not ${typeOf(subject)}`);
  if (/[\s<>]/.test(subject)) throw badSubject('holds a space or an angle bracket');
  if (/^mailto:mailto:/i.test(subject)) throw badSubject('has mailto: twice');
  const host = hostOf(subject);
  if (host === undefined) throw badSubject('is not a mailto: or https: URI');
  if (/^(.+\.)?localhost\.?$|^127\.|^\[/i.test(host)) throw badSubject('names this machine itself');
}

/** Top-level domains that are never delegated: those of RFC 6761, 6762, 7686 and 8375, and ICANN's for private use. */
const unreachable: ReadonlySet<string> = new Set([
  'arpa',
  'corp',
  'example',
  'home',
  'internal',
  'invalid',
  'lan',
  'local',
  'localhost',
  'mail',
  'onion',
  'test',
]);

/**
 * Explains why Apple refuses tokens with this subject, beginning with the reason that Apple itself gives.
 *
 * @param subject must have passed `checkVapidSubject`
 * @returns `undefined` if Apple accepts the subject
 */
export function findAppleSubjectFault(subject: string): string | undefined {
  const host = hostOf(subject)?.toLowerCase().replace(/\.$/, '') ?? '';
  const topLevel = host.split('.').at(-1) ?? '';
  // the last label of a domain name contains a letter; that of an IPv4 address does not
  const isName =
    /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]*\p{L}[\p{L}\p{N}-]*$/u.test(host);
  if (isName && !unreachable.has(topLevel)) return undefined;
  return `BadJwtToken: Apple takes no VAPID subject at ${host}; give a contact at a domain of yours, such as mailto:push@your.domain.`;
}

/** @returns `undefined` if the subject is not a `mailto:` or `https:` URI */
function hostOf(subject: string): string | undefined {
  const mailDomain = /^mailto:[^@]+@([^@?]+)(\?.*)?$/i.exec(subject)?.[1];
  return /^https:\/\//i.test(subject) ? URL.parse(subject)?.hostname : mailDomain;
}

function badSubject(fault: string): DeskbellError {
  return new DeskbellError(
    'ERR_VAPID_SUBJECT_INVALID',
    `The VAPID subject ${fault}. Give a contact such as mailto:push@example.org or https://example.org/contact.`,
  );
}

// Makes the `authorization` header of push requests. One token is valid for hours at an origin, so signing costs
// almost nothing per message.

/** `createVapidAuthorizer` takes these options. */
export interface VapidAuthorizerOptions {
  readonly keys: VapidKeys;
  /** `mailto:` or `https:` URI at which push services can reach the operator. */
  readonly subject: string;
  /** How long a token is valid, in seconds: 60 to 86,400. Default: 43,200 (12 hours). */
  readonly lifetimeSeconds?: number | undefined;
  /** Returns milliseconds since 1970. Default: the system's clock. The clock may jump forward and back. */
  readonly now?: (() => number) | undefined;
}

/** Returns the `authorization` header for an origin. The header stays the same until its VAPID token is renewed. */
export type VapidAuthorizer = (origin: string) => string;

const vapidAuthorizerChecks: OptionChecks<VapidAuthorizerOptions> = {
  keys: isCheckedElsewhere,
  subject: isCheckedElsewhere,
  lifetimeSeconds: (value) => assertInteger('ERR_CONFIGURATION', value, lifetimeBounds),
  now: isFunction,
};

const lifetimeBounds = { name: 'lifetimeSeconds', min: 60, max: maxTokenLifetimeSeconds };
/** A token is renewed this long before its expiry, in case the push service's clock is fast. */
const renewalMarginSeconds = 60 * 60;
/** RFC 7519 §2: `exp` is a number of seconds since 1970. */
const clockBounds = { name: 'The time of the clock in seconds', min: 0, max: Number.MAX_SAFE_INTEGER };
/** A push service has few origins. The limit is for operators who list a whole domain. */
const maxCachedOrigins = 1024;

/**
 * Creates an authorizer. For each origin, the authorizer returns a value for the `Authorization` header:
 * `vapid t=…, k=…` (RFC 8292 §3), with a token that is signed with ES256. The authorizer reuses a token until the token
 * expires in less than an hour. If a token's lifetime is shorter than two hours, the authorizer reuses the token for
 * half of its lifetime. If the clock was ahead when a token was signed and was then set back, the authorizer renews the
 * token.
 *
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION (`lifetimeSeconds`, or a
 *   clock that returns no number)
 * @see RFC 8292 §2
 */
export function createVapidAuthorizer(options: VapidAuthorizerOptions): VapidAuthorizer {
  checkOptions(options, vapidAuthorizerChecks);
  const { keys, subject, lifetimeSeconds = defaultTokenLifetimeSeconds, now = Date.now } = options;
  checkVapidKeys(keys);
  checkVapidSubject(subject);
  // schemes are case-insensitive (RFC 3986 §3.1), but push services compare them literally
  const sub = subject.replace(/^[^:]+/, (scheme) => scheme.toLowerCase());
  const signingKey = importSigningKey(keys);
  const marginSeconds = Math.min(renewalMarginSeconds, lifetimeSeconds / 2);
  const cache = new Map<string, { readonly value: string; readonly exp: number }>();

  return (origin) => {
    const nowSeconds = Math.floor(now() / 1000);
    const cached = cache.get(origin);
    const leftSeconds = cached === undefined ? 0 : cached.exp - nowSeconds;
    if (cached !== undefined && leftSeconds > marginSeconds && leftSeconds <= lifetimeSeconds) {
      return cached.value;
    }
    assertInteger('ERR_CONFIGURATION', nowSeconds, clockBounds);
    const exp = nowSeconds + lifetimeSeconds;
    const value = `vapid t=${signToken({ aud: origin, exp, sub }, signingKey)}, k=${keys.publicKey}`;

    cache.delete(origin); // move the entry to the end of the map, whose first entry is the oldest
    cache.set(origin, { value, exp });
    if (cache.size > maxCachedOrigins) cache.delete(cache.keys().next().value as string);
    return value;
  };
}
