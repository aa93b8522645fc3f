// An unsafe method with the session cookie needs a token that only the session's creator can have made (CSRF).
import { Tokens } from '@fastify/csrf';
import type { FastifyInstance } from 'fastify';

import { DeskbellError } from '../../errors/deskbell-error.ts';
import { amendOperation } from '../../http/description/operation.ts';
import type { RequestSessions, Session } from './session.ts';
import { readSessionCookie } from './session-cookie.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    csrfExempt?: boolean;
  }
}

// Nothing is stored: a token is a salted hash of the session's own secret.
const tokens = new Tokens({ userInfo: false });

export const createCsrfToken = ({ secret }: Session): string => tokens.create(secret);

/** RFC 9110 §9.2.1. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

export function rejectForgedRequests(app: FastifyInstance, sessions: RequestSessions): void {
  app.addHook('onRoute', (route) => {
    if (safeMethods.has(String(route.method)) || route.config?.csrfExempt) return;
    amendOperation(route, { errors: ['ERR_CSRF'], security: [{}, { session: [], csrfToken: [] }] });
  });
  app.addHook('onRequest', (request, _reply, done) => {
    const isPassed =
      safeMethods.has(request.method) ||
      request.routeOptions.config.csrfExempt ||
      readSessionCookie(request.headers.cookie) === undefined;
    if (isPassed) return done();
    const token = request.headers['csrf-token'];
    const session = sessions.of(request);
    if (session && typeof token === 'string' && tokens.verify(session.secret, token)) return done();
    const what = token === undefined ? 'has no Csrf-Token header' : 'has a Csrf-Token of another session';
    done(new DeskbellError('ERR_CSRF', `The request carries a session cookie and ${what}.`));
  });
}
