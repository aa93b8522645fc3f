// Checks the numbers and byte strings of callers: TypeScript does not distinguish integers from other numbers, nor 16 bytes from 15.
import type { ErrorCode } from '../errors/catalogue.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { typeOf } from '../errors/check-options.ts';

/** How the number is called in errors, and its bounds. */
export interface IntegerBounds {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** @throws {DeskbellError} `code`: the value is not an integer within the bounds, which the message names */
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
