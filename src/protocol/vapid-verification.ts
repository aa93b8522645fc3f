// The push service's side of RFC 8292: verifies the token of a push request. For use in programs that test a sender
// or act as a push service.
import { createPublicKey, verify } from 'node:crypto';

import { checkOptions, isText, type OptionChecks } from '../errors/check-options.ts';
import { decodeBase64 } from './bytes.ts';
import { assertInteger } from './check-arguments.ts';
import { parseJsonObject, type JsonObject } from './json-object.ts';
import { isP256Point, pointToJwk } from './p256.ts';
import { maxTokenLifetimeSeconds } from './vapid.ts';

/** The claims of a valid token (RFC 8292 §2), and the key that signed it. */
export interface VapidClaims {
  /** The application server's public key, 87 characters. */
  readonly publicKey: string;
  readonly aud: string;
  /** Seconds since 1970. */
  readonly exp: number;
  readonly sub?: string;
}

/** What is wrong with a VAPID token (RFC 8292 §2). */
export type VapidFault = 'malformed' | 'signature' | 'audience' | 'expired' | 'expires-too-late';

const clockBounds = { name: 'nowMs', min: 0, max: Number.MAX_SAFE_INTEGER };

interface VerificationOptions {
  readonly origin: string;
  readonly nowMs?: number;
}

const verificationChecks: OptionChecks<VerificationOptions> = {
  origin: isText,
  nowMs: (value) => assertInteger('ERR_CONFIGURATION', Math.floor(value as number), clockBounds),
};

/**
 * Verifies an `authorization` header that uses the `vapid` scheme.
 *
 * @param origin the origin that the request was posted to, with its port unless it is the default
 * @param nowMs milliseconds since 1970. Default: the system's time.
 * @returns the claims, or the first `VapidFault` (in the order of that type) that applies
 * @throws {DeskbellError} ERR_CONFIGURATION if `nowMs` is not a time
 * @see RFC 8292 §2, §3, §4.2
 */
export function verifyVapidAuthorization(
  authorization: string,
  options: VerificationOptions,
): VapidClaims | VapidFault {
  checkOptions(options, verificationChecks, { required: ['origin'] });
  const { origin, nowMs = Date.now() } = options;
  const { t: token, k: publicKey } = readParameters(authorization);
  const [header, payload, signature, ...rest] = token?.split('.') ?? [];
  if (publicKey === undefined || !header || !payload || !signature || rest.length > 0) return 'malformed';
  const claims = readJson(payload);
  const point = decodeBase64(publicKey);
  const { aud, exp, sub } = claims ?? {};
  if (readJson(header)?.['alg'] !== 'ES256' || typeof aud !== 'string' || typeof exp !== 'number')
    return 'malformed';
  if (point === undefined || !isP256Point(point)) return 'malformed';

  const key = createPublicKey({ format: 'jwk', key: pointToJwk(point) });
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  if (!isSigned) return 'signature';
  if (aud !== origin) return 'audience';
  if (exp * 1000 <= nowMs) return 'expired';
  if (exp * 1000 > nowMs + maxTokenLifetimeSeconds * 1000) return 'expires-too-late';
  return { publicKey, aud, exp, ...(typeof sub === 'string' ? { sub } : {}) };
}

/** Reads `vapid t=…, k=…`, in any order, quoted or not (RFC 9110 §11.4). */
function readParameters(authorization: string): { t?: string; k?: string } {
  const parameters: { t?: string; k?: string } = {};
  if (!/^vapid /i.test(authorization)) return parameters;
  for (const [, name, value] of authorization.matchAll(/[ ,](t|k)="?([A-Za-z0-9._-]+)"?/g)) {
    parameters[name as 't' | 'k'] = value as string;
  }
  return parameters;
}

const readJson = (part: string): JsonObject | undefined =>
  parseJsonObject(Buffer.from(part, 'base64url').toString());
