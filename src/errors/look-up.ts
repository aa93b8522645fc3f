// Looking up names that others choose (channels, languages, fields, members of JSON) in plain objects: each object also inherits
// `constructor`, `toString` and more.

/** What a table itself has under a name. */
export const lookUp = <Value>(
  table: Readonly<Record<string, Value>> | null | undefined,
  name: string,
): Value | undefined => (table != null && Object.hasOwn(table, name) ? table[name] : undefined);
