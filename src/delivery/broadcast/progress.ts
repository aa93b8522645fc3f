// How far a broadcast is, read from the store: so it covers what all workers of all processes have done together.
import { setTimeout as sleep } from 'node:timers/promises';
import { settledRows } from './format-broadcast.ts';
import { isOver, type Broadcast, type BroadcastStore } from '../../store/broadcasts.ts';

/** How far a broadcast is, over all processes that deliver it. */
export interface Progress {
  readonly broadcast: Broadcast;
  /** Rows of the audience with a final outcome. */
  readonly settled: number;
  /** Rows settled per second, over the last seconds. */
  readonly ratePerSecond: number;
  /** Until the rest is settled at this rate; absent where nothing moves, and where the rate is that of the first moments of a large broadcast. */
  readonly etaSeconds?: number;
}

const averageOverMs = 5000;

/** A rate over less is that of a beginning: it says how long the rest takes only where that is at most twenty times as much. */
const estimatedAfterMs = 2000;
const estimatedShare = 20;

/**
 * Reads the progress again and again, the last time when the broadcast is over or `finished` has settled.
 *
 * @param finished when those who deliver here have ended
 */
export async function* watchProgress(
  store: BroadcastStore,
  id: number,
  finished: Promise<unknown>,
  everyMs = 500,
): AsyncGenerator<Progress> {
  const history: { readonly atMs: number; readonly settled: number }[] = [];
  const ended = new AbortController();
  const end = () => ended.abort();
  finished.then(end, end);
  for (let isLast = false; ; isLast = ended.signal.aborted) {
    const broadcast = await store.find(id);
    if (broadcast === undefined) return;
    yield measure(broadcast, history);
    if (isLast || isOver(broadcast)) return;
    await sleep(everyMs, undefined, { signal: ended.signal }).catch(() => {});
  }
}

function measure(
  broadcast: Broadcast,
  history: { readonly atMs: number; readonly settled: number }[],
): Progress {
  const settled = settledRows(broadcast);
  const atMs = performance.now();
  history.push({ atMs, settled });
  while (history.length > 2 && (history[1]?.atMs ?? atMs) < atMs - averageOverMs) history.shift();
  const first = history[0] ?? { atMs, settled };
  const moved = settled - first.settled;
  const ratePerSecond = atMs > first.atMs ? (moved * 1000) / (atMs - first.atMs) : 0;
  const { pending } = broadcast.counts;
  const isTelling = atMs - first.atMs >= estimatedAfterMs || moved * estimatedShare >= pending;
  return {
    broadcast,
    settled,
    ratePerSecond,
    ...(ratePerSecond > 0 && pending > 0 && isTelling && { etaSeconds: pending / ratePerSecond }),
  };
}
