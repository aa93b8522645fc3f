// A cap on how often one person is contacted, as senders write it: `3/day`. It is stored with the broadcast.
//
// A person is the user of a subscription, or the subscription itself if it has no user. A row without a stored
// subscription belongs to no known person and is not capped. When a worker reads a page of a broadcast with a cap, it
// reserves one contact for each person on the page, however many devices the person has. The contact counts while the
// broadcast runs; once a message has been accepted, it counts for as long as caps look back. If a person already has
// enough contacts from other broadcasts, the row is not sent.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { lookUp } from '../errors/check-options.ts';

const hourMs = 60 * 60 * 1000;
const unitMs: Readonly<Record<string, number>> = { hour: hourMs, day: 24 * hourMs, week: 7 * 24 * hourMs };

/** The longest period of a frequency cap. */
export const maxCapWindowMs = 7 * 24 * hourMs;

/**
 * @param text such as `3/day`; the period is the last hour, day or week
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
export function parsePerPerson(text: string) {
  const [, count, unit = ''] = /^([1-9]\d{0,3})\/(hour|day|week)$/.exec(text) ?? [];
  const windowMs = lookUp(unitMs, unit);
  if (windowMs !== undefined) return { maxContacts: Number(count), windowMs };
  throw new DeskbellError(
    'ERR_MESSAGE_INVALID',
    `The cap per person ${JSON.stringify(text)} is not valid: give a number from 1 to 9999 per hour, day or week, such as 3/day.`,
  );
}
