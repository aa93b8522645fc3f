// Refuses unknown options, since a caller in JavaScript would wait for their effect.

export type Names<Options> = { readonly [Name in keyof Options]-?: unknown };

/**
 * @param kind of option, for the message
 * @throws {RangeError} names the first unknown option, and the known ones
 */
export function checkNames<Options>(kind: string, given: object, known: Names<Options>): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new RangeError(`unknown ${kind} "${unknown}"; there are: ${Object.keys(known).join(', ')}`);
}
