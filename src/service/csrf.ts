// Protection against forged requests: an unsafe method that carries the session cookie needs a token that only whoever
// made the session can have told. Without the cookie there is nothing to forge, and the request passes.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { deriveKey, readSessionCookie, type Session, type SessionVault } from './session.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Annotation of a route: it takes unsafe methods without a CSRF token. */
    csrfExempt?: boolean;
  }
}

export interface CsrfTokens {
  create(session: Session): string;
  isValid(token: string, session: Session): boolean;
}

/** Tokens that are an HMAC of the session's id: nothing is stored, and one session's token is no other's. */
export function createCsrfTokens(sessionKey: Uint8Array): CsrfTokens {
  const key = deriveKey(sessionKey, 'deskbell csrf token');
  const mac = ({ id }: Session): Buffer => createHmac('sha256', key).update(id).digest();
  return {
    create: (session) => mac(session).toString('base64url'),
    isValid(token, session) {
      const expected = Buffer.from(mac(session).toString('base64url'));
      const given = Buffer.from(token);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}

/** RFC 9110 §9.2.1. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

export function refuseForgedRequests(app: FastifyInstance, vault: SessionVault, tokens: CsrfTokens): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const sealed = readSessionCookie(request.headers.cookie);
    if (sealed === undefined || safeMethods.has(request.method) || request.routeOptions.config.csrfExempt) {
      return done();
    }
    const token = request.headers['csrf-token'];
    const session = vault.open(sealed);
    if (session && typeof token === 'string' && tokens.isValid(token, session)) return done();
    const what = token === undefined ? 'has no Csrf-Token header' : 'has a Csrf-Token of another session';
    done(new DeskbellError('ERR_CSRF', `The request carries a session cookie and ${what}.`));
  });
}
