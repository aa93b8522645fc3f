// Who may open a page of the console: who has signed in, from this very origin, and, to change something, with the session's
// own token in the form.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { assertPermitted, isSafe } from '../authorize.ts';
import { isOwnForm } from './csrf.ts';
import { sessionNameOf } from './session-cookie.ts';
import type { ConsoleSession, ConsoleSessions } from './sessions.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** `null` until it is known, and where nobody is signed in. */
    consoleSession: ConsoleSession | null;
  }
  interface FastifyContextConfig {
    /** Annotation of a route of the console: it is there for who has not signed in, too. */
    isOpen?: boolean | undefined;
  }
}

/** To be called before any route of the console is added. */
export function requireSession(app: FastifyInstance, sessions: ConsoleSessions): void {
  app.decorateRequest('consoleSession', null);

  app.addHook('onRequest', async (request, reply) => {
    const { isOpen = false } = request.routeOptions.config;
    const session = isOpen ? undefined : await sessions.find(sessionNameOf(request) ?? '');
    if (session !== undefined) {
      request.consoleSession = session;
      request.operator = session.operator;
      assertPermitted(request, session.operator);
    } else if (!isOpen) {
      if (isSafe(request.method)) return reply.redirect(`/console/sign-in${backTo(request)}`, 303);
      throw new DeskbellError('ERR_SIGNED_OUT', 'You are not signed in any more.');
    }
    // Browsers send Origin with every form; that it is our own has been checked for the whole listener.
    if (!isSafe(request.method) && request.headers.origin === undefined) {
      throw new DeskbellError('ERR_ORIGIN_REFUSED', 'The request does not say which page it comes from.');
    }
    return undefined;
  });

  app.addHook('preHandler', (request, _reply, done) => {
    const { consoleSession } = request;
    if (isSafe(request.method) || consoleSession === null) return done();
    if (isOwnForm(request.body, consoleSession)) return done();
    done(new DeskbellError('ERR_CSRF', 'The form does not belong to this session. Load its page again.'));
  });
}

/** @throws {Error} where the route is open to who has not signed in */
export function sessionOf({ consoleSession }: FastifyRequest): ConsoleSession {
  if (consoleSession === null) throw new Error('A route without a session asks for it.');
  return consoleSession;
}

/** Where signing in leads back to: pages only, the overview needs no mention. */
function backTo({ url, headers }: FastifyRequest): string {
  const isPage = headers['sec-fetch-dest'] === undefined || headers['sec-fetch-dest'] === 'document';
  return isPage && url !== '/console/' ? `?to=${encodeURIComponent(url)}` : '';
}
