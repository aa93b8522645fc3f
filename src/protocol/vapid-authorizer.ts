// Gives the `authorization` of push requests, and renews its tokens: one token serves an origin for hours, so that signing
// costs nothing per message.
import { checkOptions, isCheckedElsewhere, isFunction, type OptionChecks } from '../errors/check-options.ts';
import { assertInteger } from './check-arguments.ts';
import {
  checkVapidKeys,
  defaultTokenLifetimeSeconds,
  importSigningKey,
  maxTokenLifetimeSeconds,
  signToken,
  type VapidKeys,
} from './vapid-token.ts';
import { checkVapidSubject } from './vapid-subject.ts';

/** Of `createVapidAuthorizer`. */
export interface VapidAuthorizerOptions {
  readonly keys: VapidKeys;
  /** `mailto:` or `https:` URI at which a push service can reach the operator. */
  readonly subject: string;
  /** How long a token is valid: 60 to 86,400, by default 43,200 (12 hours). */
  readonly lifetimeSeconds?: number | undefined;
  /** The clock, in milliseconds since 1970; by default the system's. It may be set forwards and backwards. */
  readonly now?: (() => number) | undefined;
}

/** @returns the value of the `authorization` header for an origin: the same string until the token is renewed */
export type VapidAuthorizer = (origin: string) => string;

const vapidAuthorizerChecks: OptionChecks<VapidAuthorizerOptions> = {
  keys: isCheckedElsewhere,
  subject: isCheckedElsewhere,
  lifetimeSeconds: (value) => assertInteger('ERR_CONFIGURATION', value, lifetimeBounds),
  now: isFunction,
};

const lifetimeBounds = { name: 'lifetimeSeconds', min: 60, max: maxTokenLifetimeSeconds };
/** Renewed this long before it expires, since the push service's clock may be ahead of ours. */
const renewalMarginSeconds = 60 * 60;
/** RFC 7519 §2: `exp` is a number of seconds since 1970. */
const clockBounds = { name: 'The time of the clock in seconds', min: 0, max: Number.MAX_SAFE_INTEGER };
/** A push service has few origins; the bound is for an operator who admits a whole domain. */
const maxCachedOrigins = 1024;

/**
 * Makes `vapid t=…, k=…` values (RFC 8292 §3), signed with ES256, one per origin. A value is used again while its
 * token has between an hour (half of its lifetime, where that is less) and its whole lifetime left. So it is renewed in
 * time, and also when the clock turns out to have been ahead when it was signed.
 *
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION (`lifetimeSeconds`, or a
 *   clock that gives no number)
 * @see RFC 8292 §2
 */
export function createVapidAuthorizer(options: VapidAuthorizerOptions): VapidAuthorizer {
  checkOptions(options, vapidAuthorizerChecks);
  const { keys, subject, lifetimeSeconds = defaultTokenLifetimeSeconds, now = Date.now } = options;
  checkVapidKeys(keys);
  checkVapidSubject(subject);
  // Schemes are case-insensitive (RFC 3986 §3.1), but push services compare them as they are written.
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

    cache.delete(origin); // to the end of the map: its first entry is the oldest
    cache.set(origin, { value, exp });
    if (cache.size > maxCachedOrigins) cache.delete(cache.keys().next().value as string);
    return value;
  };
}
