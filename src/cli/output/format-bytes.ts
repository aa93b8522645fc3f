// Sizes for people.
const units = ['kB', 'MB', 'GB', 'TB'] as const;

/** `532 bytes`, `1.5 MB`: of a thousand, as disks are sold. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const exponent = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** exponent).toFixed(1)} ${units[exponent - 1]}`;
}
