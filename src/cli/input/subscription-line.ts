// A subscription as one line of JSON, as `deskbell subscriptions` exports and imports it: the form of
// `PushSubscription.toJSON()`, which other web push tools accept, with what else the store knows.
import { DeskbellError, type FieldError } from '../../errors/deskbell-error.ts';
import { type UserAndTags, checkTags, checkUser } from '../../audience/user-and-tags.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import { decodeBase64, encodeBase64url } from '../../protocol/base64.ts';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { isP256Point } from '../../protocol/p256.ts';
import { parseSubscription, type Subscription } from '../../protocol/subscription.ts';

/** Maximum length of a line: an endpoint has at most 4096 characters, the rest is short. */
export const maxLineBytes = 65_536;

export interface ImportedRow {
  readonly subscription: Subscription;
  readonly vapidPublicKey: string;
  /** Where the line has a user or tags. */
  readonly assign?: UserAndTags | undefined;
}

/**
 * Parses one line. Without `vapidPublicKey` the subscription belongs to `currentPublicKey`.
 *
 * @param line `undefined` for one that is too long
 * @param userColumn the member that holds the user; without it, user and tags are not read
 * @throws {DeskbellError} ERR_BODY_TOO_LARGE, ERR_JSON_MALFORMED, ERR_SUBSCRIPTION_INVALID, ERR_FIELD_VALUE, ERR_FIELD_TYPE; `fields` names what
 *   is wrong
 */
export function parseLine(
  line: string | undefined,
  policy: EndpointPolicy,
  currentPublicKey: string,
  userColumn?: string,
): ImportedRow {
  if (line === undefined) {
    throw new DeskbellError('ERR_BODY_TOO_LARGE', `the line is longer than ${maxLineBytes} bytes`);
  }
  const value = parseJson(line);
  const subscription = parseSubscription(value, policy);
  return {
    subscription,
    vapidPublicKey: readPublicKey(value as object) ?? currentPublicKey,
    assign: userColumn === undefined ? undefined : readUserAndTags(value as object, userColumn),
  };
}

export function formatLine(row: StoredSubscription): string {
  return JSON.stringify({
    id: row.id,
    endpoint: row.endpoint,
    keys: { p256dh: encodeBase64url(row.p256dh), auth: encodeBase64url(row.auth) },
    vapidPublicKey: row.vapidPublicKey,
    user: row.user,
    tags: row.tags.length > 0 ? row.tags : undefined,
    createdAt: new Date(row.createdAtMs).toISOString(),
    updatedAt: new Date(row.updatedAtMs).toISOString(),
  });
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The parser's message would quote the line, and with it an endpoint or a key.
    throw new DeskbellError('ERR_JSON_MALFORMED', 'the line is not well-formed JSON');
  }
}

/** Tables have numbers for users, and one text for all tags; what is empty is not there. */
function readUserAndTags(value: object, userColumn: string): UserAndTags | undefined {
  const { [userColumn]: user, tags } = value as Readonly<Record<string, unknown>>;
  const hasUser = !isEmpty(user);
  if (!hasUser && isEmpty(tags)) return undefined;
  return {
    user: hasUser ? checkUser(Number.isSafeInteger(user) ? String(user) : user, `/${userColumn}`) : undefined,
    tags: isEmpty(tags)
      ? []
      : checkTags(typeof tags === 'string' ? (tags.match(/[^\s,;]+/g) ?? []) : tags, '/tags'),
  };
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

function readPublicKey(value: { readonly vapidPublicKey?: unknown }): string | undefined {
  const { vapidPublicKey } = value;
  if (vapidPublicKey === undefined) return undefined;
  const bytes = typeof vapidPublicKey === 'string' ? decodeBase64(vapidPublicKey) : undefined;
  if (bytes && isP256Point(bytes)) return encodeBase64url(bytes);
  const fault: FieldError = {
    pointer: '/vapidPublicKey',
    code: 'ERR_VAPID_KEY_INVALID',
    detail: 'vapidPublicKey is not the base64url text of a 65-byte P-256 point.',
  };
  throw new DeskbellError('ERR_SUBSCRIPTION_INVALID', fault.detail, { fields: [fault] });
}
