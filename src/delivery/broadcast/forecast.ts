// Estimates how long a broadcast will take, from the speed of earlier ones.
import { formatCount, formatSpan } from '../../errors/format-count.ts';
import { hasReaderTimes } from '../../store/reader-times.ts';
import type { OutcomeInterval } from '../../store/statistics.ts';
import type { Store } from '../../store/store.ts';
import { measureReach } from './progress.ts';

const newestBroadcasts = 20;
const measuredBroadcasts = 3;
/** The rate of a smaller broadcast does not predict the rate of a larger broadcast. */
const tellingRecipients = 1000;

/** If a broadcast has no outcome for longer than this, it was paused, or nothing could be sent. */
const longestGapMs = 60_000;

function untilFirstGap(intervals: readonly OutcomeInterval[]): readonly OutcomeInterval[] {
  const gap = intervals.findIndex(({ startMs }, index) => {
    const before = intervals[index - 1];
    return before !== undefined && startMs - (before.startMs + before.widthMs) > longestGapMs;
  });
  return gap === -1 ? intervals : intervals.slice(0, gap);
}

/**
 * Measures the newest broadcasts that started at once and had at least as many recipients, or at least a thousand. The
 * time runs from the first outcome until 95 % of the recipients were reached; if fewer were, until 50 % were reached.
 * After a minute without an outcome, the rest of a broadcast is ignored.
 *
 * @param recipients how many recipients the planned broadcast has
 * @returns undefined if no such broadcast exists
 */
async function readUsualRate(
  { broadcasts, statistics }: Pick<Store, 'broadcasts' | 'statistics'>,
  recipients: number,
) {
  const telling = (await broadcasts.list({ limit: newestBroadcasts })).filter(
    (broadcast) =>
      broadcast.state === 'done' &&
      !hasReaderTimes(broadcast) &&
      broadcast.recipients >= Math.max(1, Math.min(recipients, tellingRecipients)),
  );
  const sum = { rows: 0, seconds: 0, broadcasts: 0 };
  for (const broadcast of telling) {
    if (sum.broadcasts === measuredBroadcasts) break;
    const intervals = untilFirstGap(await statistics.outcomesOf(broadcast.id));
    const reached = measureReach(broadcast, intervals).findLast(
      ({ percent, seconds }) => percent <= 95 && seconds !== undefined,
    );
    if (reached?.seconds === undefined) continue;
    sum.rows += ((broadcast.recipients - broadcast.counts.removed) * reached.percent) / 100;
    sum.seconds += reached.seconds - (intervals[0]!.startMs - broadcast.startAtMs) / 1000;
    sum.broadcasts += 1;
  }
  return sum.broadcasts === 0 ? undefined : { perSecond: sum.rows / sum.seconds, broadcasts: sum.broadcasts };
}

export interface Forecast {
  /** Messages settled per second. */
  readonly perSecond: number;
  /** Number of broadcasts in which this speed was measured. */
  readonly broadcasts: number;
  readonly seconds: number;
  /** When sending will be complete at the usual rate. If times differ by reader, most messages may be sent earlier. */
  readonly doneAtMs: number;
}

/**
 * @param recipients how many recipients the planned broadcast has
 * @param lastMs when the last message may be sent. Default: now
 * @returns undefined if no earlier broadcast can be compared
 */
export async function forecast(
  store: Pick<Store, 'broadcasts' | 'statistics' | 'now'>,
  recipients: number,
  lastMs = store.now(),
): Promise<Forecast | undefined> {
  const usual = await readUsualRate(store, recipients);
  if (usual === undefined) return undefined;
  const seconds = recipients / usual.perSecond;
  return { ...usual, seconds, doneAtMs: Math.max(store.now(), lastMs) + seconds * 1000 };
}

/** For example `about 19 s, as the last 3 broadcasts went: 4,300 a second`. */
export function formatForecast(known: Forecast | undefined): string {
  if (known === undefined)
    return `not known, because none of the last ${newestBroadcasts} broadcasts went at once to as many, or to ${formatCount(tellingRecipients)}`;
  const { seconds, perSecond, broadcasts } = known;
  const last = broadcasts === 1 ? 'broadcast' : `${broadcasts} broadcasts`;
  const rate = perSecond < 1 ? 'less than 1' : formatCount(Math.floor(perSecond));
  return `about ${formatSpan(seconds)}, as the last ${last} went: ${rate} a second`;
}
