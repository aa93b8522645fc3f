// How long a broadcast took until 50, 95 and 99 % of its recipients had an outcome, from the intervals in which outcomes are
// counted: no row is looked at, and a time is as exact as its interval is narrow.
import { settlements, type Broadcast } from '../../store/broadcasts.ts';
import type { OutcomeInterval } from '../../store/statistics.ts';

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
