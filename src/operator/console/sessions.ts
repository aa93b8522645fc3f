// The cookie of the console: its name, its attributes, and the session that a request names in it.
import { hash, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { html, type Html } from '../../http/description/html.ts';
import { isSameSecret } from '../../protocol/same-secret.ts';
import type { Operator, OperatorStore } from '../../store/operators.ts';
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

/** @param sessionName empty to remove it */
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

// Who is signed in to the console: the cookie has a random name, and the store a hash of it, so that every process on the
// store knows the session. It ends when its operator is removed, on signing out, and after its time.

export interface ConsoleSession {
  readonly operator: Operator;
  /** Every request that changes something carries it. */
  readonly csrfToken: string;
  /** Whether the operator's role permits changes. */
  readonly mayChange: boolean;
}

export interface ConsoleSessions {
  /** @returns the name of the session, for the cookie */
  start(operator: Operator): Promise<string>;
  find(name: string): Promise<ConsoleSession | undefined>;
  end(name: string): Promise<void>;
}

const lifetimeMs = 12 * 60 * 60 * 1000;

export function createSessions(operators: OperatorStore): ConsoleSessions {
  return {
    start: async ({ id: operatorId }) => {
      // 256 bits
      const name = randomBytes(32).toString('base64url');
      await operators.startSession({ nameHash: derive('session', name), operatorId, lifetimeMs });
      return name;
    },
    find: async (name) => {
      if (name === '') return undefined;
      const operator = await operators.findBySession(derive('session', name));
      if (operator === undefined || !consoleRoles.includes(operator.role)) return undefined;
      const csrfToken = derive('csrf', name).toString('base64url');
      return { operator, csrfToken, mayChange: operator.role === 'full' };
    },
    end: async (name) => {
      if (name !== '') await operators.endSession(derive('session', name));
    },
  };
}

/** Nobody can tell the name from it, or one from another. */
const derive = (purpose: 'session' | 'csrf', name: string): Buffer =>
  hash('sha256', `${purpose} ${name}`, 'buffer');

// The token by which a form of the console proves that it was made for the session that sends it.

/** Every form that changes something has it. */
export const csrfField = ({ csrfToken }: ConsoleSession): Html =>
  html`<input type="hidden" name="csrf" value="${csrfToken}" />`;

const isOwnForm = (body: unknown, { csrfToken }: ConsoleSession): boolean =>
  isSameSecret(textField(body, 'csrf'), csrfToken);

// Who may open a page of the console: who has signed in, from this very origin, and, to change something, with the session's
// own token in the form.

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
