// Creates a broadcast for each due occurrence of a schedule. Any number of processes may do this: the occurrence is
// the broadcast's idempotency key, so each broadcast is created once.
import { setTimeout as sleep } from 'node:timers/promises';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { isOver } from '../../store/broadcasts.ts';
import { pickDeliveryOptions } from '../../store/delivery-options.ts';
import { hasReaderTimes } from '../../store/reader-times.ts';
import type { DueSchedule } from '../../store/schedules.ts';
import type { Store } from '../../store/store.ts';
import type { MatchingAudience } from '../broadcast/audience.ts';
import { createBroadcast } from '../broadcast/create-broadcast.ts';
import type { NextAfter } from './recurrence.ts';

export interface RunSchedulesOptions {
  readonly store: Store;
  readonly policy: EndpointPolicy;
  /** Called for occurrences that are skipped. */
  readonly onWarning?: ((warning: string) => void) | undefined;
  /** Called if an occurrence fails. The occurrence is tried again after a minute. Default: `runSchedules` throws. */
  readonly onFault?: ((fault: unknown) => void) | undefined;
}

const lookEveryMs = 1000;
/** After this time, another process may take over the schedule. */
const leaseMs = 60_000;
/** An occurrence that is overdue by more than this is skipped. */
const latestMs = 60 * 60 * 1000;

export async function runSchedules(options: RunSchedulesOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await startDueBroadcasts(options);
    await sleep(lookEveryMs, undefined, { signal }).catch(() => {});
  }
}

/** Creates the broadcasts of all occurrences that are due by the database's clock. */
export async function startDueBroadcasts(options: RunSchedulesOptions): Promise<void> {
  for (;;) {
    const schedule = await options.store.schedules.takeDue(leaseMs);
    if (schedule === undefined) return;
    // one failure must not delay the other schedules
    await startDue(schedule, options).catch(options.onFault);
  }
}

async function startDue(schedule: DueSchedule, options: RunSchedulesOptions): Promise<void> {
  const { store, onWarning = () => {} } = options;
  const { readRecurrence } = await import('./recurrence.ts');
  const { newestMs, nextMs } = decide(schedule, readRecurrence(schedule.cron, schedule.timezone));
  const { id, nextAtMs: fromMs } = schedule;
  if (newestMs !== fromMs) {
    onWarning(
      `Schedule ${id} was not sent at ${new Date(fromMs).toISOString()} or soon after, because no worker was running.`,
    );
  }
  const isToSend = newestMs !== undefined && (await hasChannel(schedule, options));
  const broadcastId = isToSend ? await start(schedule, newestMs, options) : undefined;
  const isThere = await store.schedules.advance(id, { fromMs, toMs: nextMs, broadcastId });
  if (!isThere && broadcastId !== undefined) await cancel(broadcastId, store);
}

/** @returns the newest due occurrence, unless it is too late to be sent, and the next occurrence */
function decide(
  { id, nextAtMs, nowMs }: DueSchedule,
  nextAfter: NextAfter,
): { readonly newestMs: number | undefined; readonly nextMs: number } {
  const earliestMs = nowMs - latestMs;
  let newestMs = nextAtMs >= earliestMs ? nextAtMs : undefined;
  for (let timeMs = newestMs ?? earliestMs; ;) {
    const nextMs = nextAfter(timeMs);
    if (nextMs === undefined) throw new Error(`Schedule ${id} names no time to come.`);
    if (nextMs > nowMs) return { newestMs, nextMs };
    newestMs = nextMs;
    timeMs = nextMs;
  }
}

/** False if the channel was removed after the schedule was created. */
async function hasChannel(
  { id, channel }: DueSchedule,
  { store, onWarning = () => {} }: RunSchedulesOptions,
): Promise<boolean> {
  if (channel === undefined) return true;
  const isThere = (await store.channels.list()).some(({ name }) => name === channel);
  if (!isThere) onWarning(`Schedule ${id} was not sent, because there is no channel "${channel}" any more.`);
  return isThere;
}

/** @returns the id of the broadcast, whichever process created it */
async function start(
  schedule: DueSchedule,
  atMs: number,
  { store, policy }: RunSchedulesOptions,
): Promise<number> {
  const { broadcast } = await createBroadcast(
    store,
    policy,
    // `checkExpression` made the stored value
    schedule.audience as 'all' | MatchingAudience,
    schedule.message,
    {
      ...pickDeliveryOptions(schedule),
      ...(hasReaderTimes(schedule) && { timeZone: schedule.timeZone ?? schedule.timezone }),
      startAt: new Date(schedule.localTime === undefined ? schedule.nowMs : atMs),
    },
    { scheduleId: schedule.id, atMs },
  );
  return broadcast.id;
}

/** Cancels a broadcast whose schedule was removed while the broadcast was being created. */
async function cancel(broadcastId: number, { broadcasts }: Store): Promise<void> {
  const broadcast = await broadcasts.find(broadcastId);
  if (broadcast !== undefined && !isOver(broadcast)) await broadcasts.cancel(broadcastId);
}
