// Argument checks that TypeScript's types cannot express: integers within bounds, byte strings of a given length.
import type { ErrorCode } from '../errors/catalogue.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { typeOf } from '../errors/check-options.ts';

/** @throws {DeskbellError} `code` if the value is not an integer within the bounds. The message names them. */
export function assertInteger(
  code: ErrorCode,
  value: unknown,
  { name, min, max }: { readonly name: string; readonly min: number; readonly max: number },
): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return;
  const what = typeof value === 'number' ? String(value) : `of type ${typeOf(value)}`;
  throw new DeskbellError(code, `${name} is ${what}; give a whole number from ${min} to ${max}.`);
}

/** @throws {DeskbellError} `code` if the value is not a Uint8Array of that length. The message shows no bytes. */
export function assertBytes(code: ErrorCode, value: unknown, name: string, length: number): void {
  if (value instanceof Uint8Array && value.length === length) return;
  const what = value instanceof Uint8Array ? `has ${value.length} bytes` : `is of type ${typeOf(value)}`;
  throw new DeskbellError(code, `${name} ${what}; give a Uint8Array of ${length} bytes.`);
}
