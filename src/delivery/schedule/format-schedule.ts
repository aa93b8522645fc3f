// A schedule as text.
import type { Schedule } from '../../store/schedules.ts';
import { isoTime } from '../broadcast/format-broadcast.ts';

/** `3  0 9 * * 1  Europe/Berlin  next 2026-11-23T08:00:00.000Z  all  "Monday"` */
export function formatSchedule(schedule: Schedule): string {
  const { id, cron, timezone, nextAtMs, audience, message, lastBroadcastId, pausedAtMs } = schedule;
  const whom = audience === 'all' ? audience : JSON.stringify(audience);
  const last = lastBroadcastId === undefined ? '' : `  last broadcast ${lastBroadcastId}`;
  const next = pausedAtMs === undefined ? `next ${isoTime(nextAtMs)}` : `paused since ${isoTime(pausedAtMs)}`;
  const title = JSON.stringify(message.title);
  return `${id}  ${cron}  ${timezone}  ${next}${last}  ${whom}  ${title}`;
}
