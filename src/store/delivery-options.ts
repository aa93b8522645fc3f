// Describes each delivery option of a broadcast once. The checks, the columns in both databases, the JSON of
// broadcasts and schedules, the operator API's schemas, the flags of `deskbell send` and the fields of the console
// are made from this table. A new option also needs a migration for each database, the code that uses it, and a test.
import {
  isFlag,
  isText,
  isWholeNumber,
  lookUp,
  mustBe,
  type OptionCheck,
  type OptionChecks,
  wrong,
} from '../errors/check-options.ts';
import { isPlainText } from '../errors/untrusted-text.ts';
import type { ValueSchema } from '../protocol/message/value-schema.ts';
import { pushOptionChecks, urgencies, type PushOptions } from '../protocol/request.ts';
import { checkChannelName } from '../audience/channels.ts';
import { parsePerPerson } from '../audience/frequency-cap.ts';
import { isTimeZone, parseQuietHours, parseTimeOfDay, parseWallTime } from '../audience/zone-time.ts';

/** How to deliver the messages of a broadcast or of a schedule. */
export interface DeliveryOptions extends PushOptions {
  /**
   * Asks browsers to report whether the notification was shown, clicked or dismissed. `Broadcast.receipts` counts the
   * reports. Needs the sender's `receiptKey`, and a service that accepts receipts. Default: false.
   */
  readonly receipts?: boolean | undefined;
  /** Three times out of four, workers take slices of broadcasts with `high` priority first. Default: `normal`. */
  readonly priority?: Priority | undefined;
  /**
   * Limits how often a person gets broadcasts with a cap, including this one, such as `3/day` (or `/hour`, `/week`).
   * Above the limit, the person gets nothing and is counted as `capped`.
   */
  readonly perPerson?: string | undefined;
  /**
   * Leaves out a subscription if its reader clicked none of the last `skipInactive` broadcasts (1 to 100) that its
   * browser showed, according to receipts of the last 30 days. If the browser showed fewer broadcasts, the subscription
   * is not left out. `Broadcast.inactive` counts the subscriptions that were left out.
   */
  readonly skipInactive?: number | undefined;
  /** Sends only to readers who have this channel on. */
  readonly channel?: string | undefined;
  /**
   * Sends to each reader at this local time in their time zone, such as `2026-12-01T09:00`. `09:00` means the next
   * 09:00 in `timeZone` after the start. If clocks skip the time, the next existing minute is used. If the time occurs
   * twice, the first is used.
   */
  readonly localTime?: string | undefined;
  /**
   * What readers get if their local time has passed when the broadcast starts: the message at that time on the next
   * day, the message at once (`send`), or nothing (`skip`). Default: `nextDay`.
   */
  readonly ifTimePassed?: IfTimePassed | undefined;
  /**
   * Such as `22:00-07:00` in the reader's time zone: nothing is sent during these hours. The message waits until they
   * end, or expires if its TTL (at least an hour) ends first.
   */
  readonly quietHours?: string | undefined;
  /** The time zone of `localTime`, and of readers whose own is unknown, such as `Europe/Berlin`. Default: `UTC`. */
  readonly timeZone?: string | undefined;
}

/** About three broadcasts a day for as long as receipts are kept. Limits how much is read per subscription. */
const maxSkipInactive = 100;

/** Maximum length of a label for a topic, in UTF-16 code units. A label may be a URL. */
export const maxLabelCharacters = 2048;

export const priorities = ['normal', 'high'] as const;

export type Priority = (typeof priorities)[number];

export const ifTimePassed = ['nextDay', 'send', 'skip'] as const;

export type IfTimePassed = (typeof ifTimePassed)[number];

/** True for a valid `localTime`. */
export const isLocalTime = (value: unknown): boolean =>
  typeof value === 'string' && (parseWallTime(value) ?? parseTimeOfDay(value)) !== undefined;

