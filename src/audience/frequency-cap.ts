// A cap on how often one person is contacted, as senders write it: `3/day`. It is stored with the broadcast.
//
// A person is the user of a subscription, or the subscription where it has none; a row that is no stored subscription is
// nobody known, and is not capped. When a page of a broadcast with a cap is read, a contact is reserved for each person in it,
// however many devices the person has there. It counts while the broadcast runs, and from the first acceptance on for as
// long as a cap looks back. Who has had as many contacts by other broadcasts is capped: the row is read, and not sent.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { lookUp } from '../errors/check-options.ts';

export interface FrequencyCap {
  readonly maxContacts: number;
  readonly windowMs: number;
}

const hourMs = 60 * 60 * 1000;
const unitMs: Readonly<Record<string, number>> = { hour: hourMs, day: 24 * hourMs, week: 7 * 24 * hourMs };

/** No cap looks back any longer. */
export const maxCapWindowMs = 7 * 24 * hourMs;

/**
 * @param text such as `3/day`: the time is an hour, a day or a week, back from now
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
export function parsePerPerson(text: string): FrequencyCap {
  const [, count, unit = ''] = /^([1-9]\d{0,3})\/(hour|day|week)$/.exec(text) ?? [];
  const windowMs = lookUp(unitMs, unit);
  if (windowMs !== undefined) return { maxContacts: Number(count), windowMs };
  throw new DeskbellError(
    'ERR_MESSAGE_INVALID',
    `The cap per person ${JSON.stringify(text)} is not valid: give a number from 1 to 9999 per hour, day or week, such as 3/day.`,
  );
}
