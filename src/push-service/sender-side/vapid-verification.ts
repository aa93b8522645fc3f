// Verifies senders (RFC 8292) with only node:crypto. Reads `vapid t=…, k=…` and the older `WebPush <jwt>` with
// `Crypto-Key: p256ecdsa=…`, which some libraries still send with `aesgcm`.
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { readParameters } from '../http/exchange.ts';

interface ApplicationServerKey {
  /** Unpadded base64url, 87 characters, so that equal keys have equal text. */
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

/** Decodes base64url, with or without padding; Firefox pads its keys. Returns `undefined` for any other text. */
function decodeBase64url(text: string): Buffer | undefined {
  const unpadded = text.replace(/={1,2}$/, '');
  const bytes = Buffer.from(unpadded, 'base64url');
  // Buffer.from skips invalid characters, so encode the result again and compare
  return bytes.toString('base64url') === unpadded ? bytes : undefined;
}

type VapidVerdict =
  | { readonly kind: 'absent' }
  | { readonly kind: 'valid'; readonly publicKey: string }
  | { readonly kind: 'invalid'; readonly reason: string };

const maxLifetimeSeconds = 24 * 60 * 60; // RFC 8292 §2
const maxRememberedTokens = 1000;

/**
 * Makes a verifier for the push resources of one origin. It remembers valid tokens until they expire, because senders
 * reuse them.
 *
 * @param origin scheme, host and port as in the endpoints; must equal `aud`
 */
export function createVapidVerifier(origin: string, now: () => number) {
  const remembered = new Map<string, { publicKey: string; expiresAtSeconds: number }>();

  return (headers: IncomingHttpHeaders): VapidVerdict => {
    if (headers.authorization === undefined) return { kind: 'absent' };
    const cacheKey = `${headers.authorization}\n${String(headers['crypto-key'])}`;
    const nowSeconds = now() / 1000;
    const known = remembered.get(cacheKey);
    if (known !== undefined && known.expiresAtSeconds > nowSeconds) {
      return { kind: 'valid', publicKey: known.publicKey };
    }
    const credentials = readCredentials(headers.authorization, headers['crypto-key']);
    if (typeof credentials === 'string') return { kind: 'invalid', reason: credentials };
    const key = parseApplicationServerKey(credentials.key);
    if (key === undefined)
      return { kind: 'invalid', reason: 'the key is not a 65-byte P-256 point in base64url' };
    const claims = verifyToken(credentials.token, key, origin, nowSeconds);
    if (typeof claims === 'string') return { kind: 'invalid', reason: claims };
    if (remembered.size >= maxRememberedTokens) remembered.clear();
    remembered.set(cacheKey, { publicKey: key.text, expiresAtSeconds: claims.exp });
    return { kind: 'valid', publicKey: key.text };
  };
}

function readCredentials(
  authorization: string,
  cryptoKey: string | string[] | undefined,
): { token: string; key: string } | string {
  const [, scheme = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(authorization) ?? [];
  if (scheme.toLowerCase() === 'vapid') {
    const parameters = readParameters(rest, ',');
    const token = parameters.get('t');
    const key = parameters.get('k');
    if (token === undefined) return 'the vapid scheme needs the parameter "t"';
    if (key === undefined) return 'the vapid scheme needs the parameter "k"';
    return { token, key };
  }
  if (scheme.toLowerCase() === 'webpush') {
    const key = readParameters(String(cryptoKey ?? ''), /[;,]/).get('p256ecdsa');
    if (key === undefined) return 'the WebPush scheme needs "p256ecdsa" in the Crypto-Key header';
    return { token: rest.trim(), key };
  }
  return 'the Authorization header must use the scheme "vapid"';
}

function verifyToken(
  token: string,
  key: ApplicationServerKey,
  origin: string,
  nowSeconds: number,
): { exp: number } | string {
  const parts = token.split('.');
  if (parts.length !== 3) return `a JWT has 3 parts, this one has ${parts.length}`;
  const [header = '', payload = '', signature = ''] = parts;
  if (readJson(header)?.['alg'] !== 'ES256') return 'the JWT must be signed with ES256';
  const signatureBytes = decodeBase64url(signature);
  if (signatureBytes?.length !== 64) return 'an ES256 signature has 64 bytes';
  const signed = Buffer.from(`${header}.${payload}`);
  if (!verify('sha256', signed, { key: key.key, dsaEncoding: 'ieee-p1363' }, signatureBytes)) {
    return 'the signature does not fit the key';
  }
  const { aud, exp, sub } = readJson(payload) ?? {};
  if (![aud].flat().includes(origin)) {
    const fault = `"aud" must be the origin of the push resource, ${origin}, not ${JSON.stringify(aud)}`;
    return lacksPort(aud, origin) ? `${fault}. ${portAdvice}` : fault;
  }
  if (typeof exp !== 'number') return '"exp" must be a number of seconds since 1970';
  if (exp <= nowSeconds) return `"exp" has passed ${Math.ceil(nowSeconds - exp)} s ago`;
  if (exp > nowSeconds + maxLifetimeSeconds) {
    return `"exp" is ${Math.ceil(exp - nowSeconds)} s away, at most ${maxLifetimeSeconds} are allowed`;
  }
  if (sub !== undefined && !(typeof sub === 'string' && /^(mailto:|https:\/\/)[^\s<>]+$/.test(sub))) {
    return '"sub" must be a mailto: or https: URI';
  }
  return { exp };
}

const portAdvice =
  'Some senders leave out the port (the Java library nl.martijndwars:web-push, the Rust crate web-push, the Python package webpush): give this push service the port 80, or 443 with TLS';

function lacksPort(aud: unknown, origin: string): boolean {
  const url = new URL(origin);
  url.port = '';
  return url.origin !== origin && aud === url.origin;
}

function readJson(text: string): Record<string, unknown> | undefined {
  const bytes = decodeBase64url(text);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