export interface OptionDescription {
  readonly schema: ValueSchema;
  readonly description: string;
  readonly check: OptionCheck;
  /** The behaviour if the option is omitted. */
  readonly byDefault?: string;
  /** The flag of `deskbell send`, with its value. Absent if a setting decides instead. */
  readonly flag?: string;
  /** The field in the console's form. */
  readonly field: {
    readonly label: string;
    readonly hint?: string;
    readonly choices?: Readonly<Record<string, string>>;
  };
}

const rareUrgencies = urgencies.filter((urgency) => urgency !== 'normal');

/** Options that also exist for single messages come first. */
export const deliveryOptions: {
  readonly [Name in keyof DeliveryOptions]-?: OptionDescription;
} = {
  ttlSeconds: {
    schema: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 },
    description: 'How long push services keep the message for a browser that is offline, in seconds.',
    byDefault: 'four weeks',
    check: pushOptionChecks.ttlSeconds,
    flag: 'ttl <seconds>',
    field: {
      label: 'TTL in seconds',
      hint: 'How long push services keep it for a browser that is offline. Empty: four weeks.',
    },
  },
  urgency: {
    schema: { type: 'string', enum: urgencies },
    description: 'How urgent the message is, which decides whether it wakes a device.',
    byDefault: 'normal',
    check: pushOptionChecks.urgency,
    flag: 'urgency <urgency>',
    field: {
      label: 'Urgency',
      choices: { '': 'normal', ...Object.fromEntries(rareUrgencies.map((name) => [name, name])) },
    },
  },
  topic: {
    schema: { type: 'string', maxLength: maxLabelCharacters, format: 'topic' },
    description: 'A later message replaces an undelivered earlier message with the same label.',
    check: checkTopic,
    flag: 'topic <label>',
    field: { label: 'Topic', hint: 'A later message with the same one replaces an undelivered one.' },
  },
  priority: {
    schema: { type: 'string', enum: priorities },
    description: 'Three times out of four, workers deliver broadcasts with high priority first.',
    byDefault: 'normal',
    check: mustBe(`one of ${priorities.join(', ')}`, (value) => priorities.includes(value as Priority)),
    flag: 'priority <priority>',
    field: { label: 'Priority', choices: { '': 'normal', high: 'high' } },
  },
  perPerson: {
    schema: { type: 'string', format: 'frequency-cap' },
    description:
      'Skips people whom broadcasts with a cap have already reached this often, such as 3/day (or /hour, /week). ' +
      'Deskbell counts these people as capped.',
    check: (value) => void parsePerPerson(value as string),
    flag: 'per-person <cap>',
    field: {
      label: 'At most per person',
      hint: 'Such as 3/day; also per hour or week. Counts broadcasts with a cap.',
    },
  },
  skipInactive: {
    schema: { type: 'integer', minimum: 1, maximum: maxSkipInactive },
    description:
      'Leaves out subscriptions that clicked on none of the last N broadcasts shown to them, according to receipts of the last 30 days. ' +
      'Subscriptions that were shown fewer than N broadcasts are not left out.',
    check: isWholeNumber(1, maxSkipInactive),
    flag: 'skip-inactive <broadcasts>',
    field: {
      label: 'Skip inactive',
      hint: 'Leaves out people who clicked on none of the last N broadcasts shown to them, such as 10. Needs receipts.',
    },
  },
  channel: {
    schema: { type: 'string', format: 'channel-name' },
    description: 'Reaches only readers who have switched on this channel.',
    check: (value, name) => void checkChannelName(value, `/${name}`),
    flag: 'channel <name>',
    field: { label: 'Channel', hint: 'Only readers who have it on.' },
  },
  localTime: {
    schema: { type: 'string', format: 'local-time' },
    description:
      'Time at which each reader gets the message, in the reader’s own time zone: 2026-12-01T09:00, or 09:00 for the ' +
      'first 09:00 after the start.',
    check: mustBe('a local time such as 09:00 or 2026-12-01T09:00', isLocalTime),
    flag: 'local-time <time>',
    field: { label: 'Local time', hint: 'In each reader’s time zone, such as 09:00 or 2026-12-01T09:00.' },
  },
  ifTimePassed: {
    schema: { type: 'string', enum: ifTimePassed },
    description:
      'When readers get the message if their local time has passed at the start: at this time on the next day, at ' +
      'once (send), or never (skip).',
    byDefault: 'nextDay',
    check: mustBe(`one of ${ifTimePassed.join(', ')}`, (value) =>
      ifTimePassed.includes(value as IfTimePassed),
    ),
    flag: 'if-time-passed <what>',
    field: {
      label: 'If the local time is over',
      choices: { '': 'send it the next day', send: 'send it at once', skip: 'leave the reader out' },
    },
  },
  quietHours: {
    schema: { type: 'string', format: 'quiet-hours' },
    description:
      'Nothing is sent during these hours in each reader’s time zone, such as 22:00-07:00. The message waits until ' +
      'these hours end, or expires if its TTL (at least an hour) ends first.',
    check: (value, name) => {
      isText(value, name);
      parseQuietHours(value as string);
    },
    flag: 'quiet-hours <from-to>',
    field: { label: 'Quiet hours', hint: 'In each reader’s time zone, such as 22:00-07:00.' },
  },
  timeZone: {
    schema: { type: 'string', format: 'timezone' },
    description:
      'The time zone of the given times, and of readers whose own time zone is not known, such as Europe/Berlin. ' +
      'Default: UTC; for `deskbell send` without --cron, the machine’s time zone.',
    check: mustBe('the name of a time zone, such as Europe/Berlin', (value) => isTimeZone(value as string)),
    flag: 'timezone <name>',
    field: { label: 'Time zone', hint: 'For readers whose own is not known. Empty: yours.' },
  },
  receipts: {
    schema: { type: 'boolean' },
    description: 'Asks browsers to report whether the notification was shown, clicked or dismissed.',
    check: isFlag,
    field: { label: 'Ask browsers to report what was shown and clicked' },
  },
};

