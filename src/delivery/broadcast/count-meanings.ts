// What each count and each receipt of a broadcast means, in words.
import type { Broadcast } from '../../store/broadcasts.ts';
import type { ReceiptEvent } from '../../store/receipts.ts';

/** A count of `Broadcast.counts`. */
export type CountName = keyof Broadcast['counts'];

/** What each count means, in display order; the counts add up to the audience. */
export const countMeanings: Readonly<Record<CountName, string>> = {
  accepted: 'the push service took the message',
  gone: 'the push service says that the subscription has ended',
  rejected: 'refused, not retried',
  expired: 'not delivered within the TTL',
  exhausted: 'given up after too many attempts',
  capped: 'not sent: the person was reached often enough',
  doubtful: 'in doubt: sent four times without an answer that can be read, so it may have arrived',
  removed: 'unsubscribed before their turn',
  cancelled: 'never attempted',
  unaccounted: 'what the other counts lack of the audience: a fault of Deskbell',
  pending: 'still to be delivered',
};

/** What it means to be left out beside them. */
export const inactiveMeaning = (skipInactive = 0): string =>
  `inactive: no click on ${lastBroadcasts(skipInactive)} shown to them`;

/** `the last broadcast`, `the last 10 broadcasts` */
export const lastBroadcasts = (count: number): string =>
  count === 1 ? 'the last broadcast' : `the last ${count} broadcasts`;

/** In display order. */
export const countNames = Object.keys(countMeanings) as readonly CountName[];

/** What each receipt means, in display order. */
export const receiptMeanings: Readonly<Record<ReceiptEvent, string>> = {
  shown: 'reported: the browser showed the notification',
  clicked: 'reported: the user clicked on it',
  dismissed: 'reported: it was closed without a click',
};
