// The target and the signature of a webhook. The operator chooses the target, so a literal address or localhost is
// allowed. Any other name may resolve only to public addresses, as for push services.
import { createHmac } from 'node:crypto';
import { isIP } from 'node:net';
import { DeskbellError } from '../../errors/deskbell-error.ts';

export interface WebhookTarget {
  readonly origin: string;
  readonly path: string;
  /** Origins whose addresses are not checked: the target's origin if its host is an IP address or localhost. */
  readonly trustedOrigins: readonly string[];
}

/** @throws {DeskbellError} ERR_CONFIGURATION */
export function parseWebhookUrl(text: string): WebhookTarget {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw notUsable('it must be an https URL');
  if (url.username !== '' || url.password !== '') throw notUsable('it must not hold a user name or password');
  const { origin, hostname, pathname, search } = url;
  const isWrittenOut = hostname === 'localhost' || isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0;
  if (url.protocol === 'http:' && !isWrittenOut) {
    throw notUsable('it must be https, unless it names an IP address or localhost');
  }
  return { origin, path: `${pathname}${search}`, trustedOrigins: isWrittenOut ? [origin] : [] };
}

const notUsable = (what: string): DeskbellError => new DeskbellError('ERR_CONFIGURATION', what);

// The signature (Standard Webhooks 1.0): HMAC-SHA256 over id, time and body.

/** The secret in the form that libraries for receivers expect. */
export function formatWebhookSecret(secret: Uint8Array): string {
  return `whsec_${Buffer.from(secret).toString('base64')}`;
}

/** @param id the event's id, the same in each attempt @param timestampSeconds the time of this attempt, since 1970 */
export function webhookHeaders(
  secret: Uint8Array,
  id: string,
  timestampSeconds: number,
  body: string,
): Readonly<Record<string, string>> {
  const signature = createHmac('sha256', secret).update(`${id}.${timestampSeconds}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'user-agent': 'Deskbell',
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': `v1,${signature}`,
  };
}
