// Calls functions of the database with arguments by name: among twenty, nobody would notice two that have changed places.
import type { Value } from './database.ts';

/**
 * @param given by the names of the function's parameters, in any order
 * @returns `call`: to stand in a statement
 */
export function callFunction(
  name: string,
  given: Readonly<Record<string, Value>>,
): { readonly call: string; readonly values: readonly Value[] } {
  const named = Object.keys(given).map((parameter, index) => `${parameter} => $${index + 1}`);
  return { call: `${name}(${named.join(', ')})`, values: Object.values(given) };
}
