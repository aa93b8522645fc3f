// The cookie of the console: its name, its attributes, and the session that a request names in it.
import type { FastifyReply, FastifyRequest } from 'fastify';

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
