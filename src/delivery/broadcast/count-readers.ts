// Predicts a broadcast that differs by reader: how many readers get each text, are left out, wait until their quiet
// hours end, or get nothing because that would be too late.
import { formatCount, formatEstimate } from '../../errors/format-count.ts';
import { checkExpression, meets } from '../../audience/user-and-tags.ts';
import { encodeMessage } from '../../protocol/message/encode-payload.ts';
import type { Message } from '../../protocol/message/message.ts';
import { createGroups, type AudienceSplit } from '../../store/split-audience.ts';
import type { OutcomeAudience } from '../../store/broadcasts.ts';
import type { Store } from '../../store/store.ts';
import type { SampledRow, SubscriptionSample } from '../../store/subscription-sample.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import { isExpression, isOfBroadcast, readIds, type Audience } from './audience.ts';
import type { BroadcastOptions } from './create-broadcast.ts';
import { estimateRows, scaleOf, type AudienceSize } from './estimate-audience.ts';
import { planReaders } from './reader-options.ts';
import { lookUp } from '../../errors/check-options.ts';

export interface ReaderCounts {
  /** The recipients who are not left out. */
  readonly reached: AudienceSize;
  readonly lookedAt: number;
  /** If true, only a sample of `lookedAt` rows was read, and the other numbers are estimates for the whole audience. */
  readonly isEstimate: boolean;
  /** How many readers get the text in each language. `undefined` stands for the message's own text. */
  readonly byText: ReadonlyMap<string | undefined, number>;
  /** How many readers have turned the channel off. */
  readonly channelOff: number;
  /** How many readers are left out because they clicked on none of the last broadcasts. Absent if not requested. */
  readonly inactive?: number;
  /** How many readers are left out because the local time of the broadcast has passed in their time zone. */
  readonly timePassed: number;
  /** How many recipients get the broadcast on the next day, because its time has passed in their time zone. */
  readonly nextDay: number;
  /** How many recipients get the broadcast as soon as it starts. */
  readonly atOnce: number;
  /** How many recipients get the broadcast later, when their quiet hours end. */
  readonly heldByQuietHours: number;
  /** How many readers get nothing because their quiet hours end after the TTL. */
  readonly expired: number;
  /** When the first and the last reader get the message. */
  readonly fromMs: number | undefined;
  readonly throughMs: number | undefined;
}

/** Formats a count, such as `1,234`, or `about 1,200` for an estimate. */
export const formatReaderCount = (count: number, { isEstimate }: ReaderCounts): string =>
  isEstimate && count > 0 ? `about ${formatEstimate(count)}` : formatCount(count);

/**
 * Lists counts with their meanings, without the counts by text. Leaves out counts that are 0, except the count of
 * inactive readers.
 */
export const describeReaderCounts = (counts: ReaderCounts): readonly (readonly [number, string])[] => {
  const described = (
    [
      [counts.channelOff, 'have the channel off, and get nothing'],
      [counts.inactive ?? 0, 'are left out: they clicked on none of the last broadcasts shown to them'],
      [counts.timePassed, 'are left out: their local time is over'],
      ...timesOf(counts),
      [counts.nextDay, 'get it on the next day: their local time is over'],
      [counts.heldByQuietHours, 'get it when their quiet hours end'],
      [counts.expired, 'would get nothing: it expires before their quiet hours end'],
    ] as const
  ).filter(([count]) => count > 0);
  return counts.inactive === 0 ? [...described, nobodyInactive] : described;
};

/** Says how many readers get the message at once, and how many later. Empty if all readers get it at the same time. */
function timesOf({ atOnce, byText, throughMs }: ReaderCounts): readonly (readonly [number, string])[] {
  if (throughMs === undefined) return [];
  const all = [...byText.values()].reduce((sum, count) => sum + count, 0);
  return [
    [atOnce, 'get it at once'],
    [all - atOnce, 'get it later'],
  ];
}

const nobodyInactive = [
  0,
  'are left out as inactive: only broadcasts with receipts count, for 30 days',
] as const;

const pageRows = 1000;

/**
 * Counts the readers of a broadcast before it is created.
 *
 * @param size the size of the audience
 * @param maxRows a larger audience is estimated from a sample of about this many subscriptions
 * @returns undefined if all readers get the same message at the same time, or if the subscriptions are not stored
 * @throws {DeskbellError} the errors that creating it would throw
 */
export async function countReadersOf(
  given: Audience,
  message: Message,
  options: BroadcastOptions,
  store: Pick<Store, 'attempts' | 'channels' | 'readers' | 'subscriptions' | 'people' | 'now'>,
  size: AudienceSize,
  maxRows: number,
): Promise<ReaderCounts | undefined> {
  const { channel, receipts: isWithReceipts = false, startAt } = options;
  const encoded = encodeMessage(message, { isWithReceipts, channel });
  const startAtMs = startAt?.getTime() ?? store.now();
  const { split } = await planReaders(given, encoded, options, startAtMs, startAtMs, store);
  // nothing is known about the readers of subscriptions that are not stored
  if (split === undefined || (typeof given === 'object' && 'subscriptions' in given)) return undefined;
  const audience = isOfBroadcast(given) ? { ids: readIds(given, store.attempts) } : given;
  if (size.count > maxRows) return estimateReaders(audience, split, store, maxRows);
  const counter = createCounter(split, store);
  for await (const rows of pagesOf(audience, store.subscriptions)) await counter.add(rows);
  return counter.counts();
}

