// JSON objects, of others as a rule, of which nothing is known yet.

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @returns `undefined` for text that is no JSON, or JSON of another kind */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The same text for equal values, in whichever order objects have their members. */
export function toSortedJson(value: object): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    isJsonObject(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
