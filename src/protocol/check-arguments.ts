// Checks of the numbers and byte strings that a caller hands over. TypeScript cannot tell a whole number from another,
// nor 16 bytes from 15.
import type { ErrorCode } from '../errors/catalogue.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { typeOf } from '../errors/check-options.ts';

/** What a whole number is called, and the least and the greatest that is allowed. */
export interface IntegerBounds {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** @throws {DeskbellError} `code`: the value is no whole number, or beyond the bounds, which the message names */
export function assertInteger(code: ErrorCode, value: unknown, { name, min, max }: IntegerBounds): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return;
  const what = typeof value === 'number' ? String(value) : `of type ${typeOf(value)}`;
  throw new DeskbellError(code, `${name} is ${what}; give a whole number from ${min} to ${max}.`);
}

/** @throws {DeskbellError} `code`: the value is not a Uint8Array of that length. The message does not show its bytes. */
export function assertBytes(code: ErrorCode, value: unknown, name: string, length: number): void {
  if (value instanceof Uint8Array && value.length === length) return;
  const what = value instanceof Uint8Array ? `has ${value.length} bytes` : `is of type ${typeOf(value)}`;
  throw new DeskbellError(code, `${name} ${what}; give a Uint8Array of ${length} bytes.`);
}
