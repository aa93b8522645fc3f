// Counts in the texts that people read: of errors, of commands and of the console.

/** `11,328` */
export const formatCount = (count: number): string => count.toLocaleString('en');

/**
 * `1 subscription`, `11,328 subscriptions`
 *
 * @param one a noun whose plural ends with `s`
 */
export const countOf = (count: number, one: string): string =>
  `${formatCount(count)} ${one}${count === 1 ? '' : 's'}`;
