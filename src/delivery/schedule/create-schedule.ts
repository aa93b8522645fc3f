// Creates a schedule in the store, lists its future times and resumes it. When an occurrence is due, its broadcast is
// created by any process that delivers all broadcasts.
import { checkExpression } from '../../audience/user-and-tags.ts';
import { checkOptions, isText, type OptionChecks } from '../../errors/check-options.ts';
import { encodeMessage } from '../../protocol/message/encode-payload.ts';
import type { Message } from '../../protocol/message/message.ts';
import { deliveryOptionChecks, type DeliveryOptions } from '../../store/delivery-options.ts';
import type { BroadcastCreator } from '../../store/broadcasts.ts';
import type { Schedule } from '../../store/schedules.ts';
import type { Store } from '../../store/store.ts';
import { checkAudience, type MatchingAudience } from '../broadcast/audience.ts';
import { checkCreator, isoTime, thisApplication } from '../broadcast/format-broadcast.ts';
import { checkReaderOptions, findChannel, requireDefaults } from '../broadcast/reader-options.ts';

/** Options for a broadcast that recurs: its times, and how each occurrence is delivered. */
export interface ScheduleOptions extends DeliveryOptions {
  /** Five fields: minute, hour, day of the month, month, day of the week, such as `0 9 * * 1`. */
  readonly cron: string;
  /** An IANA name such as `Europe/Berlin`. Default: `UTC`. */
  readonly timezone?: string | undefined;
  /** The creator, which operators see. Default: the application, identified by the name of its machine. */
  readonly createdBy?: BroadcastCreator | undefined;
}

const scheduleChecks: OptionChecks<ScheduleOptions> = {
  cron: isText,
  timezone: isText,
  createdBy: checkCreator,
  ...deliveryOptionChecks,
};

/** The audience of a schedule. The subscriptions in the audience are looked up again at each occurrence. */
export type RecurringAudience = 'all' | MatchingAudience;

/**
 * Checks message and options, and stores the schedule with its first occurrence.
 *
 * @throws {DeskbellError} ERR_SCHEDULE_INVALID, ERR_MESSAGE_INVALID, ERR_PAYLOAD_TOO_LARGE, ERR_PLACEHOLDER_VALUE,
 *   ERR_FIELD_VALUE, ERR_FIELD_TYPE
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
  const { cron, timezone = 'UTC', receipts = false, createdBy = thisApplication(), ...delivery } = options;
  checkReaderOptions(delivery, now(), true);
  await findChannel(delivery.channel, store);
  const encoded = encodeMessage(message, { isWithReceipts: receipts, channel: delivery.channel });
  requireDefaults(encoded.placeholders);
  const { firstTimeAfter } = await import('./recurrence.ts');
  const nextAtMs = firstTimeAfter(now(), cron, timezone);
  const whom = audience === 'all' ? audience : checkExpression(audience);
  return schedules.add({
    ...delivery,
    cron,
    timezone,
    receipts,
    createdBy,
    audience: whom,
    message,
    nextAtMs,
  });
}

/** A schedule with its next three times in milliseconds since 1970. A paused schedule has none. */
export interface ScheduleWithTimes extends Schedule {
  readonly nextTimes: readonly number[];
}

const shownTimes = 3;

export async function withTimes(schedule: Schedule): Promise<ScheduleWithTimes> {
  if (schedule.pausedAtMs !== undefined) return { ...schedule, nextTimes: [] };
  const { readRecurrence } = await import('./recurrence.ts');
  const nextAfter = readRecurrence(schedule.cron, schedule.timezone);
  const nextTimes: number[] = [];
  let next: number | undefined = schedule.nextAtMs;
  while (next !== undefined && nextTimes.length < shownTimes) {
    nextTimes.push(next);
    next = nextAfter(next);
  }
  return { ...schedule, nextTimes };
}

/**
 * Resumes a schedule. It continues with the first occurrence after now.
 *
 * @throws {DeskbellError} ERR_SCHEDULE_NOT_FOUND, ERR_SCHEDULE_INVALID if there is no future time
 */
export async function resumeSchedule(
  { schedules, now }: Pick<Store, 'schedules' | 'now'>,
  id: number,
): Promise<Schedule> {
  const { cron, timezone } = await schedules.get(id);
  const { firstTimeAfter } = await import('./recurrence.ts');
  return schedules.resume(id, firstTimeAfter(now(), cron, timezone));
}

/** For example `3  0 9 * * 1  Europe/Berlin  next 2026-11-23T08:00:00.000Z  all  "Monday"`. */
export function formatSchedule(schedule: Schedule): string {
  const { id, cron, timezone, nextAtMs, audience, message, lastBroadcastId, pausedAtMs } = schedule;
  const whom = audience === 'all' ? audience : JSON.stringify(audience);
  const last = lastBroadcastId === undefined ? '' : `  last broadcast ${lastBroadcastId}`;
  const next = pausedAtMs === undefined ? `next ${isoTime(nextAtMs)}` : `paused since ${isoTime(pausedAtMs)}`;
  const title = JSON.stringify(message.title);
  return `${id}  ${cron}  ${timezone}  ${next}${last}  ${whom}  ${title}`;
}
