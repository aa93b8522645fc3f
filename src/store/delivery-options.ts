// How a broadcast is delivered: its options, each described once. What is made from this table: the checks, the columns in
// both databases, what is shown of a broadcast or schedule, the schemas of the operator's API, the flags of `deskbell send` and the
// fields of the console. Beside it, a new option needs a migration for each database, what uses it, and a test.
import { isFlag, mustBe, type OptionCheck, type OptionChecks } from '../errors/check-options.ts';
import type { ValueSchema } from '../protocol/message/value-schema.ts';
import { pushOptionChecks, urgencies, type PushOptions } from '../protocol/request.ts';
import { parsePerPerson } from '../audience/frequency-cap.ts';

/** How the messages of a broadcast are delivered, of one that recurs too. */
export interface DeliveryOptions extends PushOptions {
  /**
   * Asks browsers to report whether the notification was shown, clicked or dismissed: `Broadcast.receipts` counts it. Needs
   * the sender's `receiptKey`, and a service that takes receipts. Default: false.
   */
  readonly receipts?: boolean | undefined;
  /**
   * Workers take the slices of broadcasts with `high` first, three times of four. Default: `normal`.
   */
  readonly priority?: Priority | undefined;
  /**
   * How often a person is reached at most by broadcasts with a cap, this one included, such as `3/day` (or `/hour`, `/week`).
   * Who has been reached as often is counted as `capped`, and gets nothing.
   */
  readonly perPerson?: string | undefined;
}

export const priorities = ['normal', 'high'] as const;

export type Priority = (typeof priorities)[number];

export interface OptionDescription {
  readonly schema: ValueSchema;
  readonly description: string;
  readonly check: OptionCheck;
  /** What holds where it is not given. */
  readonly byDefault?: string;
  /** Of `deskbell send`, with what it is given. Absent where a setting decides. */
  readonly flag?: string;
  /** Of the console's form. */
  readonly field: {
    readonly label: string;
    readonly hint?: string;
    readonly choices?: Readonly<Record<string, string>>;
  };
}

const rareUrgencies = urgencies.filter((urgency) => urgency !== 'normal');

/** Those of a single message too come first. */
export const deliveryOptions: {
  readonly [Name in keyof DeliveryOptions]-?: OptionDescription;
} = {
  ttlSeconds: {
    schema: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 },
    description: 'How long push services keep the message for a browser that is away, in seconds.',
    byDefault: 'four weeks',
    check: pushOptionChecks.ttlSeconds,
    flag: 'ttl <seconds>',
    field: {
      label: 'TTL in seconds',
      hint: 'How long push services keep it for a browser that is away. Empty: four weeks.',
    },
  },
  urgency: {
    schema: { type: 'string', enum: urgencies },
    description: 'Whether the message is worth waking a device for.',
    byDefault: 'normal',
    check: pushOptionChecks.urgency,
    flag: 'urgency <urgency>',
    field: {
      label: 'Urgency',
      choices: { '': 'normal', ...Object.fromEntries(rareUrgencies.map((name) => [name, name])) },
    },
  },
  topic: {
    schema: { type: 'string' },
    description: 'A later message with the same label replaces an undelivered earlier one.',
    check: pushOptionChecks.topic,
    flag: 'topic <label>',
    field: { label: 'Topic', hint: 'A later message with the same one replaces an undelivered one.' },
  },
  priority: {
    schema: { type: 'string', enum: priorities },
    description: 'Workers take the slices of broadcasts with high priority first, three times of four.',
    byDefault: 'normal',
    check: mustBe(`one of ${priorities.join(', ')}`, (value) => priorities.includes(value as Priority)),
    flag: 'priority <priority>',
    field: { label: 'Priority', choices: { '': 'normal', high: 'high' } },
  },
  perPerson: {
    schema: { type: 'string', format: 'frequency-cap' },
    description:
      'Skips people whom broadcasts with a cap have already reached this often, such as 3/day (or /hour, /week). They are ' +
      'counted as capped.',
    check: (value) => void parsePerPerson(value as string),
    flag: 'per-person <cap>',
    field: {
      label: 'At most per person',
      hint: 'Such as 3/day; also per hour or week. Counts broadcasts with a cap.',
    },
  },
  receipts: {
    schema: { type: 'boolean' },
    description: 'Asks browsers to report what became of the notification.',
    check: isFlag,
    field: { label: 'Ask browsers to report what was shown and clicked' },
  },
};

/** What is stored in columns of their names; `receipts` has a form of its own in both tables. */
export type StoredOptions = Omit<DeliveryOptions, 'receipts'>;

const descriptions = Object.entries<OptionDescription>(deliveryOptions);
const stored = descriptions
  .filter(([name]) => name !== 'receipts')
  .map(([name]) => ({
    name,
    column: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  }));

/** The columns of the options, in the tables of broadcasts and schedules. */
export const optionColumns: readonly string[] = stored.map(({ column }) => column);

/** For `checkOptions`. */
export const deliveryOptionChecks = Object.fromEntries(
  descriptions.map(([name, { check }]) => [name, check]),
) as OptionChecks<DeliveryOptions>;

/** Leaves out all else, and what is not given. */
export function pickDeliveryOptions(options: DeliveryOptions): DeliveryOptions {
  const given = Object.entries(options).filter(
    ([name, value]) => Object.hasOwn(deliveryOptions, name) && value !== undefined,
  );
  return Object.fromEntries(given);
}

/** @returns the values by their columns */
export function toOptionRow(options: StoredOptions): Readonly<Record<string, string | number | null>> {
  const values = options as Readonly<Record<string, string | number | undefined>>;
  return Object.fromEntries(stored.map(({ name, column }) => [column, values[name] ?? null]));
}

/** @param row that has, among others, the columns of the options */
export function readOptionRow(row: object): StoredOptions {
  const values = row as Readonly<Record<string, unknown>>;
  return Object.fromEntries(stored.map(({ name, column }) => [name, values[column] ?? undefined]));
}