type StoredAudience = Exclude<Audience, { readonly subscriptions: unknown } | OutcomeAudience>;
type CountedRow = Pick<SampledRow, 'id' | 'endpoint'> & Partial<Pick<SampledRow, 'weight'>>;

function createCounter(split: AudienceSplit, store: Pick<Store, 'readers'>) {
  const { skipInactive, channel, times } = split;
  const counts = {
    channelOff: 0,
    inactive: 0,
    timePassed: 0,
    nextDay: 0,
    atOnce: 0,
    heldByQuietHours: 0,
    expired: 0,
  };
  const byText = new Map<string | undefined, number>();
  const reached = new Set<number>();
  let [fromMs, throughMs] = [Infinity, -Infinity];
  let lookedAt = 0;
  const groupOf = createGroups(split);
  return {
    reached: reached as ReadonlySet<number>,

    async add(rows: readonly CountedRow[]): Promise<void> {
      lookedAt += rows.length;
      const facts = await store.readers.factsOf(rows, skipInactive);
      for (const { id, weight = 1 } of rows) {
        const reader = facts.get(id);
        if (reader === undefined) continue;
        const { language, timeZone, channels, isInactive } = reader;
        const group = groupOf(language, timeZone);
        if (channel !== undefined && !(lookUp(channels, channel.name) ?? channel.isOnByDefault))
          counts.channelOff += weight;
        else if (isInactive === true) counts.inactive += weight;
        else if (group === undefined) counts.timePassed += weight;
        else {
          reached.add(id);
          if (group.time?.isQuiet === true) {
            counts.expired += weight;
            continue;
          }
          byText.set(group.language, (byText.get(group.language) ?? 0) + weight);
          if (group.time?.isNextDay === true) counts.nextDay += weight;
          if (times === undefined || group.time!.fromMs <= times.startAtMs) counts.atOnce += weight;
          if (group.time?.isHeld === true) counts.heldByQuietHours += weight;
          fromMs = Math.min(fromMs, group.time?.fromMs ?? Infinity);
          throughMs = Math.max(throughMs, group.time?.fromMs ?? -Infinity);
        }
      }
    },

    /** @param estimated the values for the whole audience; required if only a sample was added */
    counts(estimated?: { readonly reached: AudienceSize; readonly scale: number }): ReaderCounts {
      const { reached: size = { kind: 'exact' as const, count: reached.size }, scale = 1 } = estimated ?? {};
      const scaled = (count: number): number => Math.round(count * scale);
      return {
        reached: size,
        lookedAt,
        isEstimate: estimated !== undefined,
        byText: new Map([...byText].map(([language, count]) => [language, scaled(count)])),
        channelOff: scaled(counts.channelOff),
        ...(skipInactive !== undefined && { inactive: scaled(counts.inactive) }),
        timePassed: scaled(counts.timePassed),
        nextDay: scaled(counts.nextDay),
        atOnce: scaled(counts.atOnce),
        heldByQuietHours: scaled(counts.heldByQuietHours),
        expired: scaled(counts.expired),
        fromMs: fromMs === Infinity ? undefined : fromMs,
        throughMs: fromMs === Infinity ? undefined : throughMs,
      };
    },
  };
}

async function estimateReaders(
  audience: StoredAudience,
  split: AudienceSplit,
  store: Pick<Store, 'readers' | 'subscriptions' | 'people'>,
  maxRows: number,
): Promise<ReaderCounts> {
  const sample =
    typeof audience === 'object' && 'ids' in audience
      ? await sampleIds(audience.ids, store.subscriptions, maxRows)
      : await store.people.sample(maxRows);
  const expression = isExpression(audience) ? checkExpression(audience) : {};
  const rows = sample.windows.flat().filter((row) => meets(row, expression));
  const counter = createCounter(split, store);
  for (let from = 0; from < rows.length; from += pageRows)
    await counter.add(rows.slice(from, from + pageRows));
  const reached = estimateRows(sample, ({ id }) => counter.reached.has(id));
  return counter.counts({ reached, scale: scaleOf(sample) });
}

/** Takes one id from each of `count` equal parts of the list. */
async function sampleIds(
  ids: Iterable<number> | AsyncIterable<number>,
  subscriptions: Store['subscriptions'],
  rows: number,
): Promise<SubscriptionSample> {
  const unique = new Set<number>();
  for await (const id of ids) unique.add(id);
  const all = [...unique];
  const step = all.length / rows;
  const windows: SampledRow[][] = [];
  for (let part = 0; part < rows; part += 1) {
    const row = await subscriptions.findById(all[Math.floor((part + Math.random()) * step)]!);
    if (row !== undefined) windows.push([{ ...row, user: row.user ?? null, weight: step }]);
  }
  return { subscriptions: windows.length * step, isWhole: false, windows };
}

async function* pagesOf(
  audience: StoredAudience,
  subscriptions: Store['subscriptions'],
): AsyncGenerator<readonly StoredSubscription[]> {
  if (typeof audience === 'object' && 'ids' in audience) {
    const seen = new Set<number>();
    let rows: StoredSubscription[] = [];
    for await (const id of audience.ids) {
      const row = seen.has(id) ? undefined : await subscriptions.findById(id);
      if (row !== undefined) rows.push(row);
      seen.add(id);
      if (rows.length < pageRows) continue;
      yield rows;
      rows = [];
    }
    return yield rows;
  }
  const matching = isExpression(audience) ? checkExpression(audience) : undefined;
  for (let afterId = 0; ;) {
    const rows = await subscriptions.page({ afterId, limit: pageRows, matching });
    yield rows;
    if (rows.length < pageRows) return;
    afterId = rows.at(-1)!.id;
  }
}
