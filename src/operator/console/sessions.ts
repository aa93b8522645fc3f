// Sessions of the console. The cookie's value is the session's random name. The store has a hash of that name, so every
// process that uses the store knows the session. A session ends when it expires, or when its operator is removed or
// signs out.
import { createHmac, hash, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { html, type Html } from '../../http/description/html.ts';
import { isSameSecret } from '../../protocol/bytes.ts';
import type { Operator } from '../../store/operators.ts';
import type { Store } from '../../store/store.ts';
import { assertPermitted, consoleRoles, isSafe } from '../authorize.ts';
import { textField } from './forms.ts';

const cookieName = 'deskbell_console';

export function sessionNameOf({ headers }: FastifyRequest): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === cookieName) return value;
  }
  return undefined;
}

/** @param sessionName '' removes the cookie */
export function setSessionCookie(reply: FastifyReply, sessionName: string, isSecure: boolean): void {
  const parts = [
    `${cookieName}=${sessionName}`,
    'Path=/console',
    'HttpOnly',
    'SameSite=Strict',
    ...(isSecure ? ['Secure'] : []),
    ...(sessionName === '' ? ['Max-Age=0'] : []),
  ];
  reply.header('set-cookie', parts.join('; '));
}

export interface ConsoleSession {
  readonly operator: Operator;
  /** Required in every request that changes something. */
  readonly csrfToken: string;
  readonly mayChange: boolean;
  /** True if the session could not be stored. Such a session permits no changes, whatever the operator's role is. */
  readonly isSealed: boolean;
}

export type ConsoleSessions = ReturnType<typeof createSessions>;

const lifetimeMs = 12 * 60 * 60 * 1000;

const sealedLifetimeMs = 15 * 60 * 1000;

export function createSessions({ operators, now }: Pick<Store, 'operators' | 'now'>) {
  const sealKey = randomBytes(32);
  const sealOf = (text: string): string => createHmac('sha256', sealKey).update(text).digest('base64url');

  const findSealed = async (name: string): Promise<ConsoleSession | undefined> => {
    const [, text = '', id, endsAtMs, seal = ''] = /^(sealed\.(\d+)\.(\d+))\.([\w-]+)$/.exec(name) ?? [];
    if (!isSameSecret(seal, sealOf(text)) || now() >= Number(endsAtMs)) return undefined;
    // removing the operator also removes the token, and so ends the session
    const operator = await operators.findById(Number(id));
    return operator && toSession(name, { ...operator, role: 'read' }, true);
  };

  return {
    /** Creates a read-only session that is not stored. Its name is sealed, and only this process can check the seal. */
    seal: ({ id }: Operator): string => {
      const text = `sealed.${id}.${now() + sealedLifetimeMs}`;
      return `${text}.${sealOf(text)}`;
    },
    /** @returns the session's name, for the cookie */
    start: async ({ id: operatorId }: Operator): Promise<string> => {
      // the name has 256 random bits
      const name = randomBytes(32).toString('base64url');
      await operators.startSession({ nameHash: derive('session', name), operatorId, lifetimeMs });
      return name;
    },
    find: async (name: string): Promise<ConsoleSession | undefined> => {
      if (name === '') return undefined;
      if (name.startsWith('sealed.')) return findSealed(name);
      const operator = await operators.findBySession(derive('session', name));
      if (operator === undefined || !consoleRoles.includes(operator.role)) return undefined;
      return toSession(name, operator, false);
    },
    end: async (name: string): Promise<void> => {
      if (name !== '') await operators.endSession(derive('session', name));
    },
  };
}

const toSession = (name: string, operator: Operator, isSealed: boolean): ConsoleSession => ({
  operator,
  csrfToken: derive('csrf', name).toString('base64url'),
  mayChange: operator.role === 'full',
  isSealed,
});

/** Derives a value from a session's name. It reveals neither the name nor another derived value. */
const derive = (purpose: 'session' | 'csrf', name: string): Buffer =>
  hash('sha256', `${purpose} ${name}`, 'buffer');

/** The CSRF token for every form that changes something. */
export const csrfField = ({ csrfToken }: ConsoleSession): Html =>
  html`<input type="hidden" name="csrf" value="${csrfToken}" />`;

const isOwnForm = (body: unknown, { csrfToken }: ConsoleSession): boolean =>
  isSameSecret(textField(body, 'csrf'), csrfToken);

// A console page needs a session and a request from the same origin; a change also needs the session's CSRF token.

declare module 'fastify' {
  interface FastifyRequest {
    /** `null` if nobody is signed in, or if the cookie has not been checked yet. */
    consoleSession: ConsoleSession | null;
  }
  interface FastifyContextConfig {
    /** Annotation of a console route that is open without signing in. */
    isOpen?: boolean | undefined;
  }
}

/** Call this before any console route is added. */
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
    // Browsers send Origin with every form, and the listener has already checked that it is ours.
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

/** @throws {Error} if the route does not require a session */
export function sessionOf({ consoleSession }: FastifyRequest): ConsoleSession {
  if (consoleSession === null) throw new Error('A route without a session asks for it.');
  return consoleSession;
}

/** The query that leads back to the requested page after sign-in. Empty if the overview or a file was requested. */
function backTo({ url, headers }: FastifyRequest): string {
  const isPage = headers['sec-fetch-dest'] === undefined || headers['sec-fetch-dest'] === 'document';
  return isPage && url !== '/console/' ? `?to=${encodeURIComponent(url)}` : '';
}
