// The future times of a schedule, and resuming one.
import type { Schedule } from '../../store/schedules.ts';
import type { Store } from '../../store/store.ts';
import { isoTime } from '../broadcast/format-broadcast.ts';

/** A schedule with its next three times, milliseconds since 1970; none while it is paused. */
export interface ScheduleWithTimes extends Schedule {
  readonly nextTimes: readonly number[];
}

const shownTimes = 3;

export async function withTimes(schedule: Schedule): Promise<ScheduleWithTimes> {
  if (schedule.pausedAtMs !== undefined) return { ...schedule, nextTimes: [] };
  const { readRecurrence } = await import('./recurrence.ts');
  const recurrence = readRecurrence(schedule.cron, schedule.timezone);
  const nextTimes: number[] = [];
  let next: number | undefined = schedule.nextAtMs;
  while (next !== undefined && nextTimes.length < shownTimes) {
    nextTimes.push(next);
    next = recurrence.after(next);
  }
  return { ...schedule, nextTimes };
}

/**
 * Resumes a schedule: it continues with its next time after now.
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

/** `3  0 9 * * 1  Europe/Berlin  next 2026-11-23T08:00:00.000Z  all  "Monday"` */
export function formatSchedule(schedule: Schedule): string {
  const { id, cron, timezone, nextAtMs, audience, message, lastBroadcastId, pausedAtMs } = schedule;
  const whom = audience === 'all' ? audience : JSON.stringify(audience);
  const last = lastBroadcastId === undefined ? '' : `  last broadcast ${lastBroadcastId}`;
  const next = pausedAtMs === undefined ? `next ${isoTime(nextAtMs)}` : `paused since ${isoTime(pausedAtMs)}`;
  const title = JSON.stringify(message.title);
  return `${id}  ${cron}  ${timezone}  ${next}${last}  ${whom}  ${title}`;
}
