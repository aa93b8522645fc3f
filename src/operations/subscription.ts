// A subscription as it is shown: without its endpoint and its keys.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Type } from '../http/schema.ts';
import type { StoredSubscription } from '../store/subscriptions.ts';
import { choicesSchema } from './person.ts';
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
      language: Type.Optional(Type.String({ description: 'As its browser says.' })),
      timeZone: Type.Optional(Type.String({ description: 'As its browser says.' })),
      channels: choicesSchema('Choices that were made there. Those of its user hold before them.'),
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
    language: 'de',
    timeZone: 'Europe/Berlin',
    channels: { news: false },
    createdAt: '2027-01-01T09:00:00.000Z',
    updatedAt: '2027-01-01T09:00:00.000Z',
  },
  toJson: ({ id, endpoint, vapidPublicKey, createdAtMs, updatedAtMs, ...row }) => ({
    id,
    pushService: new URL(endpoint).origin,
    vapidPublicKey,
    user: row.user,
    tags: row.tags,
    language: row.language,
    timeZone: row.timeZone,
    channels: row.channels,
    createdAt: isoTime(createdAtMs),
    updatedAt: isoTime(updatedAtMs),
  }),
};
