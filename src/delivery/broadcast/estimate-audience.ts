// How many an audience has, quickly, however many subscriptions there are: counted where that takes little, otherwise estimated
// from a sample of the subscriptions and their tags, and then called an estimate.
import { countOf } from '../../errors/format-count.ts';
import { checkExpression, type TagExpression } from '../../audience/user-and-tags.ts';
import type { Store } from '../../store/store.ts';
import type { TagSample } from '../../store/tag-sample.ts';
import { isExpression, type Audience } from './audience.ts';
import { countAudience } from './count-audience.ts';

export interface AudienceSize {
  readonly count: number;
  /** `below`: there are too few in the sample to say more. `most`: some of the ids may not be stored. */
  readonly kind: 'exact' | 'about' | 'below' | 'most';
}

export interface TagCount {
  readonly tag: string;
  readonly subscriptions: number;
}

export interface AudienceEstimator {
  /**
   * @param maxCandidates so many subscriptions may be looked at for an exact count
   * @throws {DeskbellError} as `countAudience` does
   */
  estimate(audience: Audience, maxCandidates?: number): Promise<AudienceSize>;
  /** The tags that most subscriptions have; `isSample` where not all were looked at. */
  topTags(limit: number): Promise<{ readonly tags: readonly TagCount[]; readonly isSample: boolean }>;
}

interface EstimatorOptions {
  readonly sampleRows?: number;
  readonly now?: () => number;
}

const defaultMaxCandidates = 20_000;
/** To look up an id takes about as much as to look at so many. */
const lookupCost = 40;
/** One that is older is read anew, of all subscriptions at once, of a part of them for whoever asks next. */
const freshMs = 10_000;
/** Nobody is given one that is older. */
const maxAgeMs = 60_000;
/** Fewer in the sample say only that there are few. */
const minMatches = 10;

export function createAudienceEstimator(
  store: Pick<Store, 'subscriptions' | 'people'>,
  { sampleRows = 10_000, now = () => performance.now() }: EstimatorOptions = {},
): AudienceEstimator {
  let latest: { readonly sample: TagSample; readonly atMs: number } | undefined;
  let reading: Promise<TagSample> | undefined;
  /** Of a sample, once for all who ask. */
  const ranked = new WeakMap<TagSample, readonly TagCount[]>();

  const read = async (): Promise<TagSample> => {
    const atMs = now();
    try {
      const sample = await store.people.sampleTags(sampleRows);
      latest = { sample, atMs };
      return sample;
    } finally {
      reading = undefined;
    }
  };

  const readSample = async (): Promise<TagSample> => {
    const ageMs = latest === undefined ? Infinity : now() - latest.atMs;
    if (latest !== undefined && ageMs <= freshMs) return latest.sample;
    reading ??= read();
    if (latest === undefined || ageMs > maxAgeMs || !isPart(latest.sample)) return reading;
    // who waits for the next one is told what went wrong
    reading.catch(() => {});
    return latest.sample;
  };

  const count = async (audience: Audience): Promise<AudienceSize> => ({
    count: await countAudience(audience, store.subscriptions),
    kind: 'exact',
  });

  return {
    async estimate(audience, maxCandidates = defaultMaxCandidates) {
      if (typeof audience === 'object' && 'ids' in audience && Array.isArray(audience.ids)) {
        const ids = new Set(audience.ids);
        return ids.size * lookupCost > maxCandidates ? { count: ids.size, kind: 'most' } : count({ ids });
      }
      if (!isExpression(audience)) return count(audience);
      const { user, tags = {} } = checkExpression(audience);
      if (user !== undefined) return count(audience);
      const sample = await readSample();
      if (countCandidates(sample, tags) <= maxCandidates) return count(audience);
      return estimateTags(sample, tags);
    },

    async topTags(limit) {
      const sample = await readSample();
      const tags = ranked.get(sample) ?? rankTags(sample);
      ranked.set(sample, tags);
      return { tags: tags.slice(0, limit), isSample: isPart(sample) };
    },
  };
}

/** The most frequent first. */
function rankTags(sample: TagSample): readonly TagCount[] {
  const counts = new Map<string, number>();
  for (const tag of sample.rows.flat()) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts]
    .toSorted(([one, ones], [other, others]) => others - ones || (one < other ? -1 : 1))
    .map(([tag, found]) => ({ tag, subscriptions: scale(found, sample) }));
}

/** Those of the rarest tag of `all`, or those of `any`, or all there are: what the store looks at to count them. */
function countCandidates(sample: TagSample, { all = [], any = [] }: TagExpression): number {
  const having = (tag: string): number =>
    scale(sample.rows.filter((tags) => tags.includes(tag)).length, sample);
  if (all.length > 0) return Math.min(...all.map(having));
  if (any.length > 0) return any.reduce((sum, tag) => sum + having(tag), 0);
  return sample.subscriptions;
}

function estimateTags(sample: TagSample, { all = [], any = [], none = [] }: TagExpression): AudienceSize {
  const found = sample.rows.filter(
    (tags) =>
      all.every((tag) => tags.includes(tag)) &&
      (any.length === 0 || any.some((tag) => tags.includes(tag))) &&
      !none.some((tag) => tags.includes(tag)),
  ).length;
  if (found >= minMatches) return { count: roundTo2Digits(scale(found, sample), Math.round), kind: 'about' };
  // the upper end of a 95 % interval of the Poisson distribution, about; 3 for none
  const most = found + 3 + 2 * Math.sqrt(found);
  return { count: roundTo2Digits(scale(most, sample), Math.ceil), kind: 'below' };
}

const isPart = ({ rows, subscriptions }: TagSample): boolean => rows.length < subscriptions;

const scale = (found: number, { rows, subscriptions }: TagSample): number =>
  rows.length === 0 ? 0 : Math.round((found / rows.length) * subscriptions);

/** 12,345 is 12,000: an estimate knows no more. */
export function roundTo2Digits(count: number, round: (value: number) => number): number {
  const unit = 10 ** Math.max(0, String(count).length - 2);
  return round(count / unit) * unit;
}

const kindWords = { exact: '', about: 'about ', below: 'fewer than ', most: 'at most ' } as const;

/** `5 subscriptions`, `about 12,000 subscriptions`, `fewer than 1,500 subscriptions` */
export const nameAudienceSize = ({ count, kind }: AudienceSize): string =>
  kindWords[kind] + countOf(count, 'subscription');

/** The same, with the word `an estimate` where it is one. */
export const formatAudienceSize = (size: AudienceSize): string =>
  size.kind === 'exact' ? nameAudienceSize(size) : `${nameAudienceSize(size)}, an estimate`;
