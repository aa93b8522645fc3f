// Formats counts and durations for people.

/** 11,328.4 gives `11,328`. */
export const formatCount = (count: number): string =>
  count.toLocaleString('en', { maximumFractionDigits: 0 });

/** 11,328 gives `11,000`: an estimate is not exact beyond two digits. */
export const formatEstimate = (count: number, roundingMode: 'halfExpand' | 'ceil' = 'halfExpand'): string =>
  count.toLocaleString('en', {
    maximumFractionDigits: 0,
    maximumSignificantDigits: 2,
    roundingPriority: 'lessPrecision',
    roundingMode,
  });

/** `1 subscription`, `11,328 subscriptions` @param one a noun whose plural ends with `s` */
export const countOf = (count: number, one: string): string => withNoun(formatCount(count), one);

export const countOfEstimate = (count: number, one: string, roundingMode?: 'halfExpand' | 'ceil'): string =>
  withNoun(formatEstimate(count, roundingMode), one);

const withNoun = (count: string, one: string): string => `${count} ${one}${count === '1' ? '' : 's'}`;

const units = [
  ['day', 24 * 60 * 60],
  ['h', 60 * 60],
  ['min', 60],
  ['s', 1],
] as const;

/**
 * `28 days`, `1 h 5 min`, `4 s`.
 *
 * @param maxUnits how many units to show, starting with the largest; with four, it is exact to the second
 */
export function formatSpan(seconds: number, maxUnits = 2): string {
  let rest = Math.ceil(seconds);
  const counts = units.map(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return [unit, count] as const;
  });
  const first = counts.findIndex(([, count]) => count > 0);
  if (first === -1) return '0 s';
  return counts
    .slice(first, first + maxUnits)
    .filter(([, count]) => count > 0)
    .map(([unit, count]) => `${count.toLocaleString('en')} ${unit === 'day' && count > 1 ? 'days' : unit}`)
    .join(' ');
}

const byteUnits = ['kB', 'MB', 'GB', 'TB'] as const;

/** Formats a size in decimal units, as for disks: `532 bytes`, `1.5 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  // the unit fits the rounded number: 999,950 is 1.0 MB
  const index = byteUnits.findIndex((_, before) => Number((bytes / 1000 ** (before + 1)).toFixed(1)) < 1000);
  const unit = index < 0 ? byteUnits.length - 1 : index;
  return `${(bytes / 1000 ** (unit + 1)).toFixed(1)} ${byteUnits[unit]}`;
}
