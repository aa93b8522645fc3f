// What a broadcast that differs by reader would come to, before it is made: how many get which text, and how many are left out, wait
// for the end of quiet hours, or would get nothing since these end too late.
import { checkExpression } from '../../audience/user-and-tags.ts';
import { encodeMessage } from '../../protocol/message/encode-payload.ts';
import type { Message } from '../../protocol/message/message.ts';
import { defaultTtlSeconds } from '../../protocol/request.ts';
import { createReaderTimes, zoneOf } from '../../store/reader-times.ts';
import { createGroups, type AudienceSplit } from '../../store/split-audience.ts';
import type { Store } from '../../store/store.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import { isExpression, type Audience } from './audience.ts';
import type { BroadcastOptions } from './create-broadcast.ts';
import { checkPlaceholders, findChannel, resolveTimes, startOfList, toSplit } from './reader-options.ts';

export interface ReaderCounts {
  /** Subscriptions of the audience that were looked at; the other numbers are of them. */
  readonly lookedAt: number;
  /** There are more. */
  readonly hasMore: boolean;
  /** Who gets the text of a language; the message's own text is of `undefined`. */
  readonly byText: ReadonlyMap<string | undefined, number>;
  /** Who has the channel off. */
  readonly channelOff: number;
  /** Who is left out, having clicked on none of the last broadcasts shown there. Absent where it is not asked for. */
  readonly inactive?: number;
  /** Whose local time is over, and who is left out for it. */
  readonly timePassed: number;
  /** Of those who get it: later, when their quiet hours end. */
  readonly heldByQuietHours: number;
  /** Who gets nothing, since their quiet hours end after the TTL. */
  readonly expired: number;
  /** The first and the last time at which somebody gets it. */
  readonly fromMs: number | undefined;
  readonly throughMs: number | undefined;
}

/** The counts beside those of texts that are not 0, with what they say of readers; who is inactive also where nobody is. */
export const describeReaderCounts = (counts: ReaderCounts): readonly (readonly [number, string])[] => {
  const described = (
    [
      [counts.channelOff, 'have the channel off, and get nothing'],
      [counts.inactive ?? 0, 'are left out: they clicked on none of the last broadcasts shown to them'],
      [counts.timePassed, 'are left out: their local time is over'],
      [counts.heldByQuietHours, 'get it when their quiet hours end'],
      [counts.expired, 'would get nothing: it expires before their quiet hours end'],
    ] as const
  ).filter(([count]) => count > 0);
  return counts.inactive === 0 ? [...described, nobodyInactive] : described;
};

const nobodyInactive = [
  0,
  'are left out as inactive: only broadcasts with receipts count, for 30 days',
] as const;

const pageRows = 1000;

/**
 * Counts the readers of a broadcast as it would be made.
 *
 * @param maxRows so many subscriptions are looked at, the oldest first
 * @returns undefined where all get the same at the same time, as given subscriptions do
 * @throws {DeskbellError} what making it would throw
 */
export async function countReadersOf(
  audience: Audience,
  message: Message,
  options: BroadcastOptions,
  store: Pick<Store, 'channels' | 'readers' | 'subscriptions' | 'now'>,
  maxRows: number,
): Promise<ReaderCounts | undefined> {
  const { channel, receipts: isWithReceipts = false, startAt, ttlSeconds = defaultTtlSeconds } = options;
  const encoded = encodeMessage(message, { isWithReceipts, channel });
  const user = isExpression(audience) && 'user' in audience ? audience.user : undefined;
  await checkPlaceholders(encoded, user, store);
  const startAtMs = startAt?.getTime() ?? store.now();
  const times = { ...resolveTimes(options, startAtMs), startAtMs, ttlSeconds };
  const split = toSplit(encoded, await findChannel(channel, store), times);
  if (split === undefined) return undefined;
  if (typeof audience === 'string' || !('subscriptions' in audience))
    return countReaders(audience, split, store, maxRows);
  // of given subscriptions nothing is known
  startOfList(split);
  return undefined;
}

async function countReaders(
  audience: Audience,
  split: AudienceSplit,
  store: Pick<Store, 'subscriptions' | 'readers'>,
  maxRows: number,
): Promise<ReaderCounts> {
  const { skipInactive } = split;
  const counts = { channelOff: 0, inactive: 0, timePassed: 0, heldByQuietHours: 0, expired: 0 };
  const byText = new Map<string | undefined, number>();
  const timesMs: number[] = [];
  let lookedAt = 0;
  const groupOf = createGroups(split);
  const holds = createHolds(split.times);
  for await (const rows of pagesOf(audience, store.subscriptions, maxRows)) {
    const facts = await store.readers.factsOf(rows.slice(0, maxRows - lookedAt), skipInactive);
    for (const { language, timeZone, channels, isInactive } of facts.values()) {
      const { channel } = split;
      const group = groupOf(language, timeZone);
      if (channel !== undefined && !(channels[channel.name] ?? channel.isOnByDefault)) counts.channelOff += 1;
      else if (isInactive === true) counts.inactive += 1;
      else if (group === undefined) counts.timePassed += 1;
      else if (group.time?.isQuiet === true) counts.expired += 1;
      else {
        byText.set(group.language, (byText.get(group.language) ?? 0) + 1);
        if (holds(timeZone)) counts.heldByQuietHours += 1;
        if (group.time !== undefined) timesMs.push(group.time.fromMs);
      }
    }
    lookedAt += rows.length;
    if (lookedAt > maxRows) break;
  }
  const sorted = timesMs.toSorted((one, other) => one - other);
  const { inactive, ...others } = counts;
  return {
    ...others,
    ...(skipInactive !== undefined && { inactive }),
    byText,
    lookedAt: Math.min(lookedAt, maxRows),
    hasMore: lookedAt > maxRows,
    fromMs: sorted[0],
    throughMs: sorted.at(-1),
  };
}

/** @returns says whether quiet hours put off when readers in a time zone get it */
function createHolds(times: AudienceSplit['times']): (timeZone: string | undefined) => boolean {
  if (times?.quietHours === undefined) return () => false;
  const withQuietHours = createReaderTimes(times);
  const without = createReaderTimes({ ...times, quietHours: undefined });
  const known = new Map<string, boolean>();
  return (given) => {
    const timeZone = zoneOf(times, given);
    const isHeld = known.get(timeZone) ?? withQuietHours(timeZone).fromMs > without(timeZone).fromMs;
    known.set(timeZone, isHeld);
    return isHeld;
  };
}

async function* pagesOf(
  audience: Audience,
  subscriptions: Store['subscriptions'],
  maxRows: number,
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
  // one more, to know whether there are more
  for (let afterId = 0, left = maxRows + 1; left > 0; left -= pageRows) {
    const rows = await subscriptions.page({ afterId, limit: Math.min(left, pageRows), matching });
    yield rows;
    if (rows.length < Math.min(left, pageRows)) return;
    afterId = rows.at(-1)!.id;
  }
}
