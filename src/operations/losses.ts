// Shows subscriptions that have left the store: a count per day, and a list.
import { isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { Optional, Type } from '../http/schema.ts';
import { type Loss, type LossCount, type LossReason, lossReasons } from '../store/losses.ts';
import type { NamedList, View } from './operation.ts';

export const lossMeanings: Readonly<Record<LossReason, string>> = {
  gone: 'their push service said that they have ended',
  unsubscribed: 'their browsers unsubscribed',
  removed: 'an operator or a command removed them',
  replaced: 'their browsers registered anew',
};

export const lossReasonSchema = Type.Enum(lossReasons, {
  description: `Why the subscriptions were lost. ${lossReasons.map((reason) => `\`${reason}\`: ${lossMeanings[reason]}.`).join(' ')}`,
});
const pushService = Type.String({ description: 'Origin of the push service.' });

export const lossView: View<Loss> = {
  schema: Type.Named('Loss', {
    subscription: Optional.Integer({
      description: 'Id of the subscription; absent if its person was removed.',
    }),
    at: Type.Time(),
    pushService,
    reason: { ...lossReasonSchema, examples: ['removed'] },
    by: Optional.String({
      description: 'Who removed the subscription: an operator, or the user of a command.',
    }),
    user: Optional.String({
      description: 'User of the subscription. If the subscription is gone, the user is kept for 30 days.',
    }),
  }),
  toJson: ({ subscriptionId, atMs, origin, reason, removedBy, user }) => ({
    subscription: subscriptionId,
    at: isoTime(atMs),
    pushService: origin,
    reason,
    by: removedBy,
    user,
  }),
};

/** `2027-01-01` */
export const formatDay = (startMs: number): string => isoTime(startMs).slice(0, 10);

export const listLosses: NamedList<LossCount> = {
  path: '/v1/losses/days',
  tag: 'Subscriptions',
  operationId: 'countLosses',
  summary: 'Counts lost subscriptions by day, push service and reason',
  description: 'The list covers the last 90 days, in UTC, newest first.',
  view: {
    schema: Type.Named('LossCount', {
      day: Type.String({ format: 'date' }),
      pushService,
      reason: lossReasonSchema,
      subscriptions: Type.Integer({ minimum: 1 }),
    }),
    toJson: ({ startMs, origin, reason, subscriptions }) => ({
      day: formatDay(startMs),
      pushService: origin,
      reason,
      subscriptions,
    }),
  },
  nameOf: ({ startMs, origin, reason }) => `${formatDay(startMs)} ${origin} ${reason}`,
  isDescending: true,
  read: ({ store }) => store.losses.countByDay(),
};
