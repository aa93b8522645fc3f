// An alarm as it is shown: what is wrong at one push service.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Type } from '../http/schema.ts';
import type { Alarm } from '../store/broadcasts.ts';
import type { View } from './view.ts';

const schema = Type.Model(
  'Alarm',
  Type.Object({
    origin: Type.String({ description: 'Empty where it is about no push service.' }),
    reason: Type.String(),
    detail: Type.String({ description: 'The push service’s own words.' }),
    rows: Type.Integer({ description: 'How many messages it is about.' }),
    firstAt: Type.String({ format: 'date-time' }),
  }),
);

const example = {
  origin: 'https://fcm.googleapis.com',
  reason: 'vapid-refused',
  detail: 'BadJwtToken',
  rows: 20,
  firstAt: '2027-01-01T09:00:01.250Z',
};

export const alarmView: View<Alarm> = { schema, example, toJson: alarmToJson };

export function alarmToJson({ firstAtMs, ...alarm }: Alarm): object {
  return { ...alarm, firstAt: isoTime(firstAtMs) };
}
