// Reads subscriptions in every form that callers may pass.
import { encodeBase64url } from '../../protocol/bytes.ts';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { parseSubscription, type Subscription } from '../../protocol/subscription.ts';
import type { Addressee } from './destinations.ts';

/** A subscription as a client sends it (base64 in either alphabet), or as a store returns it (bytes). */
export type SubscriptionInput = (
  | { readonly endpoint: string; readonly p256dh: string; readonly auth: string }
  | { readonly endpoint: string; readonly keys: { readonly p256dh: string; readonly auth: string } }
  | Subscription
) & {
  /** The VAPID public key that the subscription was made with: 87 base64url characters. */
  readonly vapidPublicKey?: string | undefined;
};

/** @throws {DeskbellError} ERR_SUBSCRIPTION_INVALID */
export function readSubscription(input: SubscriptionInput, policy: EndpointPolicy): Addressee {
  const subscription = parseSubscription(isInBytes(input) ? toTexts(input) : input, policy);
  return { ...subscription, vapidPublicKey: readKey(input) };
}

function readKey({ vapidPublicKey }: { readonly vapidPublicKey?: unknown }): string | undefined {
  return typeof vapidPublicKey === 'string' ? vapidPublicKey : undefined;
}

function isInBytes(input: SubscriptionInput): input is Subscription {
  const { p256dh, auth } = (input ?? {}) as Partial<Subscription>;
  return p256dh instanceof Uint8Array && auth instanceof Uint8Array;
}

function toTexts({ endpoint, p256dh, auth }: Subscription): SubscriptionInput {
  return { endpoint, p256dh: encodeBase64url(p256dh), auth: encodeBase64url(auth) };
}
