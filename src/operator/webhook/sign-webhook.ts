// How a webhook is signed (Standard Webhooks 1.0): HMAC-SHA256 over id, time and body.
import { createHmac } from 'node:crypto';

/** The secret as receivers' libraries take it. */
export function formatWebhookSecret(secret: Uint8Array): string {
  return `whsec_${Buffer.from(secret).toString('base64')}`;
}

/** @param id the same at each try @param timestampSeconds since 1970, of this try */
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
