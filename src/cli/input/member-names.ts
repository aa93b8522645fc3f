// The names that programs give the members of a subscription: in a JSON object, or as columns of a table.

export type Member =
  | 'subscription'
  | 'keys'
  | 'endpoint'
  | 'p256dh'
  | 'auth'
  | 'vapidPublicKey'
  | 'expirationTime'
  | 'createdAt'
  | 'language'
  | 'timeZone'
  | 'channels';

/** Each in any case, with or without "_", "." and other signs. */
export const memberNames: Readonly<Record<Member, readonly string[]>> = {
  subscription: ['subscription', 'sub', 'push_subscription', 'subscription_info'],
  keys: ['keys'],
  endpoint: ['endpoint', 'identifier'],
  p256dh: [
    'p256dh',
    'keys.p256dh',
    'key_p256dh',
    'p256dh_key',
    'public_key',
    'user_public_key',
    'ua_public',
    'pushkey',
    'web_p256',
  ],
  auth: [
    'auth',
    'keys.auth',
    'key_auth',
    'auth_key',
    'auth_secret',
    'auth_token',
    'user_auth_token',
    'web_auth',
  ],
  vapidPublicKey: ['vapid_public_key'],
  expirationTime: ['expiration_time'],
  createdAt: ['created_at', 'created'],
  language: ['language'],
  timeZone: ['time_zone'],
  channels: ['channels'],
};

/** What user and tags are called, which each application calls otherwise. */
export interface ColumnNames {
  readonly user: string;
  readonly tags: string;
}

export const defaultColumns: ColumnNames = { user: 'user', tags: 'tags' };

/** @returns undefined for a name that means nothing here */
export type MemberOf = (name: string) => Member | keyof ColumnNames | undefined;

/** @param ignored names that are to mean nothing */
export function createMemberOf({ user, tags }: ColumnNames, ignored: readonly string[] = []): MemberOf {
  const members = new Map<string, Member | keyof ColumnNames>();
  for (const [member, names] of Object.entries(memberNames) as [Member, readonly string[]][]) {
    for (const name of names) members.set(normalizeName(name), member);
  }
  // They win: "sub" may be the user of a token.
  members.set(normalizeName(tags), 'tags').set(normalizeName(user), 'user');
  for (const name of ignored) members.delete(normalizeName(name));
  return (name) => members.get(normalizeName(name));
}

/** Without what programs write differently: case, "_", "-" and "." */
export const normalizeName = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\d]/gu, '');

/** True for what can be printed: a value in the place of a name, as in a table without a header, may be a secret. */
export const isPlainName = (name: string): boolean => /^[\p{L}_$][\p{L}\d_$. -]{0,39}$/u.test(name);

/** Names of members for an error: no values, and of names only those that are plainly names. */
export function listNames(names: readonly string[], isShown = isPlainName): string {
  const shown = names.filter((name) => isShown(name)).slice(0, 20);
  const more = names.length - shown.length;
  if (more > 0) shown.push(`${more} more`);
  return shown.length === 0 ? 'no members' : shown.join(', ');
}
