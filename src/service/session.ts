// The session: a few entries in one cookie, sealed with AES-256-GCM under a key derived from the service's own. The
// service reads sessions and never sets one: a value comes from server-side code only, by `createSessionCookie`.
//
// Not @fastify/secure-session: it decorates every request of the application and works on each one, wanted or not,
// and brings 18 MB of native code for this one cookie.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

import { decodeBase64, encodeBase64url } from '../webpush/base64.ts';

export const sessionCookieName = 'deskbell_session';

export interface Session {
  /** The entry that the authenticator asks for. */
  readonly SESSION?: string;
  /** Random, for this session alone; CSRF tokens are bound to it. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

export interface SessionVault {
  /** The value of the cookie. */
  seal(session: Session): string;
  /** The session of a cookie's value; `undefined` where it is forged, damaged, under another key or expired. */
  open(sealed: string): Session | undefined;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

export function createSessionVault(sessionKey: Uint8Array, now: () => number = Date.now): SessionVault {
  const key = deriveKey(sessionKey, 'deskbell session cookie');
  return {
    seal(session) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce);
      const sealed = [
        nonce,
        cipher.update(JSON.stringify(session), 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ];
      return encodeBase64url(Buffer.concat(sealed));
    },
    open(sealed) {
      const bytes = decodeBase64(sealed);
      if (bytes === undefined || bytes.length <= nonceBytes + tagBytes) return undefined;
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes));
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      let text = decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8');
      try {
        text += decipher.final('utf8');
      } catch {
        return undefined;
      }
      // What opens was sealed by us, so it has our shape.
      const session = JSON.parse(text) as Session;
      return session.expiresAtMs > now() ? session : undefined;
    },
  };
}

/** The value of the session cookie in a `Cookie` header (RFC 6265 §5.4), sealed as it came. */
export function readSessionCookie(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const start = `${sessionCookieName}=`;
  const pair = header.split(';').find((part) => part.trimStart().startsWith(start));
  return pair?.trim().slice(start.length);
}

/** One key, one purpose (RFC 5869). */
export function deriveKey(sessionKey: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', sessionKey, '', purpose, 32));
}
