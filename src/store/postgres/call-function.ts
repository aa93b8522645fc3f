// Calls of functions of the database with their arguments by name: where there are twenty, nobody sees that two have changed
// places.
import type { Value } from './database.ts';

export interface FunctionCall {
  /** To stand in a statement. */
  readonly call: string;
  readonly values: readonly Value[];
}

/** @param values by the names of the function's parameters, in any order */
export function callFunction(name: string, values: Readonly<Record<string, Value>>): FunctionCall {
  const named = Object.keys(values).map((parameter, index) => `${parameter} => $${index + 1}`);
  return { call: `${name}(${named.join(', ')})`, values: Object.values(values) };
}
