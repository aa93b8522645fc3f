export const sessionCookieName = 'deskbell_session';

/** The encrypted value of the session cookie in a `Cookie` header (RFC 6265 §5.4). */
export function readSessionCookie(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const start = `${sessionCookieName}=`;
  const pair = header.split(';').find((part) => part.trimStart().startsWith(start));
  return pair?.trim().slice(start.length);
}

export const formatSetCookie = (sealed: string, lifetimeSeconds: number): string =>
  `${sessionCookieName}=${sealed}; Path=/; Max-Age=${lifetimeSeconds}; HttpOnly; SameSite=Lax`;
