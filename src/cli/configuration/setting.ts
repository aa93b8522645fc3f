// The types of settings. Each type reads a value from a file (JSON) or from text (environment, flag), and says what is
// valid. The settings themselves are in configuration.ts.

export interface Setting<Value> {
  /** One sentence for the help and docs/configuration.md. */
  readonly description: string;
  readonly default: Value;
  /** Shown instead of `default` if the plain value would not help the reader. */
  readonly defaultLabel?: string;
  readonly unit?: string;
  /** Describes valid values, such as "an integer from 0 to 65535". */
  readonly valid: string;
  /** Placeholder for the value in the help: `<number>`. In brackets if the value is optional. */
  readonly placeholder: string;
  /** Whether the value is a path. In a configuration file, paths are relative to the directory of that file. */
  readonly isPath?: boolean;
  /** Words that are also valid. They are not read as paths, even if `isPath` is true. */
  readonly literals?: readonly string[];
  /** The values to choose from, if there is a fixed set. */
  readonly names?: readonly string[];
  /** Never printed, because the value may be a password or another secret. */
  readonly isSecret?: boolean;
  /**
   * Returns the value that `input` stands for, or `undefined` if `input` is not valid.
   *
   * @throws {DeskbellError} if `input` is not valid and the error can say more than `valid` does
   */
  read(input: unknown): Value | undefined;
}

/** The members that describe a setting of any type. */
type Description<Default> = Pick<Setting<unknown>, 'description' | 'defaultLabel' | 'unit'> & {
  /** If absent, the setting has no default. */
  readonly default?: Default;
};

/** @param check throws a DeskbellError that says what is wrong with the value */
export function text<const Default extends string | undefined = undefined>({
  pattern = /./,
  check = () => {},
  ...common
}: Description<Default> &
  Pick<Setting<string>, 'valid' | 'isSecret'> & {
    readonly pattern?: RegExp;
    readonly check?: (value: string) => void;
  }): Setting<string | Default> {
  return {
    default: undefined as Default,
    ...(common.default === undefined && { defaultLabel: 'none' }),
    ...common,
    placeholder: '<text>',
    read(input) {
      if (typeof input !== 'string' || !pattern.test(input)) return undefined;
      check(input);
      return input;
    },
  };
}

/** The path of a file or a directory. */
export function path<const Default extends string | undefined = undefined>(
  description: Description<Default>,
): Setting<string | Default> {
  return { ...text({ ...description, valid: 'a path' }), placeholder: '<path>', isPath: true };
}

export function integer<const Default extends number | undefined = undefined>({
  min,
  max,
  ...common
}: Description<Default> & { readonly min: number; readonly max: number }): Setting<number | Default> {
  return {
    default: undefined as Default,
    ...common,
    placeholder: '<number>',
    valid: `an integer from ${min} to ${max}`,
    read(input) {
      const value = typeof input === 'string' && /^\d+$/.test(input) ? Number(input) : input;
      return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
        ? value
        : undefined;
    },
  };
}

/** A setting whose value is one of `names`. */
export function oneOf<const Name extends string>({
  names,
  ...common
}: Description<Name> & { readonly default: Name; readonly names: readonly Name[] }): Setting<Name> {
  return {
    ...common,
    names,
    placeholder: '<name>',
    valid: names.map((name) => `"${name}"`).join(', '),
    read: (input) => names.find((name) => name === input),
  };
}

/** A setting that also accepts one fixed word. */
export function orLiteral<Value, const Literal extends string>(
  literal: Literal,
  setting: Setting<Value>,
): Setting<Value | Literal> {
  return {
    ...setting,
    valid: `${setting.valid}, or "${literal}"`,
    literals: [...(setting.literals ?? []), literal],
    read: (input) => (input === literal ? literal : setting.read(input)),
  };
}

/** A setting that is true or false. The default is false. */
export function boolean(common: Description<never>): Setting<boolean> {
  return {
    ...common,
    default: false,
    placeholder: '[true|false]',
    valid: 'true or false',
    read: (input) =>
      input === true || input === 'true' ? true : input === false || input === 'false' ? false : undefined,
  };
}

/**
 * A list, empty by default. In a file, the list is an array of strings; elsewhere, its items are separated by commas.
 *
 * @param check as for `text`
 */
export function list({
  valid,
  check = () => {},
  ...common
}: Description<never> &
  Pick<Setting<unknown>, 'valid' | 'isPath'> & {
    readonly check?: (items: readonly string[]) => void;
  }): Setting<readonly string[]> {
  return {
    defaultLabel: 'none',
    ...common,
    default: [],
    placeholder: common.isPath ? '<path,…>' : '<item,…>',
    valid: `a list of ${valid}`,
    read(input) {
      const items = readItems(input);
      if (items) check(items);
      return items;
    },
  };
}

/** A list whose items are taken from `names`. */
export function enumList<const Name extends string, Default extends readonly Name[] | undefined = undefined>({
  names,
  ...common
}: Description<Default> & { readonly names: readonly Name[] }): Setting<readonly Name[] | Default> {
  const isName = (item: string): item is Name => (names as readonly string[]).includes(item);
  return {
    default: undefined as Default,
    ...common,
    names,
    placeholder: '<name,…>',
    valid: `a list of any of ${names.join(', ')}`,
    read(input) {
      const items = readItems(input);
      return items?.every(isName) ? items : undefined;
    },
  };
}

function readItems(input: unknown): readonly string[] | undefined {
  if (typeof input === 'string') return trimEach(input.split(',')).filter((item) => item !== '');
  const isList =
    Array.isArray(input) && input.every((item) => typeof item === 'string' && item.trim() !== '');
  return isList ? trimEach(input as string[]) : undefined;
}

const trimEach = (items: readonly string[]): string[] => items.map((item) => item.trim());

interface DescribedNumber {
  readonly description: string;
  readonly default: number;
}

export function days(setting: DescribedNumber): Setting<number | 'forever'> {
  return orLiteral('forever', integer({ ...setting, unit: 'days', min: 1, max: 36_500 }));
}

export function requestsPerMinute(setting: DescribedNumber): Setting<number | 'off'> {
  return orLiteral('off', integer({ ...setting, unit: 'requests per minute', min: 1, max: 1_000_000 }));
}

export function timeout(setting: DescribedNumber): Setting<number> {
  return integer({ ...setting, unit: 'milliseconds', min: 1, max: 600_000 });
}
