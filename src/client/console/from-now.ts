// Formats how long ago a time was, or how far ahead it is. Used in the page and on the server.

const units = [
  [2 * 365 * 24 * 3600, 365 * 24 * 3600, 'years'],
  [2 * 24 * 3600, 24 * 3600, 'days'],
  [5400, 3600, 'h'],
  [90, 60, 'min'],
  [0, 1, 's'],
] as const;

/** `in 3 h`, `12 min ago` */
export function fromNow(differenceMs: number): string {
  const seconds = Math.abs(differenceMs) / 1000;
  const [, length, unit] = units.find(([from]) => seconds >= from)!;
  const amount = `${Math.round(seconds / length).toLocaleString('en')} ${unit}`;
  return differenceMs > 0 ? `in ${amount}` : `${amount} ago`;
}
