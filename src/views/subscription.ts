// A subscription as it is shown: without its endpoint and its keys.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Type } from '../http/schema.ts';
import type { StoredSubscription } from '../store/subscriptions.ts';
import type { View } from './view.ts';

/** A stored subscription. */
export const subscriptionView: View<StoredSubscription> = {
  schema: Type.Model(
    'Subscription',
    Type.Object({
      id: Type.Integer(),
      pushService: Type.String({ description: 'Origin of its endpoint.' }),
      vapidPublicKey: Type.String(),
      user: Type.Optional(Type.String({ description: 'Absent: anonymous.' })),
      tags: Type.Array(Type.String()),
      createdAt: Type.String({ format: 'date-time' }),
      updatedAt: Type.String({ format: 'date-time' }),
    }),
  ),
  example: {
    id: 1,
    pushService: 'https://fcm.googleapis.com',
    vapidPublicKey: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    user: '42',
    tags: ['beta', 'news'],
    createdAt: '2027-01-01T09:00:00.000Z',
    updatedAt: '2027-01-01T09:00:00.000Z',
  },
  toJson: ({ id, endpoint, vapidPublicKey, user, tags, createdAtMs, updatedAtMs }) => ({
    id,
    pushService: new URL(endpoint).origin,
    vapidPublicKey,
    user,
    tags,
    createdAt: isoTime(createdAtMs),
    updatedAt: isoTime(updatedAtMs),
  }),
};
