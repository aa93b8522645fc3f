/** @returns the member of that name of each row; of several names, a list of their members */
export function pluck<T extends object>(rows: Iterable<T>, ...names: readonly (keyof T)[]): unknown[] {
  const [only] = names.length === 1 ? names : [];
  return Array.from(rows, (row) => (only === undefined ? names.map((name) => row[name]) : row[only]));
}
