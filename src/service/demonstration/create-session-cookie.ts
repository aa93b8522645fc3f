import { randomBytes } from 'node:crypto';

import { checkOptions, isNumber, isSecret, isText, type OptionChecks } from '../../errors/check-options.ts';
import { createCsrfToken } from './csrf.ts';
import { createSessionVault } from './session.ts';
import { formatSetCookie, sessionCookieName } from './session-cookie.ts';

/** Options of `createSessionCookie`. */
export interface SessionCookieOptions {
  readonly sessionKey: Uint8Array;
  /** The entry `SESSION`; may be empty. Without it, the authenticator rejects the session. */
  readonly value?: string;
  /** At most a hundred years. Default: a day. */
  readonly lifetimeSeconds?: number;
}

/** A session of the demonstration actions, as header values. */
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
 * Makes a session with the entry `SESSION`, encrypted in the cookie; nothing is stored. @throws {DeskbellError}
 * ERR_CONFIGURATION
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
