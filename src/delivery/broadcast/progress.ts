// The progress of a broadcast. It is read from the store, so it covers all processes.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Broadcast, type BroadcastStore, isOver, settlements } from '../../store/broadcasts.ts';
import type { OutcomeInterval } from '../../store/statistics.ts';
import { formatCount } from '../../errors/format-count.ts';
import { byPushService, settledRows, stateOf } from './format-broadcast.ts';

/** Progress of all processes that deliver the broadcast. */
export interface Progress {
  readonly broadcast: Broadcast;
  /** Number of rows that have a final outcome. */
  readonly settled: number;
  /** Rows settled per second, measured over the last few seconds. */
  readonly ratePerSecond: number;
  /**
   * Seconds until the rows that can be sent now are settled at this rate. Absent if no rows are being settled, and
   * during the first moments of a large broadcast.
   */
  readonly etaSeconds?: number;
  /** The time at which the next rows can be sent, if none can be sent now. Absent if the time is unknown. */
  readonly nextPartAtMs?: number;
}

/** Why rows have no outcome yet, and how many wait for that reason. `now`: nothing prevents them from being sent. */
export interface Wait {
  readonly for: 'now' | 'localTime' | 'retry' | 'turn' | 'pushService';
  readonly rows: number;
  /** The push service that refuses our token or key. */
  readonly origin?: string;
}

/** The text after the number of rows, such as `held back`. */
export const waitMeanings: Readonly<Record<Wait['for'], string>> = {
  now: 'can be sent now',
  localTime: 'wait for the time of their readers',
  retry: 'to be tried again',
  turn: 'put off, not tried yet',
  pushService: 'held back',
};

/** For example `12,000 held back by fcm.googleapis.com`. */
export const formatWait = ({ for: cause, rows, origin }: Wait): string =>
  `${formatCount(rows)} ${waitMeanings[cause]}${origin === undefined ? '' : ` by ${origin}`}`;

/** Like `waitsOf`, but for display: `origin` is the push service's name, and its hosts are combined. */
export const waitsByService = (broadcast: Broadcast): readonly Wait[] =>
  waitsOf({ ...broadcast, heldBack: byPushService(broadcast.heldBack) });

/** Returns the reasons why rows wait, and how many wait for each. The numbers add up to the pending rows. */
export function waitsOf({ counts, waiting, toRetry, heldBack, later }: Broadcast): readonly Wait[] {
  const held = heldBack.reduce((sum, { rows }) => sum + rows, 0);
  const waits: readonly Wait[] = [
    { for: 'now', rows: counts.pending - waiting - (later?.rows ?? 0) },
    { for: 'localTime', rows: later?.rows ?? 0 },
    { for: 'retry', rows: toRetry },
    { for: 'turn', rows: waiting - toRetry - held },
    ...heldBack.map(({ origin, rows }) => ({ for: 'pushService' as const, rows, origin })),
  ];
  return waits.filter(({ rows }) => rows > 0);
}

/** Returns how long the broadcast will take or, if no rows can be sent now, when the next rows can be sent. */
export function outlookOf(
  broadcast: Broadcast,
  ratePerSecond: number,
): Pick<Progress, 'etaSeconds' | 'nextPartAtMs'> {
  const { counts, startAtMs, later, nextTryAtMs } = broadcast;
  const state = stateOf(broadcast);
  if (counts.pending === 0) return {};
  if (state === 'scheduled') return { nextPartAtMs: startAtMs };
  if (state !== 'running') return {};
  const waits = waitsOf(broadcast);
  const sendable = waits.find((wait) => wait.for === 'now')?.rows ?? 0;
  if (sendable > 0) return ratePerSecond > 0 ? { etaSeconds: sendable / ratePerSecond } : {};
  const isTried = waits.some((wait) => wait.for === 'retry' || wait.for === 'turn');
  const nextPartAtMs = Math.min(later?.atMs ?? Infinity, (isTried ? nextTryAtMs : undefined) ?? Infinity);
  return nextPartAtMs < Infinity ? { nextPartAtMs } : {};
}

