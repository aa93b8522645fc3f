// Formats counts for people. `Intl` does all rounding.

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
