// Checks the options that a caller passes, since types are not enforced at run time and cannot express ranges. Each
// entry of the package has one table with a check for every option; unknown options are refused.
import type { ErrorCode } from './catalogue.ts';
import { DeskbellError } from './deskbell-error.ts';

/** Throws if a value is not usable. Called for every required option, and for each optional option that is given. */
export type OptionCheck = (value: unknown, name: string) => void;

export type OptionChecks<Options> = { readonly [Name in keyof Options]-?: OptionCheck };

interface CheckSettings {
  readonly code?: ErrorCode;
  readonly name?: string;
  readonly required?: readonly string[];
}

/** @throws {DeskbellError} names the first option that is unknown or unusable, and what is allowed */
export function checkOptions<Options>(
  options: unknown,
  checks: OptionChecks<Options>,
  { code = 'ERR_CONFIGURATION', name, required = [] }: CheckSettings = {},
): asserts options is Options {
  checkObject(options, name ?? 'options', code);
  const path = name === undefined ? '' : `${name}.`;
  for (const option of Object.keys(options)) {
    if (Object.hasOwn(checks, option)) continue;
    throw wrong(path + option, `is unknown; there are ${Object.keys(checks).join(', ')}`, { code });
  }
  const entries = Object.entries<OptionCheck>(checks);
  for (const [option, check] of entries) {
    if (options[option] !== undefined) check(options[option], path + option);
  }
  // wrong values are reported before missing ones
  for (const [option, check] of entries) {
    if (options[option] === undefined && required.includes(option)) check(undefined, path + option);
  }
}

/** @param expected the words after "must be" in the message */
export function mustBe(expected: string, isMet: (value: unknown) => boolean): OptionCheck {
  return (value, name) => {
    if (!isMet(value)) throw wrong(name, `must be ${expected}, not ${kindOf(value)}`);
  };
}

export const isCheckedElsewhere: OptionCheck = () => {};
export const isText = mustBe('a string', (value) => typeof value === 'string');
export const isFlag = mustBe('true or false', (value) => typeof value === 'boolean');
export const isFunction = mustBe('a function', (value) => typeof value === 'function');
export const hasMethods = (expected: string, methods: readonly string[]): OptionCheck =>
  mustBe(expected, (value) =>
    methods.every(
      (method) => typeof (value as Readonly<Record<string, unknown>> | null)?.[method] === 'function',
    ),
  );

/** The path of a service: empty, or segments of characters that URLs do not escape and routers do not interpret. */
export const pathPrefix = /^(?:\/[\w.~-]+)*$/;

export const isObject: OptionCheck = (value, name) => checkObject(value, name, 'ERR_CONFIGURATION');

export const isNumber = (min: number, max: number): OptionCheck =>
  mustBe(
    `a number from ${min} to ${max}`,
    (value) => typeof value === 'number' && value >= min && value <= max,
  );

export const isWholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER): OptionCheck =>
  mustBe(
    `a whole number from ${min} to ${max}`,
    (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  );

export const isSecret = (bytes: number): OptionCheck =>
  mustBe(
    `a Uint8Array of ${bytes} random bytes`,
    (value) => value instanceof Uint8Array && value.length === bytes,
  );

/** @param items the word for the items in the error message, such as `strings` */
export const isArrayOf =
  (items: string, check: OptionCheck): OptionCheck =>
  (value, name) => {
    if (!Array.isArray(value)) {
      const isLoneText = typeof value === 'string' && items === 'strings';
      const kind = isLoneText ? 'a string: put it in [ ]' : kindOf(value);
      throw wrong(name, `must be an array of ${items}, not ${kind}`);
    }
    for (const [index, item] of value.entries()) check(item, `${name}[${index}]`);
  };

/** @param what the words after the option's name in the message, such as `must be a string` */
export function wrong(
  name: string,
  what: string,
  { code = 'ERR_CONFIGURATION', cause }: { readonly code?: ErrorCode; readonly cause?: unknown } = {},
): DeskbellError {
  return new DeskbellError(code, `"${name}" ${what}.`, cause === undefined ? {} : { cause });
}

/** Describes a value without showing it, since it may be a secret; only numbers are shown. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'number') return String(value);
  if (value instanceof Promise) return 'a promise: await it';
  return Array.isArray(value) ? 'this array' : `this ${typeof value}`;
}

function checkObject(
  value: unknown,
  name: string,
  code: ErrorCode,
): asserts value is Readonly<Record<string, unknown>> {
  const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isPlain && !(value instanceof Promise)) return;
  throw wrong(name, `must be an object, not ${kindOf(value)}`, { code });
}

/** `typeof`, except that null and arrays have names of their own. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/**
 * Wraps a callback so that it neither throws nor rejects; its first error becomes a process warning.
 *
 * @param name the callback's name, which the warning contains
 */
export function guardCallback<Words extends readonly unknown[]>(
  name: string,
  callback: (...words: Words) => unknown,
): (...words: Words) => void {
  let isReported = false;
  const report = (error: unknown): void => {
    if (!isReported)
      process.emitWarning(`${name} threw an error, and its errors are ignored: ${String(error)}`);
    isReported = true;
  };
  return (...words) => {
    try {
      const result = callback(...words);
      if (result instanceof Promise) result.catch(report);
    } catch (error) {
      report(error);
    }
  };
}

/** Looks up an untrusted name without finding inherited members, such as `constructor`. */
export const lookUp = <Value>(
  table: Readonly<Record<string, Value>> | null | undefined,
  name: string,
): Value | undefined => (table != null && Object.hasOwn(table, name) ? table[name] : undefined);
