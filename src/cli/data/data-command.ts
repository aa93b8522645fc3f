// Commands that use the configured data. Commands for operations behave like the API and the console, with the same
// checks and audit records. Flags for the members of an operation's body are made from its schema.
import { createHmac, hkdfSync } from 'node:crypto';
import { userInfo } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { createWarningReader } from '../../delivery/alarms/installation-warnings.ts';
import { operatorErrors } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Schema } from '../../http/schema.ts';
import { toName } from '../../http/validation.ts';
import type { Change, NamedList, Operation } from '../../operations/operation.ts';
import { parseJsonObject } from '../../protocol/json-object.ts';
import type { Store } from '../../store/store.ts';
import { type CommandDescription, type Context, describeCommand } from '../command.ts';
import { type Configuration, dataSettings, type SettingName } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import type { JsonFlag, Table } from '../output/output.ts';
import type { DataDirectory } from './data-directory.ts';
import { withExistingData } from './open-data.ts';

/** The flag for each member, such as `--title <text>`, and its help text. Default: the description in the schema. */
type MemberFlags = Readonly<Record<string, readonly [flag: string, description?: string]>>;

interface Body extends Schema {
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly examples?: readonly Readonly<Record<string, unknown>>[];
}

type Parse = (text: string, former: Readonly<Record<string, unknown>> | undefined) => unknown;

const states = ['on', 'off'];
const choices: Readonly<Record<string, boolean | null>> = { on: true, off: false, default: null };
const typesOf = ({ type }: Schema): readonly unknown[] => (Array.isArray(type) ? type : [type]);

function addMemberFlags(command: Command, body: Schema, flags: MemberFlags): void {
  const { properties, required = [], examples: [example = {}] = [] } = body as Body;
  for (const [member, [flag, description]] of Object.entries(flags)) {
    const schema = properties[member]!;
    const option = new Option(flag, description ?? String(schema['description']));
    if (typesOf(schema).includes('boolean')) option.choices(states);
    else option.argParser(parserOf(schema, example[member]) as (text: string) => unknown);
    command.addOption(option.makeOptionMandatory(required.includes(member)));
  }
}

/** Reads the members of an operation's body from the flags. */
const readMemberFlags = (
  given: Readonly<Record<string, unknown>>,
  body: Schema | undefined,
  flags: MemberFlags,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(flags).map(([member, [flag]]) => {
      const value = given[new Option(flag).attributeName()];
      const types = typesOf((body as Body).properties[member]!);
      // commander turns a null from a parser into ''
      if (types.includes('null') && value === '') return [member, null];
      return [member, types.includes('boolean') && value !== undefined ? value === 'on' : value];
    }),
  );

function parserOf(schema: Schema, example: unknown): Parse {
  if (typesOf(schema).includes('object')) {
    const values = schema['additionalProperties'] as Schema;
    if (typesOf(values).includes('boolean')) return parseEntry(/^(.+)=(on|off|default)$/, toChoice, example);
    if (typesOf(values).includes('string')) return parseEntry(/^([^=]+)=(.*)$/, toTextOrNull, example);
    return parseObject(example);
  }
  const { minLength = 0, maxLength = Infinity } = schema as Readonly<Partial<Record<string, number>>>;
  return (text) => {
    const trimmed = text.trim();
    if (trimmed.length >= minLength && trimmed.length <= maxLength) return trimmed;
    throw new InvalidArgumentError(`It must have ${minLength} to ${maxLength} characters.`);
  };
}

const toTextOrNull = (text: string): string | null => (text === '' ? null : text);
const toChoice = (text: string): boolean | null => choices[text]!;

/** A flag that may be given several times, each with one entry of the object. */
const parseEntry =
  (pattern: RegExp, toValue: (text: string) => unknown, example: unknown): Parse =>
  (text, former = {}) => {
    const [, name, value] = pattern.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return { ...former, [name]: toValue(value) };
    const [[one, shown] = []] = Object.entries(example as object);
    const state = typeof shown === 'boolean' ? states[Number(!shown)] : String(shown);
    throw new InvalidArgumentError(
      `It must be a name and ${typeof shown === 'boolean' ? 'on, off or default' : 'a text'}, such as ${one}=${state}.`,
    );
  };

