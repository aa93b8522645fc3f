// A session is a few entries in one cookie, as a JWT encrypted with a key derived from the service's key. The service
// only reads sessions; server-side code makes them with `createSessionCookie`.
//
// @fastify/secure-session is not used: it decorates and processes every request of the application, and adds 18 MB of
// native code.
import { hkdfSync, randomBytes } from 'node:crypto';
import { Tokens } from '@fastify/csrf';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import { checkOptions, isNumber, isSecret, isText, type OptionChecks } from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { amendOperation } from '../../http/description/operation.ts';

export interface Session {
  readonly SESSION?: string;
  /** Random and never disclosed: the session's CSRF tokens are derived from it. */
  readonly secret: string;
}

/** RFC 7518 §4.5, §5.3: direct encryption with the shared key, AES-256-GCM. */
const keyManagement = 'dir';
const contentEncryption = 'A256GCM';

export function createSessionVault(sessionKey: Uint8Array) {
  // RFC 5869: a key for this purpose only, derived from the shared key
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

/** Returns the session of a request; `undefined` if there is none. */
export type SessionOf = (request: FastifyRequest) => Session | undefined;

/** Opens the session of each request and rejects forged requests. Must be called before any route is added. */
export function protectSessions(app: FastifyInstance, sessionKey: Uint8Array): SessionOf {
  const vault = createSessionVault(sessionKey);
  const opened = new WeakMap<FastifyRequest, Session>();
  const open = async (request: FastifyRequest, sealed: string): Promise<undefined> => {
    const session = await vault.open(sealed);
    if (session !== undefined) opened.set(request, session);
  };
  app.addHook('onRequest', (request, _reply, proceed) => {
    const sealed = readSessionCookie(request.headers.cookie);
    if (sealed === undefined) proceed();
    else open(request, sealed).then(proceed, proceed);
  });
  const sessionOf: SessionOf = (request) => opened.get(request);
  rejectForgedRequests(app, sessionOf);
  return sessionOf;
}

export const sessionCookieName = 'deskbell_session';

/** The encrypted value of the session cookie in a `Cookie` header (RFC 6265 §5.4). */
export function readSessionCookie(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const start = `${sessionCookieName}=`;
  const pair = header.split(';').find((part) => part.trimStart().startsWith(start));
  return pair?.trim().slice(start.length);
}

const formatSetCookie = (sealed: string, lifetimeSeconds: number): string =>
  `${sessionCookieName}=${sealed}; Path=/; Max-Age=${lifetimeSeconds}; HttpOnly; SameSite=Lax`;

/** `createSessionCookie` takes these options. */
export interface SessionCookieOptions {
  readonly sessionKey: Uint8Array;
  /** The `SESSION` entry, which may be empty. The authenticator rejects a session without this entry. */
  readonly value?: string;
  /** How long the session is valid, at most a hundred years. Default: a day. */
  readonly lifetimeSeconds?: number;
}

/** Values of the headers with which a client sends or gets a session of the demonstration. */
export interface SessionCookie {
  /** Value of the `Cookie` request header. */
  readonly cookie: string;
  /** Value of the `Csrf-Token` request header, for unsafe methods. */
  readonly csrfToken: string;
  /** Value of the `Set-Cookie` response header. Add `; Secure` if the service is reached over https. */
  readonly setCookie: string;
}

/** Dates in JavaScript end with the year 275760. */
const maxLifetimeSeconds = 100 * 365.25 * 86_400;

const sessionCookieChecks: OptionChecks<SessionCookieOptions> = {
  sessionKey: isSecret(32),
  value: isText,
  lifetimeSeconds: isNumber(0, maxLifetimeSeconds),
};

/**
 * Creates a session with a `SESSION` entry, and encrypts the session in a cookie.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION
 */
export async function createSessionCookie(options: SessionCookieOptions): Promise<SessionCookie> {
  checkOptions(options, sessionCookieChecks, { required: ['sessionKey'] });
  const { sessionKey, value, lifetimeSeconds = 86_400 } = options;
  const session = {
    ...(value !== undefined && { SESSION: value }),
    secret: randomBytes(16).toString('base64url'),
  };
  const sealed = await createSessionVault(sessionKey).seal(session, lifetimeSeconds);
  return {
    cookie: `${sessionCookieName}=${sealed}`,
    csrfToken: createCsrfToken(session),
    setCookie: formatSetCookie(sealed, lifetimeSeconds),
  };
}

// Requests with an unsafe method and the session cookie need a CSRF token, which is made from the session's secret.

declare module 'fastify' {
  interface FastifyContextConfig {
    csrfExempt?: boolean;
  }
}

// Tokens are not stored: each is a salted hash of the session's own secret.
const tokens = new Tokens({ userInfo: false });

const createCsrfToken = ({ secret }: Session): string => tokens.create(secret);

/** RFC 9110 §9.2.1. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

function rejectForgedRequests(app: FastifyInstance, sessionOf: SessionOf): void {
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
    const session = sessionOf(request);
    if (session && typeof token === 'string' && tokens.verify(session.secret, token)) return done();
    const what = token === undefined ? 'has no Csrf-Token header' : 'has a Csrf-Token of another session';
    done(new DeskbellError('ERR_CSRF', `The request carries a session cookie and ${what}.`));
  });
}