/** Rows settled per second during the last ten seconds. */
export function rateOf(intervals: readonly OutcomeInterval[], nowMs: number): number {
  const recent = intervals.filter(({ startMs }) => startMs > nowMs - 10_000);
  const sinceMs = Math.min(nowMs - 1000, ...recent.map(({ startMs }) => startMs));
  return recent.reduce((sum, interval) => sum + settledIn(interval), 0) / ((nowMs - sinceMs) / 1000);
}

const settledIn = (interval: OutcomeInterval): number =>
  settlements.reduce((sum, name) => sum + interval[name], 0);

const averageOverMs = 5000;

/**
 * Progress is watched for this long before the remaining time is estimated. The estimate comes earlier if at most
 * `estimatedShare` rows are left for each row that was settled meanwhile.
 */
const estimatedAfterMs = 2000;
const estimatedShare = 20;

/**
 * Yields the progress repeatedly, the last time when the broadcast is over or `finished` has settled.
 *
 * @param finished settles when delivery in this process has ended
 */
export async function* watchProgress(
  store: BroadcastStore,
  id: number,
  finished: Promise<unknown>,
  everyMs = 500,
): AsyncGenerator<Progress> {
  const history: History = [];
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

/** Earlier readings of the number of settled rows, oldest first. */
type History = { readonly atMs: number; readonly settled: number }[];

/** For this long after a reading, other callers get the same reading. */
const sharedMs = 400;

/**
 * Returns a function that reads the progress of a broadcast once for all who ask for it.
 *
 * @param onFault called once for a reading that fails; all who have asked for it get undefined
 */
export function createProgressReader(
  store: Pick<BroadcastStore, 'find'>,
  onFault: (error: unknown) => void,
): (id: number) => Promise<Progress | undefined> {
  const readings = new Map<
    number,
    { readonly history: History; readonly progress: Promise<Progress | undefined>; untilMs: number }
  >();
  const read = (id: number, history: History): Promise<Progress | undefined> => {
    const progress = store
      .find(id)
      .then((broadcast) => broadcast && measure(broadcast, history))
      .catch((error: unknown) => void onFault(error))
      .finally(() => (reading.untilMs = performance.now() + sharedMs));
    const reading = { history, progress, untilMs: Infinity };
    readings.set(id, reading);
    return progress;
  };
  return (id) => {
    const nowMs = performance.now();
    for (const [each, { untilMs }] of readings) if (untilMs < nowMs - averageOverMs) readings.delete(each);
    const known = readings.get(id);
    return known && nowMs < known.untilMs ? known.progress : read(id, known?.history ?? []);
  };
}

function measure(broadcast: Broadcast, history: History): Progress {
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
    ...outlookOf(broadcast, isTelling ? ratePerSecond : 0),
  };
}

// Measures how long a broadcast took to reach 50, 95 and 99 % of its recipients. The times come from the intervals in
// which outcomes are counted, so no row is read. The precision of a time is the width of its interval.

const percents = [50, 95, 99] as const;

/** How long it took until push services had accepted the message for a share of the recipients. */
export interface ReachTime {
  readonly percent: (typeof percents)[number];
  /** Seconds from the start of the broadcast, as an upper bound; `undefined` if `percent` was not reached. */
  readonly seconds?: number;
  /** `seconds` may be too large by up to this many seconds. */
  readonly precisionSeconds?: number;
}

/** @param intervals the broadcast's intervals, in chronological order */
export function measureReach(
  { recipients, counts, startAtMs }: Pick<Broadcast, 'recipients' | 'counts' | 'startAtMs'>,
  intervals: readonly OutcomeInterval[],
): readonly ReachTime[] {
  // subscriptions that were removed before their turn do not count as recipients
  const rows = recipients - counts.removed;
  return percents.map((percent) => {
    const wanted = Math.ceil((rows * percent) / 100);
    let reached = 0;
    for (const { accepted, startMs, widthMs } of intervals) {
      reached += accepted;
      if (wanted === 0 || reached < wanted) continue;
      return {
        percent,
        seconds: (startMs + widthMs - startAtMs) / 1000,
        precisionSeconds: widthMs / 1000,
      };
    }
    return { percent };
  });
}
