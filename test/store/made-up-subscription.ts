// Subscriptions for tests of the store: right in shape and length, distinct, and not points on the curve.
import type { Subscription } from '../../src/protocol/subscription.ts';

export const vapidPublicKey = `B${'A'.repeat(86)}`;
export const otherVapidPublicKey = `B${'C'.repeat(86)}`;

export function madeUpSubscription(index: number): Subscription {
  const p256dh = Buffer.alloc(65, 4);
  const auth = Buffer.alloc(16, 1);
  p256dh.writeUInt32BE(index, 1);
  auth.writeUInt32BE(index, 0);
  return {
    endpoint: `https://fcm.googleapis.com/fcm/send/${index}-${'e'.repeat(140)}`,
    p256dh: new Uint8Array(p256dh),
    auth: new Uint8Array(auth),
  };
}
