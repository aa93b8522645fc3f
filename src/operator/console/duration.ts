// Durations in the words that people use.

const units = [
  ['day', 24 * 60 * 60],
  ['h', 60 * 60],
  ['min', 60],
  ['s', 1],
] as const;

/**
 * `28 days`, `1 h 5 min`, `4 s`.
 *
 * @param maxUnits how many units say it, from the largest on; what is less is left out. Four say it exactly, to the second
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
