// A broadcast as the API shows it: what `broadcastToJson` makes.
import { countMeanings } from '../../delivery/broadcast/format-broadcast.ts';
import { Type } from '../../http/schema.ts';
import { settlements } from '../../store/broadcasts.ts';
import { perPersonSchema } from './message-schema.ts';

export const states = ['scheduled', 'running', 'paused', 'cancelled', 'done'] as const;

const count = Type.Integer({ minimum: 0 });
const moment = Type.String({ format: 'date-time' });

const settled = Object.fromEntries(settlements.map((name) => [name, count]));

const origin = Type.Object(
  { origin: Type.String(), attempts: count, ...settled },
  { description: 'The counts at one push service.' },
);

const receipts = Type.Object(
  {
    origin: Type.String(),
    shown: count,
    clicked: count,
    dismissed: count,
    actions: Type.Unsafe({ type: 'object', additionalProperties: count }),
  },
  { description: 'What browsers reported, by push service.' },
);

export const alarmSchema = Type.Object({
  origin: Type.String(),
  reason: Type.String(),
  detail: Type.String({ description: 'The push service’s own words.' }),
  rows: Type.Integer({ description: 'How many messages it is about.' }),
  firstAt: moment,
});

export const broadcastSchema = Type.Object({
  id: Type.Integer(),
  state: Type.String({ enum: states }),
  audience: Type.Integer({ description: 'Subscriptions at creation; the counts add up to it.' }),
  counts: Type.Object(
    Object.fromEntries(
      Object.entries(countMeanings).map(([name, description]) => [
        name,
        Type.Integer({ minimum: 0, description }),
      ]),
    ),
  ),
  waiting: Type.Integer({ description: 'Of the pending: stored to be tried again.' }),
  heldBack: Type.Array(Type.Object({ origin: Type.String(), rows: Type.Integer() }), {
    description: 'Of the waiting: held back, since their push service refuses our token or key.',
  }),
  origins: Type.Array(origin),
  alarms: Type.Array(alarmSchema),
  receipts: Type.Optional(Type.Array(receipts)),
  ttlSeconds: Type.Integer(),
  urgency: Type.String(),
  topic: Type.Optional(Type.String()),
  perPerson: perPersonSchema,
  idempotencyKey: Type.Optional(Type.String()),
  createdAt: moment,
  startAt: moment,
  expiresAt: moment,
  finishedAt: Type.Optional(moment),
});

export const alarmExample = {
  origin: 'https://fcm.googleapis.com',
  reason: 'vapid-refused',
  detail: 'BadJwtToken',
  rows: 20,
  firstAt: '2027-01-01T09:00:01.250Z',
};

const zero = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries(names.map((name) => [name, 0]));

export const broadcastExample = {
  id: 7,
  state: 'running',
  audience: 1000,
  counts: { ...zero(Object.keys(countMeanings)), accepted: 400, gone: 2, rejected: 20, pending: 578 },
  waiting: 0,
  heldBack: [],
  origins: [
    {
      origin: 'https://fcm.googleapis.com',
      attempts: 422,
      ...zero(settlements),
      accepted: 400,
      gone: 2,
      rejected: 20,
    },
  ],
  alarms: [alarmExample],
  ttlSeconds: 2_419_200,
  urgency: 'normal',
  createdAt: '2027-01-01T08:59:00.000Z',
  startAt: '2027-01-01T09:00:00.000Z',
  expiresAt: '2027-01-29T09:00:00.000Z',
};
