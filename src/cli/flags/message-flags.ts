// The flags of `deskbell send`: one for each delivery option that has a flag, one for each member of the message, and
// one for a whole message as JSON.
import { text } from 'node:stream/consumers';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { type MemberDescription, memberDescriptions } from '../../protocol/message/members.ts';
import type { Message, MessageAction } from '../../protocol/message/message.ts';
import type { ValueSchema } from '../../protocol/message/value-schema.ts';
import { pushOptionChecks } from '../../protocol/request.ts';
import {
  deliveryOptions,
  type DeliveryOptions,
  type OptionDescription,
  pickDeliveryOptions,
} from '../../store/delivery-options.ts';
import type { Context } from '../command.ts';
import { readInput } from '../input/read-input.ts';
import { parseWholeNumber } from './arguments.ts';

const deliveryFlags = Object.entries<OptionDescription>(deliveryOptions).flatMap(([name, option]) =>
  option.flag === undefined
    ? []
    : [{ name, option, attribute: new Option(`--${option.flag}`).attributeName() }],
);

/**
 * @param kind `any`: flags that apply to any message; `broadcast`: flags that apply only to broadcasts
 * @param conflicts attributes of options that cannot be combined with these flags
 */
export function addDeliveryFlags(
  command: Command,
  kind: 'any' | 'broadcast',
  conflicts: readonly string[] = [],
): Command {
  for (const { name, option } of deliveryFlags) {
    const isOfAnyMessage = Object.hasOwn(pushOptionChecks, name);
    if (isOfAnyMessage === (kind === 'any')) {
      command.addOption(createDeliveryOption(option).conflicts([...conflicts]));
    }
  }
  return command;
}

/** The options that the flags set. */
export function readDeliveryFlags(given: object): DeliveryOptions {
  const values: Readonly<Record<string, unknown>> = { ...given };
  return pickDeliveryOptions(
    Object.fromEntries(deliveryFlags.map(({ name, attribute }) => [name, values[attribute]])),
  );
}

/** The options written as flags: `--channel news --quiet-hours 22:00-07:00`. */
export function formatDeliveryFlags(options: object): string {
  const values: Readonly<Record<string, unknown>> = { ...options };
  return deliveryFlags
    .filter(({ name }) => values[name] !== undefined)
    .map(({ name, option: { flag } }) => `--${flag!.split(' ', 1)[0]!} ${String(values[name])}`)
    .join(' ');
}

function createDeliveryOption(option: OptionDescription): Option {
  const { schema, description, byDefault, flag, check } = option;
  const words = byDefault === undefined ? description : `${description} (default: ${byDefault})`;
  const created = new Option(`--${flag}`, words);
  if (schema.type === 'boolean') return created;
  if (schema.enum !== undefined) return created.choices(schema.enum);
  return created.argParser(parserOf(schema) ?? ((value) => checked(value, created.long!, check)));
}

/** Reports an invalid text in the same way as commander reports other invalid values. */
function checked(value: string, name: string, check: OptionDescription['check']): string {
  try {
    check(value, name);
  } catch (error) {
    throw error instanceof DeskbellError ? new InvalidArgumentError(error.message) : error;
  }
  return value;
}

export interface MessageFlags {
  readonly title?: string;
  readonly message?: string;
  /** The path of a JSON file; `-` is standard input. */
  readonly jsonMessage?: string;
}

/** The parts of a message that have no flag of their own. */
interface GivenText {
  /** The message, if it is given as an argument. */
  readonly text: string | undefined;
  /** The title of the message, if only `text` is given. */
  readonly defaultTitle: string;
}

export function addMessageFlags(command: Command): Command {
  const options = Object.entries(memberDescriptions).map(createOption);
  for (const option of options) command.addOption(option);
  return command.addOption(
    new Option(
      '--json-message <file>',
      'Reads the whole message from a JSON file, with any member of docs/notifications.md; "-" is standard input.',
    ).conflicts(options.map((option) => option.attributeName())),
  );
}

/**
 * Reads the message from the flags. The sender checks its members.
 *
 * @throws {DeskbellError} ERR_USAGE, ERR_FILE, ERR_MESSAGE_INVALID for a file that is not JSON
 */
