// Alarms about work that does not begin when it is due: broadcasts and schedules, and the lack of a worker.
import { type DueWork, maxDue } from '../../store/alarms.ts';
import type { StoredSenderReport } from '../../store/sending.ts';
import type { FoundAlarm } from './standing-alarm.ts';

/** Work normally begins within seconds of the time it is due. After this delay, the work counts as late. */
export const lateAfterMs = 60_000;

/** How long the oldest work has been due, in milliseconds; 0 if nothing is late. */
export interface Lateness {
  readonly broadcastMs: number;
  readonly scheduleMs: number;
}

/**
 * @param senders the senders that could deliver
 * @param nowMs the time by the store's clock
 */
export function findLateWork(
  { broadcasts, schedules, lastSentAtMs }: DueWork,
  senders: readonly StoredSenderReport[],
  nowMs: number,
): { readonly alarms: readonly FoundAlarm[]; readonly lateness: Lateness } {
  const hasWorker = senders.some(({ kind }) => kind === 'worker');
  // without a worker, broadcasts that have begun wait too, and no wait counts from before the last sent message
  const waiting = broadcasts
    .filter(({ hasBegun }) => !hasWorker || !hasBegun)
    .map((due) => (hasWorker ? due : { ...due, sinceMs: Math.max(due.sinceMs, lastSentAtMs) }));
  const late = waiting.filter(({ sinceMs }) => sinceMs <= nowMs - lateAfterMs);
  const lateSchedules = schedules.filter(({ sinceMs }) => sinceMs <= nowMs - lateAfterMs);
  const lateness = {
    broadcastMs: latenessOf(late, nowMs),
    scheduleMs: latenessOf(lateSchedules, nowMs),
  };
  if (late.length + lateSchedules.length === 0) return { alarms: [], lateness };
  if (!hasWorker) return { alarms: [noWorker(late, lateSchedules)], lateness };
  return {
    alarms: [
      ...(late.length > 0 ? [broadcastLate(late)] : []),
      ...(lateSchedules.length > 0 ? [scheduleLate(lateSchedules)] : []),
    ],
    lateness,
  };
}

interface Due {
  readonly id: number;
  readonly sinceMs: number;
}

const earliest = (due: readonly Due[]): number => Math.min(...due.map(({ sinceMs }) => sinceMs));

const latenessOf = (late: readonly Due[], nowMs: number): number =>
  late.length === 0 ? 0 : nowMs - earliest(late);

const idsOf = (due: readonly Due[]): readonly number[] =>
  due.map(({ id }) => id).toSorted((one, other) => one - other);

const namesOf = (due: readonly Due[]): string => idsOf(due).slice(0, 5).join(', ');

function noWorker(broadcasts: readonly Due[], schedules: readonly Due[]): FoundAlarm {
  const ofSchedules = broadcasts.length === 0;
  return {
    kind: 'no-worker',
    what: ofSchedules
      ? 'No worker is running, and a schedule is due'
      : 'No worker is running, and broadcasts are due',
    remedy: 'Start "deskbell worker" or "deskbell serve --deliver"; its log says why it has ended.',
    sinceMs: earliest([...broadcasts, ...schedules]),
    ...(ofSchedules ? countSchedules(schedules) : countBroadcasts(broadcasts)),
  };
}

const broadcastLate = (late: readonly Due[]): FoundAlarm => ({
  kind: 'broadcast-late',
  what: 'Nothing of a broadcast was sent, though its time has come',
  remedy: 'Workers are busy with others, or cannot reach the database: see their log, and add workers.',
  sinceMs: earliest(late),
  ...countBroadcasts(late),
});

const scheduleLate = (late: readonly Due[]): FoundAlarm => ({
  kind: 'schedule-late',
  what: 'A schedule was due, and no broadcast was made',
  remedy: `The log of the workers says why. Schedules: ${namesOf(late)}.`,
  sinceMs: earliest(late),
  ...countSchedules(late),
});

const countBroadcasts = (broadcasts: readonly Due[]) => ({
  count: broadcasts.length,
  unit: 'broadcast' as const,
  isAtLeast: broadcasts.length === maxDue,
  broadcastIds: idsOf(broadcasts),
  link: broadcasts.length === 1 ? `/console/broadcasts/${broadcasts[0]!.id}` : '/console/broadcasts',
});

const countSchedules = (schedules: readonly Due[]) => ({
  count: schedules.length,
  unit: 'schedule' as const,
  isAtLeast: schedules.length === maxDue,
  link: '/console/schedules',
});
