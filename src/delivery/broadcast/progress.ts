// How far a broadcast is, read from the store: so it covers the work of all processes.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Broadcast, type BroadcastStore, isOver, settlements } from '../../store/broadcasts.ts';
import type { OutcomeInterval } from '../../store/statistics.ts';
import { settledRows } from './format-broadcast.ts';

/** How far a broadcast is, over all processes that deliver it. */
export interface Progress {
  readonly broadcast: Broadcast;
  /** Rows of the audience with a final outcome. */
  readonly settled: number;
  /** Rows settled per second, over the last seconds. */
  readonly ratePerSecond: number;
  /** Until the rest is settled at this rate; absent if nothing moves, and where the rate is that of the first moments of a large broadcast. */
  readonly etaSeconds?: number;
}

const averageOverMs = 5000;

/** A rate over less is that of a beginning: it says how long the rest takes only if that is at most twenty times as much. */
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

// How long a broadcast took until 50, 95 and 99 % of its recipients had an outcome, from the intervals in which outcomes are
// counted: no row is looked at, and a time is as exact as its interval is narrow.

const percents = [50, 95, 99] as const;

/** When a share of the recipients had an outcome: accepted, or any other that is final. */
export interface ReachTime {
  readonly percent: (typeof percents)[number];
  /** From the start of the broadcast, at the latest; `undefined`: so many have none yet, or never had one. */
  readonly seconds?: number;
  /** It was so much earlier at the most. */
  readonly precisionSeconds?: number;
}

/** @param intervals of the broadcast, in order */
export function measureReach(
  { recipients, counts, startAtMs }: Pick<Broadcast, 'recipients' | 'counts' | 'startAtMs'>,
  intervals: readonly OutcomeInterval[],
): readonly ReachTime[] {
  // whose subscription was removed before their turn is no recipient
  const rows = recipients - counts.removed;
  return percents.map((percent) => {
    const wanted = Math.ceil((rows * percent) / 100);
    let settled = 0;
    for (const interval of intervals) {
      settled += settlements.reduce((sum, name) => sum + interval[name], 0);
      if (wanted === 0 || settled < wanted) continue;
      const { startMs, widthMs } = interval;
      return {
        percent,
        seconds: (startMs + widthMs - startAtMs) / 1000,
        precisionSeconds: widthMs / 1000,
      };
    }
    return { percent };
  });
}