export async function readMessage(
  flags: MessageFlags,
  context: Context,
  { text: given, defaultTitle }: GivenText,
): Promise<Message> {
  const { jsonMessage } = flags;
  if (given !== undefined && (flags.message ?? jsonMessage) !== undefined) {
    throw new DeskbellError(
      'ERR_USAGE',
      'Give the text of the message once: as an argument, or with an option',
    );
  }
  if (given?.trim() === '') {
    throw new DeskbellError(
      'ERR_USAGE',
      'The text of the message is blank, so nothing was sent; give a text, and check variables of the shell in it',
    );
  }
  if (jsonMessage !== undefined) return readJsonMessage(jsonMessage, context);
  const { message = given, title = given === undefined ? undefined : defaultTitle } = flags;
  if (title === undefined || message === undefined) {
    throw new DeskbellError(
      'ERR_USAGE',
      'Give the message: its text as an argument, or --title and --message, or --json-message',
    );
  }
  const members = Object.entries(memberDescriptions).map((entry) => [
    entry[0],
    valueOf(createOption(entry), flags),
  ]);
  return { ...(Object.fromEntries(members) as Partial<Message>), title, message };
}

async function readJsonMessage(file: string, context: Context): Promise<Message> {
  const json = await text(readInput(file, context));
  try {
    return JSON.parse(json) as Message;
  } catch {
    // The parser's error would show part of the message.
    const name = file === '-' ? 'Standard input' : file;
    throw new DeskbellError('ERR_MESSAGE_INVALID', `${name} does not hold a message as JSON`);
  }
}

function createOption([name, member]: readonly [string, MemberDescription]): Option {
  if (name === 'actions') return actionOption();
  const {
    schema,
    description: ofMember,
    flagDescription: description = ofMember,
    flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
  } = member;
  if (schema.type === 'boolean') return new Option(`--${flag}`, describeFlag(flag, description));
  const option = new Option(`--${flag} ${placeholderOf(schema)}`, description);
  if (schema.enum !== undefined) return option.choices(schema.enum);
  const parse = parserOf(schema);
  return parse === undefined ? option : option.argParser(parse);
}

/** Describes the effect of the flag: drops "Whether" from the beginning of the description. */
function describeFlag(flag: string, description: string): string {
  const effect = description.replace(/^Whether /, '');
  if (flag.startsWith('no-')) return `Without it, ${effect}`;
  return effect.charAt(0).toUpperCase() + effect.slice(1);
}

function placeholderOf({ type, format, enum: choices }: ValueSchema): string {
  if (format === 'link' || format === 'picture') return '<url>';
  if (choices !== undefined) return `<${choices.join('|')}>`;
  if (type === 'integer') return '<number>';
  if (type === 'array') return '<list>';
  return isJson(type) ? '<json>' : '<text>';
}

/** The parser for a flag's value; undefined if the value is text. */
function parserOf({ type, items }: ValueSchema): ((value: string) => unknown) | undefined {
  if (type === 'integer') return parseWholeNumber;
  if (isJson(type)) return parseJson;
  const parseItem = (items && parserOf(items)) ?? String;
  return type === 'array' ? (value) => value.split(',').map(parseItem) : undefined;
}

const isJson = (type: ValueSchema['type']): boolean => type === undefined || type === 'object';

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw new InvalidArgumentError('It must be a JSON value, such as {"order":7}.');
  }
}

const actionOption = (): Option =>
  new Option(
    '--action <title=url>',
    "Adds a button that opens a URL, such as 'Open=/orders/7'. With a title alone, the button opens the same URL as the notification. You can repeat this option.",
  ).argParser((value: string, previous: readonly MessageAction[] = []) => [...previous, parseAction(value)]);

/** Parses an action: a title and a URL, such as `Open=/orders/7`, or only a title. */
function parseAction(value: string): MessageAction {
  const end = value.indexOf('=');
  const title = end === -1 ? value : value.slice(0, end);
  if (title === '') throw new InvalidArgumentError('It must be a title and a URL, such as Open=/orders/7.');
  return { title, url: end === -1 ? undefined : value.slice(end + 1) };
}

/** Returns the value of a flag; `undefined` if a `--no-…` flag is not given, which commander reports as true. */
function valueOf(option: Option, flags: object): unknown {
  const value = (flags as Readonly<Record<string, unknown>>)[option.attributeName()];
  return option.negate && value !== false ? undefined : value;
}
