// Finds the size of an audience quickly, whatever the number of subscriptions: counts the subscriptions if that is
// cheap, otherwise estimates the size from a sample of subscriptions and their tags.
import { checkExpression, meets, type TagExpression } from '../../audience/user-and-tags.ts';
import { countOf, countOfEstimate } from '../../errors/format-count.ts';
import { hashEndpoint } from '../../protocol/endpoint.ts';
import type { Broadcast, OutcomeGroup } from '../../store/broadcasts.ts';
import type { LeftOut } from '../../store/split-audience.ts';
import type { Store } from '../../store/store.ts';
import type { SubscriptionSample } from '../../store/subscription-sample.ts';
import type { SubscriptionStore } from '../../store/subscriptions.ts';
import type { SubscriptionInput } from '../message-path/subscription-input.ts';
import { type Audience, isExpression, isOfBroadcast, readIds } from './audience.ts';
import { totalReceipts } from './format-broadcast.ts';

/** `count` is an integer if it is exact. Estimates are rounded only for display. */
export type AudienceSize =
  | {
      /**
       * Two upper bounds: `below` if too few rows of the sample match, and `most` if some of the audience's
       * subscriptions may not be stored.
       */
      readonly kind: 'exact' | 'below' | 'most';
      readonly count: number;
    }
  | {
      readonly kind: 'about';
      readonly count: number;
      /** The standard error of the estimate, in subscriptions. */
      readonly error: number;
    };

export interface TagCount {
  readonly tag: string;
  readonly subscriptions: number;
}

interface EstimatorOptions {
  readonly sampleRows?: number;
  readonly now?: () => number;
  readonly random?: () => number;
}

const defaultMaxCandidates = 20_000;
/** Looking up one id costs as much as reading about this many rows. */
const lookupCost = 40;
/**
 * A sample older than this is read again. The caller gets the old sample without waiting, unless the old sample
 * contains all subscriptions.
 */
const freshMs = 10_000;
/** Callers never get a sample that is older than this. */
const maxAgeMs = 60_000;
/** If the relative standard error is larger, only an upper bound is given. */
const maxRelativeError = 0.25;

export type AudienceEstimator = ReturnType<typeof createAudienceEstimator>;

export function createAudienceEstimator(
  store: Pick<Store, 'subscriptions' | 'people' | 'attempts' | 'broadcasts'>,
  { sampleRows = 10_000, now = () => performance.now(), random }: EstimatorOptions = {},
) {
  let latest: { readonly sample: SubscriptionSample; readonly atMs: number } | undefined;
  let reading: Promise<SubscriptionSample> | undefined;
  const ranked = new WeakMap<SubscriptionSample, readonly TagCount[]>();

  const read = async (): Promise<SubscriptionSample> => {
    const atMs = now();
    try {
      const sample = await store.people.sample(sampleRows, random);
      latest = { sample, atMs };
      return sample;
    } finally {
      reading = undefined;
    }
  };

  const readSample = async (): Promise<SubscriptionSample> => {
    const ageMs = latest === undefined ? Infinity : now() - latest.atMs;
    if (latest !== undefined && ageMs <= freshMs) return latest.sample;
    reading ??= read();
    if (latest === undefined || ageMs > maxAgeMs || latest.sample.isWhole) return reading;
    // the caller that waits for the next sample gets the error
    reading.catch(() => {});
    return latest.sample;
  };

  const count = async (audience: Audience): Promise<AudienceSize> => ({
    count: await countAudience(audience, store),
    kind: 'exact',
  });

  return {
    /**
     * @param maxCandidates how many subscriptions may be read for an exact count
     * @throws {DeskbellError} the errors of `countAudience`
     */
    async estimate(audience: Audience, maxCandidates = defaultMaxCandidates): Promise<AudienceSize> {
      if (typeof audience === 'object' && 'ids' in audience && Array.isArray(audience.ids)) {
        const ids = new Set(audience.ids);
        return ids.size * lookupCost > maxCandidates ? { count: ids.size, kind: 'most' } : count({ ids });
      }
      if (isOfBroadcast(audience)) {
        // throws if the store does not know the outcomes of the broadcast
        await store.attempts.idsAfter(audience, { afterId: 0, ids: 1 });
        const broadcast = await store.broadcasts.get(audience.broadcast);
        // few enough subscriptions to read all of them
        if (broadcast.recipients <= maxCandidates) return count(audience);
        const leftOut = await store.broadcasts.leftOut(broadcast.id);
        return { kind: 'most', count: countGroup(audience.outcome, broadcast, leftOut) };
      }
      if (!isExpression(audience)) return count(audience);
      const expression = checkExpression(audience);
      if (expression.user !== undefined) return count(audience);
      const sample = await readSample();
      if (countCandidates(sample, expression.tags ?? {}) <= maxCandidates) return count(audience);
      return estimateRows(sample, (row) => meets(row, expression));
    },

    /** Returns the most frequent tags. `isSample` is true if not all subscriptions were read. */
    async topTags(limit: number) {
      const sample = await readSample();
      const tags = ranked.get(sample) ?? rankTags(sample);
      ranked.set(sample, tags);
      return { tags: tags.slice(0, limit), isSample: !sample.isWhole };
    },
  };
}

