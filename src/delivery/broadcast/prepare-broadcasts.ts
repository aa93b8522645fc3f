// Looks up the audiences of broadcasts to expressions, range by range. Any process may do it and continues where another has stopped.
// Broadcasts are sent once their audience is complete.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Broadcast, BroadcastStore } from '../../store/broadcasts.ts';
import type { Store } from '../../store/store.ts';

/** How often to check whether another process has prepared it. */
const lookEveryMs = 250;
const lookForWorkEveryMs = 1000;

/**
 * Prepares a broadcast, or waits until another process has.
 *
 * @returns the broadcast; still `preparing` only if `signal` was aborted
 */
export async function prepareBroadcast(
  broadcasts: BroadcastStore,
  id: number,
  signal: AbortSignal,
): Promise<Broadcast> {
  const holder = randomUUID();
  for (;;) {
    while (!signal.aborted && (await broadcasts.prepare(id, holder)));
    const broadcast = await broadcasts.get(id);
    if (broadcast.state !== 'preparing' || signal.aborted) return broadcast;
    await sleep(lookEveryMs, undefined, { signal }).catch(() => {});
  }
}

/** Prepares what others have left, until `signal` is aborted. */
export async function runPreparations(
  { broadcasts }: Pick<Store, 'broadcasts'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const id = await broadcasts.findUnprepared();
    if (id !== undefined) await prepareUnheld(broadcasts, id, signal);
    else await sleep(lookForWorkEveryMs, undefined, { signal }).catch(() => {});
  }
}

async function prepareUnheld(broadcasts: BroadcastStore, id: number, signal: AbortSignal): Promise<void> {
  const holder = randomUUID();
  while (!signal.aborted && (await broadcasts.prepare(id, holder)));
}
