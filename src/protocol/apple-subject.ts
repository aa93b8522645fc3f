// Which VAPID subjects Apple's push service refuses, beyond what `checkVapidSubject` refuses for everybody: it answers 403
// BadJwtToken where the contact is not at a domain that can exist.

/** Top-level domains that are never delegated: RFC 6761, 6762, 7686, 8375, and those that ICANN keeps for private use. */
const unreachable: ReadonlySet<string> = new Set([
  'arpa',
  'corp',
  'example',
  'home',
  'internal',
  'invalid',
  'lan',
  'local',
  'localhost',
  'mail',
  'onion',
  'test',
]);

/**
 * Tells, beginning with Apple's own word, why Apple refuses tokens with this subject.
 *
 * @param subject that `checkVapidSubject` has passed
 * @returns `undefined` where Apple takes it
 */
export function findAppleSubjectFault(subject: string): string | undefined {
  const host = hostOf(subject);
  const labels = host.split('.');
  const topLevel = labels.at(-1) ?? '';
  // A name of several labels, the last with a letter: no address has that.
  const isName =
    /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]*\p{L}[\p{L}\p{N}-]*$/u.test(host);
  if (isName && !unreachable.has(topLevel)) return undefined;
  return `BadJwtToken: Apple takes no VAPID subject at ${host}; give a contact at a domain of yours, such as mailto:push@your.domain.`;
}

function hostOf(subject: string): string {
  const mailDomain = /^mailto:[^@]+@([^@?]+)/i.exec(subject)?.[1];
  const host = mailDomain ?? URL.parse(subject)?.hostname ?? '';
  return host.toLowerCase().replace(/\.$/, '');
}
