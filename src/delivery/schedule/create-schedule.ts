// Writes a schedule to the store: from then on every process that works on all broadcasts makes its occurrences.
import { checkOptions, isFlag, isText, type OptionChecks } from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { encodePayload } from '../../protocol/message/encode-payload.ts';
import type { Message } from '../../protocol/message/message.ts';
import { pushOptionChecks, type PushOptions } from '../../protocol/request.ts';
import { checkExpression } from '../../store/check-people.ts';
import { parsePerPerson } from '../../store/frequency-cap.ts';
import type { Schedule } from '../../store/schedules.ts';
import type { Store } from '../../store/store.ts';
import { checkAudience, type MatchingAudience } from '../broadcast/audience.ts';

/** When a broadcast recurs, and how each one is delivered. */
export interface ScheduleOptions extends PushOptions {
  /** Five fields: minute, hour, day of the month, month, day of the week, such as `0 9 * * 1`. */
  readonly cron: string;
  /** An IANA name such as `Europe/Berlin`. Default: `UTC`. */
  readonly timezone?: string | undefined;
  /** As in `BroadcastOptions`. */
  readonly receipts?: boolean | undefined;
  /** As in `BroadcastOptions`. */
  readonly perPerson?: string | undefined;
}

const scheduleChecks: OptionChecks<ScheduleOptions> = {
  cron: isText,
  timezone: isText,
  ...pushOptionChecks,
  receipts: isFlag,
  perPerson: (value) => void parsePerPerson(value as string),
};

/** Looked at anew for each occurrence. */
export type RecurringAudience = 'all' | MatchingAudience;

/**
 * Checks message and options, and stores the schedule with its first occurrence.
 *
 * @throws {DeskbellError} ERR_SCHEDULE_INVALID, ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_FIELD_VALUE, ERR_FIELD_TYPE
 */
export async function createSchedule(
  { schedules, now }: Pick<Store, 'schedules' | 'now'>,
  audience: RecurringAudience,
  message: Message,
  options: ScheduleOptions,
): Promise<Schedule> {
  checkAudience(audience);
  checkOptions(options, scheduleChecks, { code: 'ERR_SCHEDULE_INVALID', required: ['cron'] });
  const { cron, timezone = 'UTC', receipts = false, perPerson, ttlSeconds, urgency, topic } = options;
  encodePayload(message, undefined, { isWithReceipts: receipts });
  const { readRecurrence } = await import('./recurrence.ts');
  const nextAtMs = readRecurrence(cron, timezone).after(now());
  if (nextAtMs === undefined)
    throw new DeskbellError('ERR_SCHEDULE_INVALID', `"${cron}" names no time to come.`);
  return schedules.add({
    cron,
    timezone,
    audience: audience === 'all' ? audience : checkExpression(audience),
    message,
    ttlSeconds,
    urgency,
    topic,
    receipts,
    perPerson,
    nextAtMs,
  });
}
