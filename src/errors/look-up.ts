// Looks up a name that others chose, without finding inherited ones such as `constructor`.

export const lookUp = <Value>(
  table: Readonly<Record<string, Value>> | null | undefined,
  name: string,
): Value | undefined => (table != null && Object.hasOwn(table, name) ? table[name] : undefined);
