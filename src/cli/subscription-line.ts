// A subscription as one line of JSON, as `deskbell subscriptions` exports and imports it: the form of
// `PushSubscription.toJSON()`, which other web push tools accept, with what else the store knows.
import { DeskbellError, type FieldError } from '../errors/deskbell-error.ts';
import type { StoredSubscription } from '../store/subscriptions.ts';
import { decodeBase64, encodeBase64url } from '../protocol/base64.ts';
import type { EndpointPolicy } from '../protocol/endpoint-policy.ts';
import { isP256Point } from '../protocol/p256.ts';
import { parseSubscription, type Subscription } from '../protocol/subscription.ts';

/** Maximum length of a line: an endpoint has at most 4096 characters, the rest is short. */
export const maxLineBytes = 65_536;

export interface ImportedRow {
  readonly subscription: Subscription;
  readonly vapidPublicKey: string;
}

/**
 * Parses one line. Without `vapidPublicKey` the subscription belongs to `currentPublicKey`.
 *
 * @throws {DeskbellError} ERR_JSON_MALFORMED, ERR_SUBSCRIPTION_INVALID; `fields` names what is wrong
 */
export function parseLine(line: string, policy: EndpointPolicy, currentPublicKey: string): ImportedRow {
  const value = parseJson(line);
  const subscription = parseSubscription(value, policy);
  return { subscription, vapidPublicKey: readPublicKey(value as object) ?? currentPublicKey };
}

export function formatLine(row: StoredSubscription): string {
  return JSON.stringify({
    id: row.id,
    endpoint: row.endpoint,
    keys: { p256dh: encodeBase64url(row.p256dh), auth: encodeBase64url(row.auth) },
    vapidPublicKey: row.vapidPublicKey,
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
