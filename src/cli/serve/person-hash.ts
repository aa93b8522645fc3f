// What the audit keeps of a person: a keyed hash.
import { createHmac, hkdfSync } from 'node:crypto';

/** The key is made from the installation's own, so that nobody else can try ids out. */
export function createPersonHash(sessionKey: Uint8Array): (user: string) => string {
  const key = Buffer.from(hkdfSync('sha256', sessionKey, '', 'deskbell audit of people', 32));
  return (user) => createHmac('sha256', key).update(user).digest('base64url').slice(0, 22);
}
