// Keys that callers give to requests so that a repeated one sends nothing twice. Each operator's keys are separate.
import { DeskbellError } from '../../errors/deskbell-error.ts';

export const maxKeyCharacters = 200;

/** @throws {DeskbellError} ERR_MESSAGE_INVALID */
export function checkIdempotencyKey(key: unknown): asserts key is string {
  const isShort = typeof key === 'string' && key.length > 0 && key.length <= maxKeyCharacters;
  // both databases can store it
  if (isShort && key.isWellFormed() && !key.includes('\0')) return;
  throw new DeskbellError(
    'ERR_MESSAGE_INVALID',
    `The idempotency key must be a string of 1 to ${maxKeyCharacters} characters, none of them NUL or a lone surrogate.`,
  );
}

/** An operator's key as it is stored; names contain no line break. */
export const operatorKey = (operator: string, key: string): string => `operator ${operator}\n${key}`;

const operatorPrefix = /^operator [^\n]*\n/;

/** The key as its operator gave it. */
export const givenKey = (stored: string): string => stored.replace(operatorPrefix, '');

/** True for a key that would be mistaken for an operator's. */
export const isLikeOperatorKey = (key: string): boolean => operatorPrefix.test(key);
