// Sizes for people.
const units = ['kB', 'MB', 'GB', 'TB'] as const;

/** `532 bytes`, `1.5 MB`: of a thousand, as disks are sold. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  // 999,950 is 1.0 MB: the unit is that of the rounded number
  const index = units.findIndex((_, before) => Number((bytes / 1000 ** (before + 1)).toFixed(1)) < 1000);
  const unit = index < 0 ? units.length - 1 : index;
  return `${(bytes / 1000 ** (unit + 1)).toFixed(1)} ${units[unit]}`;
}
