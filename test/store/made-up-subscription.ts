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

/** The counts of a broadcast of which nothing has an outcome. */
export const noOutcomes = {
  accepted: 0,
  gone: 0,
  rejected: 0,
  expired: 0,
  exhausted: 0,
  capped: 0,
  doubtful: 0,
  dormant: 0,
};
export const noCounts = { ...noOutcomes, pending: 0, removed: 0, cancelled: 0, unaccounted: 0 };

/** What is told of a person of whom nothing was stored. */
export const nothingRemoved = {
  subscriptions: 0,
  ended: 0,
  broadcasts: 0,
  schedules: 0,
  bells: 0,
  recipients: 0,
  attempts: 0,
  receipts: 0,
};

/** What a sender reports of a push service that works, and to which nothing is on its way. */
export const idlePushService = {
  origin: 'https://push.example.net',
  connections: 0,
  inFlight: 0,
  queued: 0,
  maxInFlight: 9,
  answers: 0,
  throttled: 0,
  breaker: 'closed',
} as const;
export const workerReport = {
  id: 'one',
  machine: 'push-1',
  processId: 7,
  kind: 'worker',
  startedAtMs: 1,
  pushServices: [],
} as const;
