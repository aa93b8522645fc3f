// The VAPID subject (RFC 8292 §2.1): the contact that push services are given. What is refused for all of them, and what Apple's
// push service refuses beyond that: it answers 403 BadJwtToken where the contact is not at a domain that can exist.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { typeOf } from '../errors/check-options.ts';

/**
 * Checks the contact that push services are given. Apple refuses the token of a subject that it does not accept with
 * BadJwtToken and no further reason, so it is checked before the first message.
 *
 * @throws {DeskbellError} ERR_VAPID_SUBJECT_INVALID
 */
export function checkVapidSubject(subject: string): void {
  if (typeof subject !== 'string') throw badSubject(`must be a string, not ${typeOf(subject)}`);
  if (/[\s<>]/.test(subject)) throw badSubject('holds a space or an angle bracket');
  if (/^mailto:mailto:/i.test(subject)) throw badSubject('has mailto: twice');
  const host = hostOf(subject);
  if (host === undefined) throw badSubject('is not a mailto: or https: URI');
  if (/^(.+\.)?localhost\.?$|^127\.|^\[/i.test(host)) throw badSubject('names this machine itself');
}

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
  const host = hostOf(subject)?.toLowerCase().replace(/\.$/, '') ?? '';
  const topLevel = host.split('.').at(-1) ?? '';
  // A name of several labels, the last with a letter: no address has that.
  const isName =
    /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]*\p{L}[\p{L}\p{N}-]*$/u.test(host);
  if (isName && !unreachable.has(topLevel)) return undefined;
  return `BadJwtToken: Apple takes no VAPID subject at ${host}; give a contact at a domain of yours, such as mailto:push@your.domain.`;
}

/** @returns `undefined` for what is no `mailto:` or `https:` URI */
function hostOf(subject: string): string | undefined {
  const mailDomain = /^mailto:[^@]+@([^@?]+)(\?.*)?$/i.exec(subject)?.[1];
  return /^https:\/\//i.test(subject) ? URL.parse(subject)?.hostname : mailDomain;
}

function badSubject(fault: string): DeskbellError {
  return new DeskbellError(
    'ERR_VAPID_SUBJECT_INVALID',
    `The VAPID subject ${fault}. Give a contact such as mailto:push@example.org or https://example.org/contact.`,
  );
}
