// Resumes automatic sending after it was paused for a whole store, and lists in advance what resuming will start. If
// the store is a copy, the original may already have sent the occurrences that the copy missed.
import type { Broadcast } from '../../store/broadcasts.ts';
import type { SendingPause } from '../../store/sending.ts';
import type { Store } from '../../store/store.ts';

type PausedStore = Pick<Store, 'sending' | 'schedules' | 'webhooks' | 'broadcasts' | 'now'>;

export type Resumption = Awaited<ReturnType<typeof describeResumption>>;

export async function describeResumption(store: PausedStore) {
  const [pause, stored, { waiting: webhookEvents }] = await Promise.all([
    store.sending.findPause(),
    store.schedules.list(),
    store.webhooks.backlog(),
  ]);
  const nowMs = store.now();
  const broadcasts = await findPaused(pause, store);
  const schedules = stored.filter(({ pausedAtMs }) => pausedAtMs === undefined);
  return {
    /** `undefined` if sending is not paused. */
    pause,
    schedules,
    /** Schedules whose time came during the pause. */
    missed: schedules.filter(({ nextAtMs }) => nextAtMs <= nowMs),
    /** Number of stored events that a process with a webhook will post immediately. */
    webhookEvents,
    /** Broadcasts that were paused when sending was paused, and that are still paused. */
    broadcastIds: broadcasts.map(({ id }) => id),
    /** Start times of the broadcasts that were still scheduled when they were paused. */
    startsMs: new Map(
      broadcasts
        .filter(({ startAtMs }) => startAtMs > (pause?.sinceMs ?? Infinity))
        .map(({ id, startAtMs }) => [id, startAtMs]),
    ),
  };
}

export interface ResumeOptions {
  /** Whether to send the missed occurrences that are not too late. Default: skip all of them. */
  readonly withMissed: boolean;
  /** Whether to resume the broadcasts that were paused together with the store. Default: they stay paused. */
  readonly withBroadcasts: boolean;
}

/** @returns the broadcasts that were resumed */
export async function resumeSending(
  store: PausedStore,
  { withMissed, withBroadcasts }: ResumeOptions,
): Promise<readonly number[]> {
  // skip them while sending is still paused, so that no process starts a missed occurrence
  if (!withMissed) await leaveOutMissed(store);
  return store.sending.resume({ withBroadcasts });
}

async function leaveOutMissed({ schedules, now }: PausedStore): Promise<void> {
  const { readRecurrence } = await import('./recurrence.ts');
  const nowMs = now();
  for (const { id, cron, timezone, nextAtMs: fromMs } of await schedules.list()) {
    const toMs = fromMs > nowMs ? undefined : readRecurrence(cron, timezone)(nowMs);
    if (toMs !== undefined) await schedules.advance(id, { fromMs, toMs });
  }
}

async function findPaused(
  pause: SendingPause | undefined,
  { broadcasts }: PausedStore,
): Promise<readonly Broadcast[]> {
  const found = await broadcasts.findAll(pause?.broadcastIds ?? []);
  return found.filter(({ state }) => state === 'paused').toReversed();
}
