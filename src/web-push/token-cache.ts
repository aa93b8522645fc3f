// Keeps VAPID header fields: a token is valid for hours, and signing one takes as long as encrypting a message.
import type { ContentEncoding, VapidDetails } from './types.ts';
import { getVapidHeaders } from './vapid.ts';

export type VapidHeaders = ReturnType<typeof getVapidHeaders>;

/** Less than a token's twelve hours, in case the push service's clock is ahead. */
const cacheMs = 11 * 60 * 60 * 1000;
const maxCached = 1024;

/** Makes a `getVapidHeaders` that signs again after eleven hours. @param now milliseconds since 1970 */
export function createTokenCache(
  now: () => number = Date.now,
): (audience: string, details: VapidDetails, contentEncoding: ContentEncoding) => VapidHeaders {
  const cached = new Map<string, { readonly headers: VapidHeaders; readonly signedAtMs: number }>();
  return (audience, { subject, publicKey, privateKey }, contentEncoding) => {
    const key = JSON.stringify([audience, subject, publicKey, privateKey, contentEncoding]);
    const nowMs = now();
    const found = cached.get(key);
    // A clock that was ahead when the token was signed must not keep it longer.
    if (found && nowMs >= found.signedAtMs && nowMs < found.signedAtMs + cacheMs) return found.headers;
    const headers = getVapidHeaders(audience, subject, publicKey, privateKey, contentEncoding);
    if (cached.size >= maxCached) cached.clear();
    cached.set(key, { headers, signedAtMs: nowMs });
    return headers;
  };
}