/** Checks that both databases can store the topic. */
function checkTopic(topic: unknown, name: string): void {
  pushOptionChecks.topic(topic, name);
  const text = topic as string;
  const fault = (what: string) => wrong(name, what, { code: 'ERR_MESSAGE_INVALID' });
  if (text.length > maxLabelCharacters)
    throw fault(`has ${text.length} characters; give at most ${maxLabelCharacters}`);
  if (!isPlainText(text)) throw fault('has a control character or a lone surrogate; give text without them');
}

/** Options stored in columns of the same name. `receipts` is stored differently for broadcasts and schedules. */
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

export const selectOptions = stored.map(({ name, column }) => `${column} as "${name}"`).join(', ');

/** The checks of all delivery options, in the form that `checkOptions` takes. */
export const deliveryOptionChecks = Object.fromEntries(
  descriptions.map(([name, { check }]) => [name, check]),
) as OptionChecks<DeliveryOptions>;

/** Picks the options that are given, and leaves out everything else. */
export function pickDeliveryOptions(options: DeliveryOptions): DeliveryOptions {
  const given = Object.entries(options).filter(
    ([name, value]) => Object.hasOwn(deliveryOptions, name) && value !== undefined,
  );
  return Object.fromEntries(given);
}

/** @returns the values by column */
export function toOptionRow(options: StoredOptions): Readonly<Record<string, string | number | null>> {
  const values = options as Readonly<Record<string, string | number | undefined>>;
  return Object.fromEntries(stored.map(({ name, column }) => [column, lookUp(values, name) ?? null]));
}

/** @param row has the columns in which options are stored, and maybe others */
export function readOptionRow(row: object): StoredOptions {
  const values = row as Readonly<Record<string, unknown>>;
  return Object.fromEntries(stored.map(({ name, column }) => [name, values[column] ?? undefined]));
}
