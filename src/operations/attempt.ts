// An attempt as it is shown.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Type } from '../http/schema.ts';
import { attemptOutcomes, type AttemptRecord } from '../store/attempts.ts';
import type { View } from './view.ts';

/** One attempt to deliver a message of a broadcast. */
export const attemptView: View<AttemptRecord> = {
  schema: Type.Model(
    'Attempt',
    Type.Object({
      id: Type.Integer(),
      broadcastId: Type.Integer(),
      subscriptionId: Type.Integer(),
      since: Type.String({ format: 'date-time', description: 'It was made after this time.' }),
      at: Type.String({ format: 'date-time', description: 'When its result was stored.' }),
      origin: Type.String({ description: 'Of the push service.' }),
      attempt: Type.Integer({
        description: '1 for the first; if nothing was sent, the number of attempts before.',
      }),
      outcome: Type.String({ enum: [...attemptOutcomes] }),
      status: Type.Optional(Type.Integer({ description: 'HTTP status; absent if there was no answer.' })),
      reason: Type.Optional(Type.String()),
      detail: Type.Optional(Type.String({ description: 'The push service’s own words.' })),
    }),
  ),
  example: {
    id: 31,
    broadcastId: 7,
    subscriptionId: 17,
    since: '2027-01-01T09:00:01.100Z',
    at: '2027-01-01T09:00:01.250Z',
    origin: 'https://fcm.googleapis.com',
    attempt: 1,
    outcome: 'rejected',
    status: 403,
    reason: 'vapid-refused',
    detail: 'BadJwtToken',
  },
  toJson: ({ sinceMs, atMs, ...attempt }) => ({ since: isoTime(sinceMs), at: isoTime(atMs), ...attempt }),
};
