// Counts in the texts that people read: of errors, of commands and of the console. All rounding is done here, by `Intl`, from the
// number to the text.

/** `11,328`; `11,328.4` is the same */
export const formatCount = (count: number): string =>
  count.toLocaleString('en', { maximumFractionDigits: 0 });

/** `11,000` for 11,328: an estimate knows no more than two digits. */
export const formatEstimate = (count: number, roundingMode: 'halfExpand' | 'ceil' = 'halfExpand'): string =>
  count.toLocaleString('en', {
    maximumFractionDigits: 0,
    maximumSignificantDigits: 2,
    roundingPriority: 'lessPrecision',
    roundingMode,
  });

/**
 * `1 subscription`, `11,328 subscriptions`
 *
 * @param one a noun whose plural ends with `s`
 */
export const countOf = (count: number, one: string): string => withNoun(formatCount(count), one);

/** `11,000 subscriptions` for 11,328 */
export const countOfEstimate = (count: number, one: string, roundingMode?: 'halfExpand' | 'ceil'): string =>
  withNoun(formatEstimate(count, roundingMode), one);

const withNoun = (count: string, one: string): string => `${count} ${one}${count === '1' ? '' : 's'}`;