/** Returns the size of the group during the broadcast, including subscriptions that have been removed since. */
function countGroup(
  group: OutcomeGroup,
  broadcast: Broadcast,
  leftOut: Readonly<Partial<Record<LeftOut, number>>>,
): number {
  const { counts } = broadcast;
  const { accepted, doubtful, pending, removed, unaccounted } = counts;
  const { shown, clicked, dismissed } = totalReceipts(broadcast) ?? { shown: 0, clicked: 0, dismissed: 0 };
  const groups = {
    missed: broadcast.recipients - accepted - doubtful - pending - removed - unaccounted,
    shown,
    notShown: accepted - shown,
    clicked,
    notClicked: accepted - clicked,
    dismissed,
  };
  return { inactive: 0, channelOff: 0, timePassed: 0, ...leftOut, ...counts, ...groups }[group];
}

/** Ranks tags by frequency, highest first. */
function rankTags(sample: SubscriptionSample): readonly TagCount[] {
  const weights = new Map<string, number>();
  for (const { tags, weight } of sample.windows.flat()) {
    for (const tag of tags) weights.set(tag, (weights.get(tag) ?? 0) + weight);
  }
  const scale = scaleOf(sample);
  return [...weights]
    .toSorted(([one, ones], [other, others]) => others - ones || (one < other ? -1 : 1))
    .map(([tag, weight]) => ({ tag, subscriptions: Math.round(weight * scale) }));
}

/**
 * Returns how many rows an exact count reads. If `all` has tags, the count reads the rows with the rarest of them. If
 * only `any` has tags, it reads the rows with at least one of them. If neither has tags, it reads all rows.
 */
function countCandidates(sample: SubscriptionSample, { all = [], any = [] }: TagExpression): number {
  const rows = sample.windows.flat();
  const scale = scaleOf(sample);
  const having = (tag: string): number =>
    scale * rows.reduce((sum, { tags, weight }) => sum + (tags.includes(tag) ? weight : 0), 0);
  if (all.length > 0) return Math.min(...all.map(having));
  if (any.length > 0) return any.reduce((sum, tag) => sum + having(tag), 0);
  return sample.subscriptions;
}

/** Number of subscriptions that a row of weight 1 represents. */
export function scaleOf({
  windows,
  subscriptions,
}: Pick<SubscriptionSample, 'windows' | 'subscriptions'>): number {
  const total = windows.flat().reduce((sum, { weight }) => sum + weight, 0);
  return total === 0 ? 0 : subscriptions / total;
}

/**
 * Estimates how many subscriptions have a property. Rows within a window of the sample may be similar, so this is a
 * ratio estimate over windows.
 *
 * @see W. G. Cochran, Sampling Techniques, 3rd edition, chapter 6 (ratio estimates) and 9A (clusters of unequal sizes)
 */
