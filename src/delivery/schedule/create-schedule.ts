// Writes a schedule to the store; every process that works on all broadcasts then makes its occurrences.
import { checkOptions, isText, type OptionChecks } from '../../errors/check-options.ts';
import { encodeMessage } from '../../protocol/message/encode-payload.ts';
import type { Message } from '../../protocol/message/message.ts';
import { checkExpression } from '../../audience/user-and-tags.ts';
import { deliveryOptionChecks, type DeliveryOptions } from '../../store/delivery-options.ts';
import type { Schedule } from '../../store/schedules.ts';
import type { Store } from '../../store/store.ts';
import { checkAudience, type MatchingAudience } from '../broadcast/audience.ts';
import { checkReaderOptions, findChannel, requireDefaults } from '../broadcast/reader-options.ts';

/** When a broadcast recurs, and how each one is delivered. */
export interface ScheduleOptions extends DeliveryOptions {
  /** Five fields: minute, hour, day of the month, month, day of the week, such as `0 9 * * 1`. */
  readonly cron: string;
  /** An IANA name such as `Europe/Berlin`. Default: `UTC`. */
  readonly timezone?: string | undefined;
}

const scheduleChecks: OptionChecks<ScheduleOptions> = {
  cron: isText,
  timezone: isText,
  ...deliveryOptionChecks,
};

/** Evaluated again for each occurrence. */
export type RecurringAudience = 'all' | MatchingAudience;

/**
 * Checks message and options, and stores the schedule with its first occurrence.
 *
 * @throws {DeskbellError} ERR_SCHEDULE_INVALID, ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_PLACEHOLDER_VALUE, ERR_FIELD_VALUE,
 *   ERR_FIELD_TYPE
 */
export async function createSchedule(
  store: Pick<Store, 'schedules' | 'channels' | 'now'>,
  audience: RecurringAudience,
  message: Message,
  options: ScheduleOptions,
): Promise<Schedule> {
  const { schedules, now } = store;
  checkAudience(audience);
  checkOptions(options, scheduleChecks, { code: 'ERR_SCHEDULE_INVALID', required: ['cron'] });
  const { cron, timezone = 'UTC', receipts = false, ...delivery } = options;
  checkReaderOptions(delivery, now(), true);
  await findChannel(delivery.channel, store);
  const encoded = encodeMessage(message, { isWithReceipts: receipts, channel: delivery.channel });
  requireDefaults(encoded.placeholders);
  const { firstTimeAfter } = await import('./recurrence.ts');
  const nextAtMs = firstTimeAfter(now(), cron, timezone);
  const whom = audience === 'all' ? audience : checkExpression(audience);
  return schedules.add({ ...delivery, cron, timezone, receipts, audience: whom, message, nextAtMs });
}