const parseObject =
  (example: unknown): Parse =>
  (text) => {
    const object = parseJsonObject(text);
    if (object !== undefined) return object;
    throw new InvalidArgumentError(`It must be a JSON object, such as '${JSON.stringify(example)}'.`);
  };

/**
 * Hashes a person's id for the audit log. The hash uses a secret key, so nobody without the key can compare the hash
 * with those of guessed ids.
 */
export function createPersonHash(sessionKey: Uint8Array): (user: string) => string {
  const key = Buffer.from(hkdfSync('sha256', sessionKey, '', 'deskbell audit of people', 32));
  return (user) => createHmac('sha256', key).update(user).digest('base64url').slice(0, 22);
}

/** The opened data directory or database, and the configuration of the command. */
interface CommandData extends DataDirectory {
  readonly configuration: Configuration;
}

class DataCommand extends Command {
  readonly #environment: Context['environment'];
  readonly #settings: readonly SettingName[];

  constructor(name: string, environment: Context['environment'], settings: readonly SettingName[]) {
    super(name);
    this.#environment = environment;
    this.#settings = settings;
  }

  /** @param work is called with the data, then with commander's arguments and flags */
  onData<Given extends readonly unknown[]>(
    work: (data: CommandData, ...given: Given) => Promise<void>,
  ): this {
    return this.action(async (...given) => {
      const options: Readonly<Record<string, unknown>> = this.opts();
      // Other flags may have the same name as a setting.
      const flags = Object.fromEntries([...this.#settings, 'config'].map((name) => [name, options[name]]));
      const configuration = await readConfiguration({ flags, environment: this.#environment });
      await withExistingData(configuration, (data) =>
        work({ ...data, configuration }, ...(given as unknown as Given)),
      );
    });
  }
}

/**
 * Creates a command that opens existing data. The command has the settings for the data directory or database, and
 * those of `description`.
 */
export function createDataCommand(
  environment: Context['environment'],
  description: CommandDescription,
): DataCommand {
  const settings = [...dataSettings, ...(description.settings ?? [])];
  return describeCommand(new DataCommand(description.name, environment, settings), {
    ...description,
    settings,
  });
}

interface ListCommand<Row>
  extends Pick<CommandDescription, 'description' | 'examples'>, Omit<Table<Row>, 'rows'> {
  readonly name?: string;
  rowsOf(data: DataDirectory): Promise<readonly Row[]>;
}

/** Creates a command that lists all items of a kind that has few items. */
export const createListCommand = <Row>(
  { environment, output }: Pick<Context, 'environment' | 'output'>,
  { name = 'list', rowsOf, ...list }: ListCommand<Row>,
): Command =>
  createDataCommand(environment, { ...list, name, json: 'Prints JSON Lines.' }).onData(
    async (data, flags: JsonFlag) => output.table(flags, { ...list, rows: await rowsOf(data) }),
  );

const warningsOf = ({ store, vapidKeys }: DataDirectory) =>
  createWarningReader(store, vapidKeys.keyDirectory);

/** Creates the `list` command of an operation. */
export const createNamedListCommand = <Row>(
  context: Context,
  { view, read }: Pick<NamedList<Row>, 'view' | 'read'>,
  words: Omit<ListCommand<Row>, 'rowsOf' | 'toJson'>,
): Command =>
  createListCommand(context, {
    ...words,
    toJson: view.toJson,
    rowsOf: (data) => read({ store: data.store, readWarnings: warningsOf(data) }),
  });

interface ChangeCommand<Input, Result> extends Pick<CommandDescription, 'name' | 'examples'> {
  /** Default: the operation's description in the API. */
  readonly description?: string;
  /** The argument's description, and a parser if none can be derived from the schema. */
  readonly argument: string | readonly [description: string, parse: (text: string) => unknown];
  /** Flags for members of the body. */
  readonly flags?: { readonly [Member in keyof Input]?: MemberFlags[string] };
  toText(result: Result, input: Input, store: Store): string | Promise<string>;
  /** The operator who makes the change. Default: the user of this process. */
  operatorOf?(flags: Readonly<Record<string, unknown>>): string;
}

export function createChangeCommand<Input, Result>(
  { environment, output }: Context,
  operation: Operation<Input, Result>,
  { name, description, examples, argument, toText, ...change }: ChangeCommand<Input, Result>,
): Command {
  const { params, query, body, answer, summary, description: details } = operation;
  const [key, schema] = Object.entries({ ...params, ...query })[0]!;
  const [about, parse] = typeof argument === 'string' ? [argument] : argument;
  const parseKey = parse ?? (schema['type'] === 'integer' ? parsePositiveInteger : String);
  const flags = (change.flags ?? {}) as MemberFlags;
  const command = createDataCommand(environment, {
    name,
    description: description ?? `${summary}.${details === undefined ? '' : ` ${details}`}`,
    json: 'Prints JSON.',
    examples,
  }).argument(`<${key}>`, about, (text: string) => parseKey(text));
  if (body !== undefined) addMemberFlags(command, body, flags);
  return command.onData(
    async (data, given: unknown, options: JsonFlag & Readonly<Record<string, unknown>>) => {
      const input = { [key]: given, ...readMemberFlags(options, body, flags) } as Input;
      const result = await perform(data, operation, input, change.operatorOf?.(options)).catch(
        (error: unknown) => {
          throw nameFlags(error, command, (member) =>
            member === key ? `<${key}>` : flags[member]?.[0].split(' ')[0],
          );
        },
      );
      // only operations that remove something define no answer
      const json = answer?.toJson(result) ?? { [key]: given, removed: true };
      await output.result(options, json, await toText(result, input, data.store));
    },
  );
}

/**
 * Rewrites an operation's error about its input for the command line: names flags instead of members.
 *
 * @param flagOf `audience.user` → `--user`
 */
export function nameFlags(
  error: unknown,
  command: Command,
  flagOf: (member: string) => string | undefined,
): unknown {
  if (!(error instanceof DeskbellError) || error.fields.length === 0) return error;
  const { code, fields, remedy } = error;
  const details = fields.map(({ pointer, detail }) => {
    const member = toName(pointer);
    const flag = flagOf(member);
    const isNamed = flag !== undefined && detail.startsWith(`${member} `);
    return isNamed ? flag + detail.slice(member.length) : detail;
  });
  return new DeskbellError(code, details.join(' '), {
    cause: error,
    fields,
    remedy: code === 'ERR_REQUEST_INVALID' ? `See "${pathOf(command)} --help".` : remedy,
  });
}

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

/** Makes a change and records it in the audit. @param operator default: the user of this process */
export function perform<Input, Result>(
  data: DataDirectory,
  { action, target, run }: Change<Input, Result>,
  input: Input,
  operator = processUser(),
): Promise<Result> {
  const { store } = data;
  const context = { store, readWarnings: warningsOf(data), hashPerson: createPersonHash(data.sessionKey) };
  return audited(store, { operator, action, target: target(input, context) }, () =>
    run(context, input, operator),
  );
}

/** Writes an audit record before the change, and completes it with the status that the API would return. */
export async function audited<Result>(
  { audit }: Pick<Store, 'audit'>,
  change: Parameters<Store['audit']['begin']>[0],
  run: () => Promise<Result>,
): Promise<Result> {
  const record = await audit.begin(change);
  let status = 200;
  try {
    return await run();
  } catch (error) {
    status = statusOf(error);
    throw error;
  } finally {
    await audit.finish(record, { status });
  }
}

const statuses: Readonly<Partial<Record<string, { readonly status: number }>>> = operatorErrors;
const statusOf = (error: unknown): number =>
  (error instanceof DeskbellError ? statuses[error.code]?.status : undefined) ?? 500;

/** Returns the user that runs this process, by name, or by number if there is no name, as in containers. */
export function processUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
