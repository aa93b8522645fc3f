// A schedule as it is shown.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Type } from '../http/schema.ts';
import type { Schedule } from '../store/schedules.ts';
import { recurringAudienceSchema } from './audience.ts';
import { deliveryOptionSchemas } from './delivery-options.ts';
import { messageSchema } from './message.ts';
import type { View } from './view.ts';

const moment = Type.String({ format: 'date-time' });

/** A broadcast that recurs. */
export const scheduleView: View<Schedule> = {
  schema: Type.Model(
    'Schedule',
    Type.Object({
      id: Type.Integer(),
      cron: Type.String(),
      timezone: Type.String(),
      nextAt: moment,
      audience: recurringAudienceSchema,
      message: messageSchema,
      ...deliveryOptionSchemas,
      createdAt: moment,
      lastBroadcast: Type.Optional(Type.Integer({ description: 'The newest that it has made.' })),
    }),
  ),
  example: {
    id: 1,
    cron: '0 9 * * 1',
    timezone: 'Europe/Berlin',
    nextAt: '2027-01-04T08:00:00.000Z',
    audience: 'all',
    message: { title: 'Ding dong', message: 'Tea is ready' },
    receipts: false,
    createdAt: '2027-01-01T09:00:00.000Z',
  },
  toJson: ({ nextAtMs, createdAtMs, lastBroadcastId, ...schedule }) => ({
    ...schedule,
    nextAt: isoTime(nextAtMs),
    createdAt: isoTime(createdAtMs),
    lastBroadcast: lastBroadcastId,
  }),
};