export function estimateRows<Row extends { readonly weight: number }>(
  {
    subscriptions,
    isWhole,
    windows,
  }: Omit<SubscriptionSample, 'windows'> & { readonly windows: readonly (readonly Row[])[] },
  isOfKind: (row: Row) => boolean,
): AudienceSize {
  const sums = windows.map((rows) => ({
    all: rows.reduce((sum, { weight }) => sum + weight, 0),
    found: rows.reduce((sum, row) => sum + (isOfKind(row) ? row.weight : 0), 0),
  }));
  const all = sums.reduce((sum, window) => sum + window.all, 0);
  const found = sums.reduce((sum, window) => sum + window.found, 0);
  if (isWhole) return { kind: 'exact', count: found };
  const share = all === 0 ? 0 : found / all;
  const squares = sums.reduce((sum, window) => sum + (window.found - share * window.all) ** 2, 0);
  const error = Math.sqrt(squares) / all;
  if (share > 0 && error <= maxRelativeError * share)
    return { kind: 'about', count: share * subscriptions, error: error * subscriptions };
  // the effective number of windows: this many windows of equal weight would be as precise
  const effective = all ** 2 / sums.reduce((sum, window) => sum + window.all ** 2, 0);
  const hits = sums.filter((window) => window.found > 0);
  const ofHits = hits.reduce((sum, window) => sum + window.found / window.all, 0);
  // approximately the upper end of a 99.9 % interval of the Poisson distribution; 7 if there are no hits
  const mostHits = hits.length + 7 + 3.5 * Math.sqrt(hits.length);
  const partOfHit = (ofHits + 1) / (hits.length + 1);
  const most = Math.min(1, Math.max((mostHits * partOfHit) / effective, share + 4 * error));
  return { kind: 'below', count: most * subscriptions };
}

const kindWords = { exact: '', about: 'about ', below: 'fewer than ', most: 'at most ' } as const;

/** Formats a size, such as `5 subscriptions`, `about 12,000 subscriptions` or `fewer than 1,500 subscriptions`. */
export const nameAudienceSize = ({ count, kind }: AudienceSize): string =>
  kindWords[kind] +
  (kind === 'about' || kind === 'below'
    ? countOfEstimate(count, 'subscription', kind === 'below' ? 'ceil' : 'halfExpand')
    : countOf(count, 'subscription'));

/** Like `nameAudienceSize`, but adds `an estimate` if the size is not exact. */
export const formatAudienceSize = (size: AudienceSize): string =>
  size.kind === 'exact' ? nameAudienceSize(size) : `${nameAudienceSize(size)}, an estimate`;

/** Counts the distinct subscriptions that are in the audience now. */
export async function countAudience(
  audience: Audience,
  { subscriptions, attempts }: Pick<Store, 'subscriptions' | 'attempts'>,
): Promise<number> {
  if (audience === 'all') return subscriptions.count();
  if (isExpression(audience)) return subscriptions.count(checkExpression(audience));
  if ('ids' in audience) return countStored(audience.ids, subscriptions);
  if ('broadcast' in audience) {
    const found = new Set<number>();
    for await (const id of readIds(audience, attempts)) found.add(id);
    return found.size;
  }
  return countEndpoints(audience.subscriptions);
}

async function countStored(
  ids: Iterable<number> | AsyncIterable<number>,
  subscriptions: SubscriptionStore,
): Promise<number> {
  const found = new Set<number>();
  for await (const id of ids) if ((await subscriptions.findById(id)) !== undefined) found.add(id);
  return found.size;
}

/** Keeps endpoints as digests, because a list may have millions of endpoints of a few hundred characters each. */
async function countEndpoints(
  list: Iterable<SubscriptionInput> | AsyncIterable<SubscriptionInput>,
): Promise<number> {
  const digests = new Set<string>();
  for await (const { endpoint } of list) digests.add(hashEndpoint(endpoint));
  return digests.size;
}
