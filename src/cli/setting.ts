// The kinds of settings that the configuration is made of: each reads a value as it stands in a file (JSON) or
// as text (environment, flag), and says in words what it takes. What settings there are stands in configuration.ts.

/** One configuration entry. */
export interface Setting<Value> {
  /** What it is for, in one sentence. */
  readonly sentence: string;
  readonly default: Value;
  /** Shown instead of `default` where that is not what a reader wants to see. */
  readonly defaultInWords?: string;
  readonly unit?: string;
  /** What is valid, in words: "an integer from 0 to 65535". */
  readonly valid: string;
  /** Names a file or folder: in a configuration file it is taken from that file's own folder. */
  readonly isPath?: boolean;
  /** Flags may leave the value out: `--redact-subscriptions` is `--redact-subscriptions true`. */
  readonly isSwitch?: boolean;
  /**
   * The value that `input` stands for, `undefined` where it stands for none.
   *
   * @throws {DeskbellError} where there is more to say about what is wrong than `valid` says
   */
  read(input: unknown): Value | undefined;
}

interface Description<Value> {
  readonly sentence: string;
  readonly default: Value;
  readonly defaultInWords?: string;
  readonly unit?: string;
}

/** @param check throws a DeskbellError that says what is wrong with a value */
export function text<const Default extends string | undefined>({
  pattern = /./,
  check = () => {},
  ...description
}: Description<Default> & {
  readonly valid: string;
  readonly isPath?: boolean;
  readonly pattern?: RegExp;
  readonly check?: (value: string) => void;
}): Setting<string | Default> {
  return {
    ...description,
    read(input) {
      if (typeof input !== 'string' || !pattern.test(input)) return undefined;
      check(input);
      return input;
    },
  };
}

export function integer({
  min,
  max,
  ...description
}: Description<number> & { readonly min: number; readonly max: number }): Setting<number> {
  return {
    ...description,
    valid: `an integer from ${min} to ${max}`,
    read(input) {
      const value = typeof input === 'string' && /^\d+$/.test(input) ? Number(input) : input;
      return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
        ? value
        : undefined;
    },
  };
}

/** A setting that takes one word beside what `setting` takes. */
export function orWord<Value, const Word extends string>(
  word: Word,
  setting: Setting<Value>,
): Setting<Value | Word> {
  return {
    ...setting,
    valid: `${setting.valid}, or "${word}"`,
    read: (input) => (input === word ? word : setting.read(input)),
  };
}

export function boolean(description: Description<boolean>): Setting<boolean> {
  return {
    ...description,
    valid: 'true or false',
    isSwitch: true,
    read: (input) =>
      input === true || input === 'true' ? true : input === false || input === 'false' ? false : undefined,
  };
}

/** A list: in a file an array of strings, as text joined by commas. `check` as for `text`. */
export function list({
  valid,
  check = () => {},
  ...description
}: Description<readonly string[]> & {
  readonly valid: string;
  readonly isPath?: boolean;
  readonly check?: (items: readonly string[]) => void;
}): Setting<readonly string[]> {
  return {
    ...description,
    valid: `a list of ${valid}`,
    read(input) {
      const items = readItems(input);
      if (items) check(items);
      return items;
    },
  };
}

/** A list whose items are among `names`. */
export function namesAmong<const Name extends string, Default extends readonly Name[] | undefined>({
  names,
  ...description
}: Description<Default> & { readonly names: readonly Name[] }): Setting<readonly Name[] | Default> {
  const isName = (item: string): item is Name => (names as readonly string[]).includes(item);
  return {
    ...description,
    valid: `a list of any of ${names.join(', ')}`,
    read(input) {
      const items = readItems(input);
      return items?.every(isName) ? items : undefined;
    },
  };
}

function readItems(input: unknown): readonly string[] | undefined {
  const items = typeof input === 'string' ? input.split(',').filter((item) => item !== '') : input;
  return Array.isArray(items) && items.every((item) => typeof item === 'string' && item !== '')
    ? items.map((item: string) => item.trim())
    : undefined;
}
