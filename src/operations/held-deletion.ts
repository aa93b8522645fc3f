// The held deletions of a push service as they are shown.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Type } from '../http/schema.ts';
import type { HeldOrigin } from '../store/held-deletions.ts';
import type { View } from './view.ts';

/** The deletions of one push service that wait for a decision. */
export const heldDeletionView: View<HeldOrigin> = {
  schema: Type.Model(
    'HeldDeletions',
    Type.Object({
      origin: Type.String(),
      subscriptions: Type.Integer(),
      since: Type.String({ format: 'date-time' }),
    }),
  ),
  example: {
    origin: 'https://fcm.googleapis.com',
    subscriptions: 5120,
    since: '2027-01-01T09:00:00.000Z',
  },
  toJson: ({ sinceMs, ...held }) => ({ ...held, since: isoTime(sinceMs) }),
};
