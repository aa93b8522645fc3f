// Refuses options that are not known: a caller in JavaScript would wait for their effect.

/** Which options there are: the type makes the list complete. */
export type Names<Options> = { readonly [Name in keyof Options]-?: unknown };

/**
 * @param kind of option, as the message calls it
 * @throws {RangeError} names the first that is unknown, and those that there are
 */
export function checkNames<Options>(kind: string, given: object, known: Names<Options>): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new RangeError(`unknown ${kind} "${unknown}"; there are: ${Object.keys(known).join(', ')}`);
}
