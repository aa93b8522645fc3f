// Creates a session in server-side code: the cookie to set or to send, and its CSRF token.
import { randomBytes } from 'node:crypto';

import { checkOptions, isNumber, isSecret, isText, type OptionChecks } from '../../errors/check-options.ts';
import { createCsrfToken } from './csrf.ts';
import { createSessionVault } from './session.ts';
import { formatSetCookie, sessionCookieName } from './session-cookie.ts';

/** Of `createSessionCookie`. */
export interface SessionCookieOptions {
  /** The service's own session key: 32 bytes. */
  readonly sessionKey: Uint8Array;
  /** The entry `SESSION`; may be empty. If it is absent, the session has no such entry and the authenticator rejects it. */
  readonly value?: string;
  /** At most a hundred years. Default: a day. */
  readonly lifetimeSeconds?: number;
}

/** A session of the demonstration actions, as headers. */
export interface SessionCookie {
  /** For a request: the value of the `Cookie` header. */
  readonly cookie: string;
  /** For a request with an unsafe method: the value of the `Csrf-Token` header. */
  readonly csrfToken: string;
  /** For an answer: the value of the `Set-Cookie` header. Add `; Secure` where the service is reached by https. */
  readonly setCookie: string;
}

/** A hundred years: dates in JavaScript end with the year 275760. */
const maxLifetimeSeconds = 100 * 365.25 * 86_400;

const sessionCookieChecks: OptionChecks<SessionCookieOptions> = {
  sessionKey: isSecret(32),
  value: isText,
  lifetimeSeconds: isNumber(0, maxLifetimeSeconds),
};

/**
 * Makes a session with the entry `SESSION`. The value is sealed in the cookie; nothing is stored.
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
