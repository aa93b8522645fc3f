// What an error calls the type of a value.

/** `typeof`, but for null and arrays, which it takes for objects. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
