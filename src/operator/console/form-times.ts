// The times in the composer's form: when a message starts, and when happened what it tells of.
import { maxLateMs } from '../../delivery/broadcast/create-broadcast.ts';
import { fieldFault, textField, type Fields } from './forms.ts';
import { describeLocalTime, readLocalTime } from './local-time-input.ts';

/** What the field means; undefined where it is empty. */
export function toTime(fields: Fields, name: string): Date | undefined {
  const text = textField(fields, name);
  return text === '' ? undefined : new Date(readLocalTime(text, fields, name));
}

/** When it starts, which is not in the past; undefined: now. */
export function toStart(fields: Fields, nowMs: number): Date | undefined {
  const startAt = toTime(fields, 'startAt');
  if (startAt === undefined || startAt.getTime() >= nowMs - maxLateMs) return startAt;
  throw fieldFault(
    'startAt',
    `The start, ${describeLocalTime(startAt.getTime(), fields, nowMs)}, is more than a minute ago; ` +
      'give a time to come, or leave it empty to send now.',
  );
}
