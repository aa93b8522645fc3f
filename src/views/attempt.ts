// An attempt as it is shown.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Type } from '../http/schema.ts';
import type { AttemptRecord } from '../store/broadcasts.ts';
import type { View } from './view.ts';

/** One attempt to deliver a message of a broadcast. */
export const attemptView: View<AttemptRecord> = {
  schema: Type.Object({
    id: Type.Integer(),
    broadcastId: Type.Integer(),
    subscriptionId: Type.Optional(
      Type.Integer({ description: 'Absent for a row of a list that is no stored subscription.' }),
    ),
    at: Type.String({ format: 'date-time' }),
    origin: Type.String({ description: 'Of the push service.' }),
    attempt: Type.Integer({ description: '1 for the first.' }),
    outcome: Type.String(),
    status: Type.Optional(Type.Integer({ description: 'HTTP status; absent if there was no answer.' })),
    reason: Type.Optional(Type.String()),
    detail: Type.Optional(Type.String({ description: 'The push service’s own words.' })),
  }),
  example: {
    id: 31,
    broadcastId: 7,
    subscriptionId: 17,
    at: '2027-01-01T09:00:01.250Z',
    origin: 'https://fcm.googleapis.com',
    attempt: 1,
    outcome: 'rejected',
    status: 403,
    reason: 'vapid-refused',
    detail: 'BadJwtToken',
  },
  toJson: ({ atMs, ...attempt }) => ({ at: isoTime(atMs), ...attempt }),
};
