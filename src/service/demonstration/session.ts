// The session: a few entries in one cookie, an encrypted JWT under a key derived from the service's own. The service
// only reads sessions; `createSessionCookie` makes them, in server-side code.
//
// @fastify/secure-session is not used: it decorates and processes every request of the application, and adds 18 MB of
// native code.
import { hkdfSync } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import { readSessionCookie } from './session-cookie.ts';

export interface Session {
  readonly SESSION?: string;
  /** Random and never disclosed: the session's CSRF tokens are derived from it. */
  readonly secret: string;
}

export type SessionVault = ReturnType<typeof createSessionVault>;

/** RFC 7518 §4.5, §5.3: the shared key itself, AES-256-GCM. */
const keyManagement = 'dir';
const contentEncryption = 'A256GCM';

export function createSessionVault(sessionKey: Uint8Array) {
  // RFC 5869: one key, one purpose
  const key = new Uint8Array(hkdfSync('sha256', sessionKey, '', 'deskbell session cookie', 32));
  return {
    seal: (session: Session, lifetimeSeconds: number): Promise<string> =>
      new EncryptJWT({ ...session })
        .setProtectedHeader({ alg: keyManagement, enc: contentEncryption })
        .setExpirationTime(new Date(Date.now() + lifetimeSeconds * 1000))
        .encrypt(key),

    /** Returns `undefined` if the value is forged, damaged, expired or encrypted with another key. */
    async open(sealed: string): Promise<Session | undefined> {
      try {
        const { payload } = await jwtDecrypt<Session>(sealed, key, {
          keyManagementAlgorithms: [keyManagement],
          contentEncryptionAlgorithms: [contentEncryption],
          requiredClaims: ['exp'],
        });
        return payload;
      } catch (error) {
        if (error instanceof errors.JOSEError) return undefined;
        throw error;
      }
    },
  };
}

export type RequestSessions = ReturnType<typeof createRequestSessions>;

export function createRequestSessions(vault: SessionVault) {
  const opened = new WeakMap<FastifyRequest, Session>();
  const open = async (request: FastifyRequest, sealed: string): Promise<undefined> => {
    const session = await vault.open(sealed);
    if (session !== undefined) opened.set(request, session);
  };
  return {
    openSessions(app: FastifyInstance): void {
      app.addHook('onRequest', (request, _reply, proceed) => {
        const sealed = readSessionCookie(request.headers.cookie);
        if (sealed === undefined) proceed();
        else open(request, sealed).then(proceed, proceed);
      });
    },
    of: (request: FastifyRequest): Session | undefined => opened.get(request),
  };
}
